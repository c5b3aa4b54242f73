package helper

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// systemFolders are the host's programs and libraries.
func systemFolders() []string {
	return []string{"/bin", "/lib", "/lib32", "/lib64", "/libx32", "/sbin", "/usr"}
}

// systemFiles are what programs and libraries read below /etc. None names a user, a
// password or a place in the network.
func systemFiles() []string {
	return []string{
		"/etc/alternatives", "/etc/bash.bashrc", "/etc/ca-certificates", "/etc/ca-certificates.conf", "/etc/crypto-policies",
		"/etc/debian_version", "/etc/fonts", "/etc/gai.conf", "/etc/host.conf", "/etc/ld.so.cache", "/etc/ld.so.conf",
		"/etc/ld.so.conf.d", "/etc/localtime", "/etc/magic", "/etc/mime.types", "/etc/os-release", "/etc/pki", "/etc/protocols", "/etc/services",
		"/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/terminfo", "/etc/timezone",
	}
}

// devices are the device nodes that hold nothing.
func devices() []string {
	return []string{"/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero"}
}

// masked are files of /proc that tell about the host and not about the command.
func masked() []string {
	return []string{
		"/proc/kallsyms", "/proc/kcore", "/proc/key-users", "/proc/keys", "/proc/kmsg", "/proc/modules",
		"/proc/sched_debug", "/proc/sysrq-trigger", "/proc/timer_list", "/proc/vmallocinfo", "/proc/config.gz",
	}
}

// place is one thing in the new root.
type place struct {
	name   string
	folder bool
	mount  int    // 0 is none
	link   string // of a symbolic link
	text   string // of a small file that the sandbox makes up
}

// root collects the places of the new root; of two at one name the later counts.
type root struct {
	places map[string]place
	// writable are the binds that may be written, for what stands between them and
	// what is mounted below them.
	binds []Bind
}

func (r *root) put(p place) { r.places[p.name] = p }

// collect makes every mount while the host's files can still be named.
func collect(config *Config) (*root, error) {
	r := &root{places: map[string]place{}, binds: config.Binds}
	if err := r.system(); err != nil {
		return nil, err
	}
	if err := r.own(config); err != nil {
		return nil, err
	}
	for _, bind := range config.Binds {
		if err := r.bind(bind, bind.Name); err != nil {
			return nil, err
		}
	}
	if config.Socket.Name != "" {
		return r, r.bind(config.Socket, config.SocketPath)
	}
	return r, nil
}

func (r *root) system() error {
	for _, name := range append(systemFolders(), systemFiles()...) {
		if err := r.systemBind(name, false); err != nil {
			return err
		}
	}
	for _, name := range devices() {
		if err := r.systemBind(name, true); err != nil {
			return err
		}
	}
	return nil
}

// systemBind shows a part of the system where the host has it. A link stays a link.
func (r *root) systemBind(name string, device bool) error {
	var stat unix.Stat_t
	if err := unix.Lstat(name, &stat); err != nil {
		return nil //nolint:nilerr // not every system has every one of them
	}
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		target, err := os.Readlink(name)
		if err != nil {
			return fmt.Errorf("reading the link %s: %w", name, err)
		}
		r.put(place{name: name, link: target})
		return nil
	case unix.S_IFCHR:
		if !device {
			return nil
		}
	}
	mount, err := detachNamed(name, false, device)
	if errors.Is(err, unix.EACCES) {
		return nil // what the user may not read is not shown
	}
	if err != nil {
		return lacking(FeatureNamespaces, "binding %s: %w", name, err)
	}
	r.put(place{name: name, folder: stat.Mode&unix.S_IFMT == unix.S_IFDIR, mount: mount})
	return nil
}

