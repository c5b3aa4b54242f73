package helper

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// confinedLandlock is the version from which on Landlock also guards what files are
// linked, renamed and truncated: without namespaces nothing else does.
const confinedLandlock = 3

// allowConfined makes the rules where no root of its own hides the host's files: what
// is not named cannot be opened.
func allowConfined(ruleset int, config *Config, all, read uint64) error {
	names := map[string]uint64{"/proc": read}
	for _, name := range append(systemFolders(), systemFiles()...) {
		names[name] = read
	}
	for _, name := range devices() {
		names[name] = read | unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	}
	for name, access := range names {
		var stat unix.Stat_t
		if unix.Lstat(name, &stat) == nil && stat.Mode&unix.S_IFMT == unix.S_IFLNK {
			continue // what it leads to has a rule, or is not for the command
		}
		if err := allow(ruleset, name, access&all); err != nil && !errors.Is(err, unix.EACCES) {
			return lacking(FeatureLandlock, "allowing %s: %w", name, err)
		}
	}
	for _, bind := range config.Binds {
		access := read
		if bind.Write {
			access = all
		}
		if err := allowBind(ruleset, bind, access); err != nil {
			return err
		}
	}
	return nil
}

func allowBind(ruleset int, bind Bind, access uint64) error {
	fd, err := openBind(bind)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := allowOpened(ruleset, fd, access); err != nil {
		return lacking(FeatureLandlock, "allowing %s: %w", bind.Name, err)
	}
	return nil
}

// endTree ends every process that the command has started, where no process namespace
// does it. Orphans have become the helper's own children.
func endTree() {
	for {
		for _, pid := range descendants() {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		if _, err := unix.Wait4(-1, nil, unix.WALL, nil); err != nil && !errors.Is(err, unix.EINTR) {
			return // there is nobody left
		}
		for {
			if pid, err := unix.Wait4(-1, nil, unix.WALL|unix.WNOHANG, nil); err != nil || pid <= 0 {
				break
			}
		}
	}
}

// descendants are the processes below this one.
func descendants() (found []int) {
	children := map[int][]int{}
	for _, name := range entries("/proc") {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if parent := parentOf(name); parent > 0 {
			children[parent] = append(children[parent], pid)
		}
	}
	found = children[os.Getpid()]
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i]]...)
	}
	return found
}

// parentOf reads the fourth field of a process's line; the second is its name, in
// parentheses, with anything in it.
func parentOf(process string) int {
	data, err := os.ReadFile("/proc/" + process + "/stat")
	if err != nil {
		return 0
	}
	line := string(data)
	fields := strings.Fields(line[strings.LastIndexByte(line, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1])
	return parent
}

// openBind opens a path by its name, and wants it to be what the host found there.
func openBind(bind Bind) (fd int, err error) {
	if fd, err = Open(bind.Name); err != nil {
		return -1, fmt.Errorf("opening %s: %w", bind.Name, err)
	}
	var stat unix.Stat_t
	if err = unix.Fstat(fd, &stat); err != nil {
		err = fmt.Errorf("looking at %s: %w", bind.Name, err)
	} else if stat.Dev != bind.Device || stat.Ino != bind.Inode {
		err = fmt.Errorf("%s was replaced while the sandbox was built", bind.Name)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}
