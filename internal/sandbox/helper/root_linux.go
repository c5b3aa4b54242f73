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

// masked are files and folders of /proc that tell about the host and not about the
// command. What programs ask how large the machine is (cpuinfo, meminfo, stat, vmstat,
// loadavg, uptime) stays.
func masked() []string {
	return []string{
		"/proc/acpi", "/proc/asound", "/proc/buddyinfo", "/proc/bus", "/proc/cmdline", "/proc/config.gz", "/proc/devices", "/proc/diskstats",
		"/proc/dma", "/proc/driver", "/proc/interrupts", "/proc/iomem", "/proc/ioports", "/proc/irq", "/proc/kallsyms", "/proc/kcore", "/proc/key-users",
		"/proc/keys", "/proc/kmsg", "/proc/kpagecgroup", "/proc/kpagecount", "/proc/kpageflags", "/proc/latency_stats", "/proc/locks", "/proc/mdstat", "/proc/misc",
		"/proc/modules", "/proc/mtrr", "/proc/pagetypeinfo", "/proc/partitions", "/proc/sched_debug", "/proc/schedstat", "/proc/scsi", "/proc/slabinfo",
		"/proc/softirqs", "/proc/swaps", "/proc/sysrq-trigger", "/proc/timer_list", "/proc/timer_stats", "/proc/tty", "/proc/vmallocinfo", "/proc/zoneinfo",
	}
}

// place is one thing in the new root.
type place struct {
	name   string
	folder bool
	mount  int    // 0 is none
	link   string // of a symbolic link
	text   string // of a small file that the sandbox makes up
	// private is a folder that the command may write and that ends with it.
	private bool
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

// copied is the size up to which a file of the system is copied, which takes less than a
// mount.
const copied = 16 << 10

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
	if stat.Mode&unix.S_IFMT == unix.S_IFREG && stat.Size <= copied {
		if text, err := os.ReadFile(name); err == nil {
			r.put(place{name: name, text: string(text)})
		}
		return nil // what the user may not read is not shown
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
		r.put(place{name: name, folder: true, mount: mount, private: true})
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
		leads := func(bind Bind) bool { return strings.HasPrefix(bind.Name, name+"/") }
		if !slices.ContainsFunc(config.Binds, leads) { // else it is the folder of a path
			r.put(place{name: name, link: target})
		}
	}
	for name, text := range map[string]string{
		"/etc/passwd":        fmt.Sprintf("treadle:x:%d:%d:the command:/tmp:/bin/sh\nnobody:x:65534:65534:the host:/nonexistent:/bin/false\n", config.User, config.Group),
		"/etc/group":         fmt.Sprintf("treadle:x:%d:\nnogroup:x:65534:\n", config.Group),
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
		fd, err := openBind(bind)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
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
		if p.private {
			if err := r.seal(base, p.name); err != nil {
				return fmt.Errorf("placing paths in %s: %w", p.name, err)
			}
		}
	}
	if err := r.pin(base); err != nil {
		return err
	}
	if err := mask(base, config); err != nil {
		return err
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
	if name = strings.Trim(name, "/"); name != "" {
		if at, err := unix.Openat2(base, name, inside(unix.O_PATH|unix.O_DIRECTORY)); err == nil {
			return at, nil
		}
	}
	at, err := unix.FcntlInt(uintptr(base), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	for part := range strings.SplitSeq(name, "/") {
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