// own are the parts that belong to the sandbox alone.
func (r *root) own(config *Config) error {
	for name, size := range map[string]int64{"/tmp": config.TmpSize, "/dev/shm": config.ShmSize} {
		mount, err := newFileSystem("tmpfs", unix.MOUNT_ATTR_NODEV,
			option{"size", strconv.FormatInt(size, 10)}, option{"nr_inodes", "100000"}, option{"mode", "1777"})
		if err != nil {
			return lacking(FeatureNamespaces, "making %s: %w", name, err)
		}
		r.put(place{name: name, folder: true, mount: mount})
	}
	proc := place{name: "/proc", folder: true}
	if !config.NoProc {
		mount, err := newFileSystem("proc", unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC, option{"hidepid", "invisible"})
		if err != nil {
			return lacking(FeatureProc, "mounting a fresh /proc: %w", err)
		}
		proc.mount = mount
	}
	r.put(proc)
	for _, name := range []string{"/run", "/var", "/home", "/etc", "/dev"} {
		r.put(place{name: name, folder: true})
	}
	for name, target := range map[string]string{
		"/dev/fd": "/proc/self/fd", "/dev/stdin": "/proc/self/fd/0", "/dev/stdout": "/proc/self/fd/1", "/dev/stderr": "/proc/self/fd/2",
		"/etc/mtab": "/proc/self/mounts", "/var/tmp": "/tmp",
	} {
		r.put(place{name: name, link: target})
	}
	for name, text := range map[string]string{
		"/etc/passwd":        fmt.Sprintf("treadle:x:%d:%d:the command:/tmp:/bin/sh\nnobody:x:65534:65534:the host:/nonexistent:/bin/false\n", UID, GID),
		"/etc/group":         fmt.Sprintf("treadle:x:%d:\nnogroup:x:65534:\n", GID),
		"/etc/hosts":         "127.0.0.1 localhost sandbox\n::1 localhost\n",
		"/etc/hostname":      hostname + "\n",
		"/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n",
		"/etc/resolv.conf":   "",
	} {
		r.put(place{name: name, text: text})
	}
	return nil
}

// hostname is what the command takes the machine's name to be.
const hostname = "sandbox"

func (r *root) bind(bind Bind, at string) error {
	mount := bind.Mount
	if mount == 0 {
		fd, err := Open(bind.Name)
		if err != nil {
			return fmt.Errorf("opening %s: %w", bind.Name, err)
		}
		defer unix.Close(fd)
		var stat unix.Stat_t
		if err := unix.Fstat(fd, &stat); err != nil {
			return fmt.Errorf("looking at %s: %w", bind.Name, err)
		}
		if stat.Dev != bind.Device || stat.Ino != bind.Inode {
			return fmt.Errorf("%s was replaced while the sandbox was built", bind.Name)
		}
		if mount, err = Detach(fd, bind.Write, false); err != nil {
			return lacking(FeatureNamespaces, "binding %s: %w", bind.Name, err)
		}
	}
	r.put(place{name: at, folder: bind.Folder, mount: mount})
	return nil
}

// assemble mounts the new root over the old one, fills it, and leaves the old one
// behind.
func (r *root) assemble(config *Config) error {
	base, err := newFileSystem("tmpfs", unix.MOUNT_ATTR_NODEV, option{"size", "1m"}, option{"mode", "755"})
	if err != nil {
		return lacking(FeatureNamespaces, "making a root: %w", err)
	}
	old, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening the root: %w", err)
	}
	if err := attach(base, old); err != nil {
		return lacking(FeatureNamespaces, "attaching a root: %w", err)
	}
	for _, p := range r.ordered() {
		if err := r.install(base, p); err != nil {
			return fmt.Errorf("placing %s: %w", p.name, err)
		}
	}
	if err := r.pin(base); err != nil {
		return err
	}
	if !config.NoProc {
		if err := r.mask(base); err != nil {
			return err
		}
	}
	return enter(base)
}

// ordered has each place after those that it lies in.
func (r *root) ordered() []place {
	places := make([]place, 0, len(r.places))
	for _, p := range r.places {
		places = append(places, p)
	}
	slices.SortFunc(places, func(a, b place) int {
		return slices.Compare(strings.Split(a.name, "/"), strings.Split(b.name, "/"))
	})
	return places
}

