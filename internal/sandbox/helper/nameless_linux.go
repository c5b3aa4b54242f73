package helper

import (
	"bytes"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// nameless reports whether the files that have no name any more, which no walk of
// folders finds, hold more than the limit. Those that are open are measured. Of those
// that are only mapped, or on their way through a socket, nobody can tell the size: as
// long as there are such, what the file systems have grown by since the start counts,
// with what other programs wrote there.
func (w *watcher) nameless(processes []string) bool {
	grown := w.statfs()-w.disk > w.config.Disk
	open, hidden := w.open(processes, grown)
	return open > w.config.Disk || hidden || grown && w.mapped(processes)
}

// statfs sums what the file systems of the writable paths hold, each once.
func (w *watcher) statfs() (sum int64) {
	seen := map[uint64]bool{}
	for _, bind := range w.config.Binds {
		if bind.Write && !seen[bind.Device] {
			seen[bind.Device] = true
			sum += held(bind.Name)
		}
	}
	return sum
}

// open sums the nameless files that are open, and reports, if that is asked for, whether
// descriptors are on their way through sockets.
func (w *watcher) open(processes []string, carried bool) (sum int64, hidden bool) {
	seen := map[[2]uint64]bool{}
	for _, process := range processes {
		for _, descriptor := range entries(process + "/fd/") {
			var stat unix.Stat_t
			if unix.Stat(process+"/fd/"+descriptor, &stat) != nil {
				continue
			}
			switch kind := stat.Mode & unix.S_IFMT; {
			case kind == unix.S_IFSOCK:
				hidden = hidden || carried && carries(process+"/fdinfo/"+descriptor)
			case kind != unix.S_IFREG || stat.Nlink > 0 || w.tmpfs[stat.Dev]:
			case !seen[[2]uint64{stat.Dev, stat.Ino}]:
				seen[[2]uint64{stat.Dev, stat.Ino}] = true
				sum += stat.Blocks * 512
			}
		}
	}
	return sum, hidden
}

// carries reports whether descriptors wait in a socket to be received.
func carries(information string) bool {
	data, _ := os.ReadFile(information)
	for line := range bytes.Lines(data) {
		if number, ok := bytes.CutPrefix(line, []byte("scm_fds:")); ok && string(bytes.TrimSpace(number)) != "0" {
			return true
		}
	}
	return false
}

// mapped reports whether a process has a file of a writable path in its memory that
// has no name any more.
func (w *watcher) mapped(processes []string) bool {
	for _, process := range processes {
		data, _ := os.ReadFile(process + "/maps")
		for line := range bytes.Lines(data) {
			line = bytes.TrimRight(line, "\n")
			slash := bytes.IndexByte(line, '/')
			if slash < 0 || !bytes.HasSuffix(line, []byte(" (deleted)")) {
				continue
			}
			for _, bind := range w.config.Binds {
				if bind.Write && strings.HasPrefix(string(line[slash:]), bind.Name) {
					return true
				}
			}
		}
	}
	return false
}
