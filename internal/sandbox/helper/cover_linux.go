package helper

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// pin makes a mount of every folder between a writable bind and what is mounted below
// it. Without that the command could rename such a folder away, and make another, of
// its own, where the host expects the protected one; a mount cannot be renamed.
func (r *root) pin(base int) error {
	for _, name := range between(r.binds) {
		at, err := folder(base, name)
		if err != nil {
			return fmt.Errorf("pinning %s: %w", name, err)
		}
		mount, err := unix.OpenTree(at, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
		if err == nil {
			err = attach(mount, at)
			_ = unix.Close(mount)
		}
		_ = unix.Close(at)
		if err != nil {
			return fmt.Errorf("pinning %s: %w", name, err)
		}
	}
	return nil
}

// between lists the folders that lie in a writable bind and have another bind in them,
// outermost first.
func between(binds []Bind) []string {
	bound := map[string]bool{}
	for _, b := range binds {
		bound[b.Name] = true
	}
	var names []string
	for _, outer := range binds {
		if !outer.Write {
			continue
		}
		for _, inner := range binds {
			rest, ok := strings.CutPrefix(inner.Name, outer.Name+"/")
			for ok {
				slash := strings.LastIndex(rest, "/")
				if slash < 0 {
					break
				}
				rest = rest[:slash]
				if name := outer.Name + "/" + rest; !bound[name] {
					bound[name] = true
					names = append(names, name)
				}
			}
		}
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Count(a, "/") - strings.Count(b, "/") })
	return names
}

// seal makes the folders read only that lead to binds in a private folder. What a command
// wrote into one of them beside the binds would be gone without a word.
func (r *root) seal(base int, private string) error {
	tops := map[string]bool{}
	for _, b := range r.binds {
		rest, ok := strings.CutPrefix(b.Name, private+"/")
		if !ok {
			continue
		}
		at, err := point(base, place{name: b.Name, folder: b.Folder, mount: -1})
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("%s: %w", b.Name, err)
		}
		if err == nil {
			_ = unix.Close(at)
		}
		if top, _, below := strings.Cut(rest, "/"); below {
			tops[private+"/"+top] = true
		}
	}
	for _, b := range r.binds {
		delete(tops, b.Name)
	}
	for top := range tops {
		if err := sealOne(base, top); err != nil {
			return fmt.Errorf("%s: %w", top, err)
		}
	}
	return nil
}

func sealOne(base int, name string) error {
	at, err := folder(base, name)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	mount, err := unix.OpenTree(at, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
	if err != nil {
		return err
	}
	defer unix.Close(mount)
	if err := unix.MountSetattr(mount, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return err
	}
	return attach(mount, at)
}

// mask hides what a fresh /proc tells about the host, makes it read only, and covers what
// the host found to answer in the binds.
func mask(base int, config *Config) error {
	file, err := unix.Openat2(base, "dev/null", inside(unix.O_PATH))
	if err != nil {
		return fmt.Errorf("masking: %w", err)
	}
	defer unix.Close(file)
	empty, err := folder(base, "/var/empty")
	if err != nil {
		return fmt.Errorf("masking: %w", err)
	}
	defer unix.Close(empty)
	var names []string
	if !config.NoProc {
		names = masked()
	}
	for _, name := range slices.Concat(names, config.Masks) {
		if err := cover(base, name, file, empty); err != nil {
			return fmt.Errorf("masking %s: %w", name, err)
		}
	}
	if config.NoProc {
		return nil
	}
	proc, err := unix.Openat2(base, "proc", inside(unix.O_PATH|unix.O_DIRECTORY))
	if err != nil {
		return fmt.Errorf("opening /proc: %w", err)
	}
	defer unix.Close(proc)
	return unix.MountSetattr(proc, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// cover mounts a file or an empty folder over a name, if that is there.
func cover(base int, name string, file, empty int) error {
	at, err := unix.Openat2(base, name[1:], inside(unix.O_PATH))
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(at)
	var stat unix.Stat_t
	if err := unix.Fstat(at, &stat); err != nil {
		return err
	}
	by := file
	if stat.Mode&unix.S_IFMT == unix.S_IFDIR {
		by = empty
	}
	mount, err := unix.OpenTree(by, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
	if err != nil {
		return err
	}
	defer unix.Close(mount)
	return attach(mount, at)
}
