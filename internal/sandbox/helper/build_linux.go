package helper

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// build makes the sandbox around this process and returns the command's environment.
func build(config *Config) (env []string, err error) {
	if !config.Become {
		if err := becomeUser(UID, GID); err != nil {
			return nil, err
		}
	}
	if err := unix.Sethostname([]byte(hostname)); err != nil {
		return nil, lacking(FeatureNamespaces, "naming the sandbox: %w", err)
	}
	if err := loopback(); err != nil {
		return nil, lacking(FeatureNamespaces, "raising the loopback interface: %w", err)
	}
	env = config.Env
	if config.Listen {
		if env, err = listen(env, config.Direct); err != nil {
			return nil, err
		}
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, lacking(FeatureNamespaces, "making mounts private: %w", err)
	}
	root, err := collect(config)
	if err != nil {
		return nil, err
	}
	if err := root.assemble(config); err != nil {
		return nil, err
	}
	return env, nil
}

func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}

// listen opens a port of the sandbox's own network, hands it to the host, which
// answers there from outside, and names it in the environment.
func listen(env, direct []string) ([]string, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening a port for the proxy: %w", err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return nil, fmt.Errorf("opening a port for the proxy: %w", err)
	}
	if err := unix.Listen(fd, 128); err != nil {
		return nil, fmt.Errorf("opening a port for the proxy: %w", err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return nil, fmt.Errorf("opening a port for the proxy: %w", err)
	}
	address, _ := name.(*unix.SockaddrInet4)
	report(&Report{Listener: true}, fd)
	url := fmt.Sprintf("http://127.0.0.1:%d", address.Port)
	env = slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		key, _, _ := strings.Cut(entry, "=")
		switch strings.ToUpper(key) {
		case "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY":
			return true
		}
		return false
	})
	env = append(env, "HTTP_PROXY="+url, "HTTPS_PROXY="+url, "ALL_PROXY="+url, "http_proxy="+url, "https_proxy="+url, "all_proxy="+url)
	if len(direct) > 0 {
		names := strings.Join(direct, ",")
		env = append(env, "NO_PROXY="+names, "no_proxy="+names)
	}
	return env, nil
}
