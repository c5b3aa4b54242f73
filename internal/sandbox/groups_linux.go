package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// groups are the cgroups of one command: one folder in each hierarchy that counts what
// is limited, which is one for both in version 2.
type groups struct {
	memory, processes *group // nil where none can be made
	missing           []Feature
}

type group struct {
	folder  string
	version int
}

// openGroups makes what can be made; what cannot is missing.
func openGroups(limits Limits) *groups {
	g := &groups{}
	system := readCgroups()
	if g.memory = system.make("memory", nil); g.memory != nil && !g.memory.limitMemory(limits.Memory) {
		_ = os.Remove(g.memory.folder)
		g.memory = nil
	}
	if g.processes = system.make("pids", g.memory); g.processes != nil && !g.processes.write("pids.max", strconv.Itoa(limits.Processes+helperThreads)) {
		if g.processes != g.memory {
			_ = os.Remove(g.processes.folder)
		}
		g.processes = nil
	}
	if g.memory == nil {
		g.missing = append(g.missing, MemoryCgroup)
	}
	if g.processes == nil {
		g.missing = append(g.missing, ProcessCgroup)
	}
	return g
}

func (g *groups) all() []*group {
	return slices.Compact(slices.DeleteFunc([]*group{g.memory, g.processes}, func(one *group) bool { return one == nil }))
}

func (g *groups) add(pid int) error {
	for _, one := range g.all() {
		if err := os.WriteFile(filepath.Join(one.folder, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
			return fmt.Errorf("joining a cgroup: %w", err)
		}
	}
	return nil
}

// exceeded returns the limit that a group has enforced, if any.
func (g *groups) exceeded() string {
	switch {
	case g.memory != nil && g.memory.count(map[int]string{1: "memory.oom_control", 2: "memory.events"}[g.memory.version], "oom_kill") > 0:
		return LimitMemory
	case g.processes != nil && g.processes.count("pids.events", "max") > 0:
		return LimitProcesses
	}
	return ""
}

// remove removes the groups. The kernel may take a moment to see that they are empty.
func (g *groups) remove() error {
	var errs []error
	for _, one := range g.all() {
		errs = append(errs, one.remove())
	}
	return errors.Join(errs...)
}

func (one *group) remove() error {
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for range 500 {
		err := unix.Rmdir(one.folder)
		if err == nil || errors.Is(err, unix.ENOENT) {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("sandbox: removing the cgroup %s: %w", one.folder, err)
		}
		<-ticker.C
	}
	return fmt.Errorf("sandbox: the cgroup %s stays busy", one.folder)
}

func (one *group) limitMemory(bytes int64) bool {
	value := strconv.FormatInt(bytes, 10)
	if one.version == 1 {
		one.write("memory.memsw.limit_in_bytes", value) // only where the kernel counts swap, and after the next
		ok := one.write("memory.limit_in_bytes", value)
		one.write("memory.memsw.limit_in_bytes", value)
		return ok
	}
	one.write("memory.swap.max", "0")
	one.write("memory.oom.group", "1")
	return one.write("memory.max", value)
}

// write sets a value and reports whether the kernel took it. It never makes a file.
func (one *group) write(name, value string) bool {
	file, err := os.OpenFile(filepath.Join(one.folder, name), os.O_WRONLY, 0)
	if err != nil {
		return false
	}
	_, err = file.WriteString(value)
	return errors.Join(err, file.Close()) == nil
}

// count reads one of the counters of a file with a name and a number in each line.
func (one *group) count(file, name string) int {
	data, err := os.ReadFile(filepath.Join(one.folder, file))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+" "); ok {
			n, _ := strconv.Atoi(value)
			return n
		}
	}
	return 0
}

// cgroups is where this process stands in the hierarchies of the system.
type cgroups struct {
	own    string // /proc/self/cgroup
	mounts string // /proc/self/mountinfo
}

func readCgroups() *cgroups {
	own, _ := os.ReadFile("/proc/self/cgroup")
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	return &cgroups{string(own), string(mounts)}
}

// make makes a group whose controller can be used, or returns nil. It takes the given
// one where that has the controller.
func (c *cgroups) make(controller string, given *group) *group {
	if folder := c.folder(controller); folder != "" {
		return newGroup(folder, 1)
	}
	if given != nil && given.version == 2 {
		return given
	}
	// In version 2 a group with processes cannot have groups in it, so that ours stand
	// beside the one that this process is in, where that was delegated.
	own := c.folder("")
	for _, folder := range []string{own, filepath.Dir(own)} {
		enabled, err := os.ReadFile(filepath.Join(folder, "cgroup.subtree_control"))
		if err != nil || !slices.Contains(strings.Fields(string(enabled)), controller) {
			continue
		}
		if made := newGroup(folder, 2); made != nil {
			return made
		}
	}
	return nil
}

// folder finds the folder of this process in the hierarchy of a controller of version
// 1, or, with the empty name, in version 2; empty is none.
func (c *cgroups) folder(controller string) string {
	at, ok := "", false
	for line := range strings.Lines(c.own) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) == 3 && slices.Contains(strings.Split(fields[1], ","), controller) {
			at, ok = fields[2], true
		}
	}
	if !ok {
		return ""
	}
	for line := range strings.Lines(c.mounts) {
		before, after, found := strings.Cut(line, " - ")
		mount, kind := strings.Fields(before), strings.Fields(after)
		if !found || len(mount) < 5 || len(kind) < 3 {
			continue
		}
		if controller == "" && kind[0] == "cgroup2" || controller != "" && kind[0] == "cgroup" && slices.Contains(strings.Split(kind[2], ","), controller) {
			// The mount may show a part of the hierarchy only.
			inside, err := filepath.Rel(mount[3], at)
			if err != nil || inside == ".." || strings.HasPrefix(inside, "../") {
				inside = "."
			}
			return filepath.Join(mount[4], inside)
		}
	}
	return ""
}

func newGroup(folder string, version int) *group {
	prefix := groupPrefix()
	sweep(folder, prefix)
	made, err := os.MkdirTemp(folder, prefix+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return nil
	}
	return &group{made, version}
}

// groupPrefix begins the names of groups, with the process namespace that the numbers
// in them belong to.
func groupPrefix() string {
	namespace, _ := os.Readlink("/proc/self/ns/pid")
	return "treadle-" + strings.Trim(namespace, "pid:[]") + "-"
}

// sweep removes groups that a host which was killed has left. A group that is in use
// cannot be removed.
func sweep(folder, prefix string) {
	entries, _ := os.ReadDir(folder)
	for _, entry := range entries {
		rest, ok := strings.CutPrefix(entry.Name(), prefix)
		if !ok {
			continue
		}
		number, _, _ := strings.Cut(rest, "-")
		if pid, err := strconv.Atoi(number); err == nil && unix.Kill(pid, 0) == unix.ESRCH {
			_ = unix.Rmdir(filepath.Join(folder, entry.Name()))
		}
	}
}