func (r *root) install(base int, p place) error {
	switch {
	case p.link != "":
		parent, err := folder(base, p.name[:strings.LastIndex(p.name, "/")])
		if err != nil {
			return err
		}
		defer unix.Close(parent)
		return unix.Symlinkat(p.link, parent, p.name[strings.LastIndex(p.name, "/")+1:])
	case p.mount == 0 && p.folder:
		at, err := folder(base, p.name)
		if err != nil {
			return err
		}
		return unix.Close(at)
	}
	at, err := point(base, p)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	if p.mount == 0 {
		_, err := unix.Write(at, []byte(p.text))
		return err
	}
	defer unix.Close(p.mount)
	return attach(p.mount, at)
}

// point opens what a place is mounted on, and makes it where it does not exist.
func point(base int, p place) (int, error) {
	if p.folder {
		return folder(base, p.name)
	}
	slash := strings.LastIndex(p.name, "/")
	parent, err := folder(base, p.name[:slash])
	if err != nil {
		return -1, err
	}
	defer unix.Close(parent)
	if p.mount != 0 {
		if fd, err := unix.Openat2(parent, p.name[slash+1:], inside(unix.O_PATH)); err == nil {
			return fd, nil
		}
	}
	return unix.Openat(parent, p.name[slash+1:], unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o644)
}

// folder opens a folder of the new root, and makes what is missing of it.
func folder(base int, name string) (int, error) {
	at, err := unix.FcntlInt(uintptr(base), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	for part := range strings.SplitSeq(strings.Trim(name, "/"), "/") {
		if part == "" {
			continue
		}
		next, err := unix.Openat2(at, part, inside(unix.O_PATH|unix.O_DIRECTORY))
		if errors.Is(err, unix.ENOENT) {
			if err = unix.Mkdirat(at, part, 0o755); err == nil {
				next, err = unix.Openat2(at, part, inside(unix.O_PATH|unix.O_DIRECTORY))
			}
		}
		_ = unix.Close(at)
		if err != nil {
			return -1, fmt.Errorf("%s: %w", part, err)
		}
		at = next
	}
	return at, nil
}

func inside(flags uint64) *unix.OpenHow {
	return &unix.OpenHow{Flags: flags | unix.O_CLOEXEC | unix.O_NOFOLLOW, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS}
}

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

// mask hides what a fresh /proc tells about the host, and makes it read only.
func (r *root) mask(base int) error {
	null, err := unix.Openat2(base, "dev/null", inside(unix.O_PATH))
	if err != nil {
		return fmt.Errorf("masking parts of /proc: %w", err)
	}
	defer unix.Close(null)
	for _, name := range masked() {
		at, err := unix.Openat2(base, name[1:], inside(unix.O_PATH))
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err == nil {
			var mount int
			if mount, err = unix.OpenTree(null, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH); err == nil {
				err = attach(mount, at)
				_ = unix.Close(mount)
			}
			_ = unix.Close(at)
		}
		if err != nil {
			return fmt.Errorf("masking %s: %w", name, err)
		}
	}
	proc, err := unix.Openat2(base, "proc", inside(unix.O_PATH|unix.O_DIRECTORY))
	if err != nil {
		return fmt.Errorf("opening /proc: %w", err)
	}
	defer unix.Close(proc)
	return unix.MountSetattr(proc, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// enter makes the new root the root, read only, and lets go of the old one.
func enter(base int) error {
	if err := unix.MountSetattr(base, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return fmt.Errorf("making the root read only: %w", err)
	}
	if err := unix.Fchdir(base); err != nil {
		return fmt.Errorf("entering the root: %w", err)
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return lacking(FeatureNamespaces, "pivot_root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("letting go of the host's root: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return fmt.Errorf("entering the root: %w", err)
	}
	return nil
}
