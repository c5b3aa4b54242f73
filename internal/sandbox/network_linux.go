package sandbox

import (
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// serve answers the connections of the command to its proxy. The listener is a port of
// the sandbox's own network that the helper opened; what is dialled from here is
// dialled in the host's.
func (s *session) serve(rights []byte) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return
	}
	for i := range messages {
		descriptors, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			continue
		}
		for _, fd := range descriptors {
			file := os.NewFile(uintptr(fd), "proxy")
			listener, err := net.FileListener(file)
			_ = file.Close()
			if err == nil && s.proxy != nil {
				s.tasks.Go(func() { _ = s.proxy.Serve(listener) })
			}
		}
	}
}

// direct are the names that programs inside are told to ask for without the proxy: their
// own machine, unless the host allows a port of its own by that name.
func (s *session) direct() []string {
	return slices.DeleteFunc([]string{"localhost", "127.0.0.1"}, func(name string) bool {
		return slices.ContainsFunc(slices.Concat(s.command.Hosts, s.command.PrivateHosts), func(allowed string) bool {
			host, _, _ := strings.Cut(allowed, ":")
			return strings.EqualFold(strings.TrimSuffix(host, "."), name)
		})
	})
}

// closeProxy ends every connection of the command, and what serves them.
func (s *session) closeProxy() {
	if s.proxy != nil {
		_ = s.proxy.Close()
	}
}
