package helper

import (
	"errors"
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// confine takes every right from the calling thread, and from what it starts. Other
// threads of the helper keep theirs: they watch and reap, and are out of the command's
// reach, being of another Landlock domain and not dumpable.
func confine(config *Config) error {
	// The host's session keyring is readable until a new one is joined, which each thread
	// does for itself. A kernel without keyrings has nothing to read.
	if _, err := unix.KeyctlJoinSessionKeyring("treadle"); err != nil && !errors.Is(err, unix.ENOSYS) {
		return fmt.Errorf("joining a fresh session keyring: %w", err)
	}
	if err := limit(config); err != nil {
		return err
	}
	ruleset := -1
	if !config.NoLandlock {
		var err error
		if ruleset, err = landlock(config); err != nil {
			return err
		}
	}
	if err := dropCapabilities(config); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("refusing new privileges: %w", err)
	}
	if ruleset >= 0 {
		if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0, 0); errno != 0 {
			return lacking(FeatureLandlock, "landlock_restrict_self: %w", errno)
		}
		_ = unix.Close(ruleset)
	}
	if config.NoSeccomp {
		return nil
	}
	return filterSyscalls(config)
}

// limit sets what the kernel counts for each process.
func limit(config *Config) error {
	limits := []struct {
		resource int
		value    int64
	}{
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_FSIZE, config.FileSize},
		{unix.RLIMIT_NOFILE, int64(config.OpenFiles)},
		{unix.RLIMIT_MSGQUEUE, 819200},
		{unix.RLIMIT_MEMLOCK, 64 << 10},
		{unix.RLIMIT_NPROC, int64(config.Processes)},
	}
	for _, l := range limits {
		if l.value == 0 && l.resource != unix.RLIMIT_CORE {
			continue
		}
		var now syscall.Rlimit
		if err := syscall.Getrlimit(l.resource, &now); err != nil {
			return fmt.Errorf("reading limit %d: %w", l.resource, err)
		}
		value := min(uint64(l.value), now.Max)
		next := syscall.Rlimit{Cur: value, Max: value}
		if l.resource == unix.RLIMIT_NPROC {
			next.Max = now.Max // see boundCommand
		}
		if err := syscall.Setrlimit(l.resource, &next); err != nil {
			return fmt.Errorf("setting limit %d to %d: %w", l.resource, value, err)
		}
	}
	return nil
}

// boundCommand sets for a command that has just started, and for what it starts, the
// limits that the helper cannot keep for itself. Its runtime has reserved more memory
// than the command may have. And it must be able to start a thread when the command's
// processes have used up what the user may have, or it ends without a report: so the
// number of processes is inherited as a soft limit, made a hard one here, and taken from
// the helper. What the command does in the meantime is watched.
func boundCommand(pid int, config *Config) error {
	if config.Data > 0 {
		if err := boundProcess(pid, unix.RLIMIT_DATA, uint64(config.Data)); err != nil {
			return fmt.Errorf("limiting memory: %w", err)
		}
	}
	if config.Processes > 0 {
		if err := boundProcess(pid, unix.RLIMIT_NPROC, uint64(config.Processes)); err != nil {
			return fmt.Errorf("limiting processes: %w", err)
		}
		return unboundProcesses()
	}
	return nil
}

func boundProcess(pid, resource int, value uint64) error {
	var now unix.Rlimit
	err := unix.Prlimit(pid, resource, nil, &now)
	if err == nil {
		value = min(value, now.Max)
		err = unix.Prlimit(pid, resource, &unix.Rlimit{Cur: value, Max: value}, nil)
	}
	if errors.Is(err, unix.ESRCH) {
		return nil // it has ended
	}
	return err
}

func unboundProcesses() error {
	var own syscall.Rlimit
	if err := syscall.Getrlimit(unix.RLIMIT_NPROC, &own); err != nil {
		return fmt.Errorf("reading the helper's own limit: %w", err)
	}
	own.Cur = own.Max
	if err := syscall.Setrlimit(unix.RLIMIT_NPROC, &own); err != nil {
		return fmt.Errorf("raising the helper's own limit: %w", err)
	}
	return nil
}

// dropCapabilities empties every set, and makes the thread the command's user where no
// namespace has done that.
func dropCapabilities(config *Config) error {
	for capability := range uintptr(64) {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) {
			break // past the last one that the kernel knows
		}
		if errors.Is(err, unix.EPERM) && config.Confined {
			break // a normal user, who has none to give up
		}
		if err != nil {
			return fmt.Errorf("dropping capability %d: %w", capability, err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("dropping ambient capabilities: %w", err)
	}
	if err := becomeUser(config.User, config.Group); err != nil {
		return err
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("dropping capabilities: %w", err)
	}
	return nil
}

// becomeUser makes the calling thread, and no other, which would take longer than all the
// rest, the command's user. Where the host runs as root, its id has no name in a user
// namespace, and must have no rights.
func becomeUser(user, group int) error {
	if unix.Getuid() == user && unix.Getgid() == group {
		return nil
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); errno != 0 {
		return fmt.Errorf("leaving the host's groups: %w", errno)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESGID, uintptr(group), uintptr(group), uintptr(group)); errno != 0 {
		return fmt.Errorf("taking an unprivileged group: %w", errno)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(user), uintptr(user), uintptr(user)); errno != 0 {
		return fmt.Errorf("taking an unprivileged user: %w", errno)
	}
	return nil
}

// landlock makes rules of the same things that the mounts show: a second wall, for the
// case that the first has a hole.
func landlock(config *Config) (ruleset int, err error) {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return -1, lacking(FeatureLandlock, "landlock: %w", errno)
	}
	if config.Confined && version < confinedLandlock {
		return -1, lacking(FeatureLandlock, "landlock of version %d, where without namespaces %d is needed: %w", version, confinedLandlock, unix.ENOSYS)
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: handled(int(version))}
	if version >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0) //nolint:gosec // what the kernel reads or wrote there stands above
	if errno != 0 {
		return -1, lacking(FeatureLandlock, "landlock_create_ruleset: %w", errno)
	}
	ruleset = int(fd)
	const read = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR | unix.LANDLOCK_ACCESS_FS_EXECUTE
	all := attr.Handled_access_fs &^ (unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV)
	if config.Confined {
		return ruleset, allowConfined(ruleset, config, all, read)
	}
	// Everything that is mounted may be read. Rules of Landlock only add, so a folder
	// that is read only within one that is not is the mounts' to guard.
	rules := map[string]uint64{"/": read, "/tmp": all, "/dev/shm": all}
	for _, name := range devices() {
		rules[name] = read | unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	}
	for _, bind := range config.Binds {
		if bind.Write {
			rules[bind.Name] = all
		}
	}
	for name, access := range rules {
		if err := allow(ruleset, name, access&attr.Handled_access_fs); err != nil {
			_ = unix.Close(ruleset)
			return -1, lacking(FeatureLandlock, "allowing %s: %w", name, err)
		}
	}
	return ruleset, nil
}

// handled are the kinds of access that a version of Landlock knows.
func handled(version int) uint64 {
	access := uint64(1)<<13 - 1
	if version >= 2 {
		access |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if version >= 3 {
		access |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if version >= 5 {
		access |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	return access
}

func allow(ruleset int, name string, access uint64) error {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil // a device that the host does not have
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return allowOpened(ruleset, fd, access)
}

func allowOpened(ruleset, fd int, access uint64) error {
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE |
			unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 { //nolint:gosec // what the kernel reads or wrote there stands above
		return errno
	}
	return nil
}
