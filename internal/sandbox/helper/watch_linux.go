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
// reads the fresh /proc, which shows the sandbox's processes and no others, or where
// there is none of its own the processes that descend from this one.
type watcher struct {
	config *Config
	every  int // milliseconds
	// private are the file systems that are memory, and their devices.
	private []string
	tmpfs   map[uint64]bool
	disk    int64 // what the file systems of the writable paths held at the start
}

func newWatcher(config *Config) *watcher {
	w := &watcher{config: config, every: 50, tmpfs: map[uint64]bool{}}
	w.disk = w.statfs()
	if config.Confined {
		return w
	}
	w.private = []string{"/tmp", "/dev/shm"}
	for _, name := range w.private {
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
	case w.config.WatchMemory > 0 && w.memory(processes, false) > w.config.WatchMemory &&
		// Pages that processes share were counted for each of them; this takes longer.
		w.memory(processes, true) > w.config.WatchMemory:
		return limitMemory
	case w.config.Disk > 0 && w.nameless(processes):
		return limitDisk
	}
	return ""
}

// processes are the folders of all but the helper. Each is that of a thread that lives:
// the first one of a process may have ended, and then shows neither memory nor files.
func (w *watcher) processes() (folders []string) {
	for _, number := range w.numbers() {
		threads := entries("/proc/" + number + "/task")
		if len(threads) > 0 {
			folders = append(folders, "/proc/"+number+"/task/"+threads[len(threads)-1])
		}
	}
	return folders
}

func (w *watcher) numbers() (numbers []string) {
	if w.config.Confined {
		for _, pid := range descendants() {
			numbers = append(numbers, strconv.Itoa(pid))
		}
		return numbers
	}
	for _, name := range entries("/proc") {
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
		n += max(1, len(entries(process+"/..")))
	}
	return n
}

// memory sums what every process holds, in bytes, what lies in the file systems that are
// memory, and what waits in sockets. Exactly is with shared pages counted once.
func (w *watcher) memory(processes []string, exactly bool) (sum int64) {
	for _, process := range processes {
		if exactly {
			sum += lines(process+"/smaps_rollup", "Pss:") + lines(process+"/status", "VmPTE:", "HugetlbPages:")
		} else {
			sum += lines(process+"/status", "RssAnon:", "RssShmem:", "VmPTE:", "HugetlbPages:")
		}
	}
	for _, name := range w.private {
		sum += held(name)
	}
	if w.config.Confined {
		return sum + mostOfSockets(processes)
	}
	return sum + socketMemory(w.config.WatchMemory-sum, exactly)
}

// lines sums some lines of a file, which are in kilobytes.
func lines(file string, wanted ...string) (sum int64) {
	data, _ := os.ReadFile(file)
	for line := range bytes.Lines(data) {
		for _, name := range wanted {
			if fields := bytes.Fields(line); len(fields) >= 2 && string(fields[0]) == name {
				kilobytes, _ := strconv.ParseInt(string(fields[1]), 10, 64)
				sum += kilobytes << 10
			}
		}
	}
	return sum
}

// held is what a file system holds, in bytes.
func held(name string) int64 {
	var stat unix.Statfs_t
	if unix.Statfs(name, &stat) != nil {
		return 0
	}
	return int64(stat.Blocks-stat.Bfree) * int64(stat.Bsize) //nolint:unconvert // its size differs between architectures
}
