package helper

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// The names of limits that the helper watches.
const (
	limitMemory    = "memory"
	limitProcesses = "processes"
	limitDisk      = "disk"
)

// watcher counts what no cgroup counts, and what is on the disk without a name. It
// reads the fresh /proc, which shows the sandbox's processes and no others.
type watcher struct {
	config *Config
	every  int // milliseconds
	tmpfs  map[uint64]bool
}

func newWatcher(config *Config) *watcher {
	w := &watcher{config: config, every: 50, tmpfs: map[uint64]bool{}}
	for _, name := range []string{"/tmp", "/dev/shm"} {
		var stat unix.Stat_t
		if unix.Stat(name, &stat) == nil {
			w.tmpfs[stat.Dev] = true
		}
	}
	return w
}

// over returns the limit that is exceeded.
func (w *watcher) over() string {
	processes := w.processes()
	switch {
	case w.config.WatchProcesses > 0 && w.threads(processes) > w.config.WatchProcesses:
		return limitProcesses
	case w.config.WatchMemory > 0 && w.memory(processes, "status", "RssAnon:", "RssShmem:") > w.config.WatchMemory &&
		// Pages that processes share were counted for each of them; this takes longer.
		w.memory(processes, "smaps_rollup", "Pss:") > w.config.WatchMemory:
		return limitMemory
	case w.config.Disk > 0 && w.nameless(processes) > w.config.Disk:
		return limitDisk
	}
	return ""
}

// processes are the numbers of all but the helper.
func (w *watcher) processes() (numbers []string) {
	names := entries("/proc")
	for _, name := range names {
		if _, err := strconv.Atoi(name); err == nil && name != "1" {
			numbers = append(numbers, name)
		}
	}
	return numbers
}

func entries(folder string) []string {
	file, err := os.Open(folder)
	if err != nil {
		return nil
	}
	defer file.Close()
	names, _ := file.Readdirnames(-1)
	return names
}

// threads counts those that run, also where a process has ended and was not waited for.
func (w *watcher) threads(processes []string) (n int) {
	for _, process := range processes {
		n += max(1, len(entries("/proc/"+process+"/task")))
	}
	return n
}

// memory sums some lines of a file of every process, in bytes, and what lies in the
// file systems that are memory.
func (w *watcher) memory(processes []string, file string, lines ...string) (sum int64) {
	for _, process := range processes {
		data, _ := os.ReadFile("/proc/" + process + "/" + file)
		for line := range bytes.Lines(data) {
			fields := bytes.Fields(line)
			for _, wanted := range lines {
				if len(fields) >= 2 && string(fields[0]) == wanted {
					kilobytes, _ := strconv.ParseInt(string(fields[1]), 10, 64)
					sum += kilobytes << 10
				}
			}
		}
	}
	for _, name := range []string{"/tmp", "/dev/shm"} {
		var stat unix.Statfs_t
		if unix.Statfs(name, &stat) == nil {
			sum += int64(stat.Blocks-stat.Bfree) * int64(stat.Bsize) //nolint:unconvert // its size differs between architectures
		}
	}
	return sum
}

// nameless sums the files that are open and have no name any more, which no walk of
// folders finds.
func (w *watcher) nameless(processes []string) (sum int64) {
	seen := map[[2]uint64]bool{}
	for _, process := range processes {
		folder := "/proc/" + process + "/fd/"
		for _, descriptor := range entries(folder) {
			var stat unix.Stat_t
			if unix.Stat(folder+descriptor, &stat) != nil || stat.Nlink > 0 || stat.Mode&unix.S_IFMT != unix.S_IFREG || w.tmpfs[stat.Dev] {
				continue
			}
			if key := [2]uint64{stat.Dev, stat.Ino}; !seen[key] {
				seen[key] = true
				sum += stat.Blocks * 512
			}
		}
	}
	return sum
}
