package helper

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Open opens a file or folder of the host by an absolute name without following any
// symbolic link on the way, as a descriptor that only names it (O_PATH).
func Open(name string) (fd int, err error) {
	return unix.Openat2(unix.AT_FDCWD, name, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC | unix.O_NOFOLLOW,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
}

// Detach makes a private copy of what a descriptor names, with all that is mounted
// below it, as a mount that belongs nowhere yet. It is read only unless write is set,
// and never honours set-user-id bits; device nodes work only with devices.
func Detach(fd int, write, devices bool) (mount int, err error) {
	mount, err = unix.OpenTree(fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	if err != nil {
		return -1, fmt.Errorf("open_tree: %w", err)
	}
	attr := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID, Propagation: unix.MS_PRIVATE}
	if !devices {
		attr.Attr_set |= unix.MOUNT_ATTR_NODEV
	}
	if !write {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if err := unix.MountSetattr(mount, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, attr); err != nil {
		_ = unix.Close(mount)
		return -1, fmt.Errorf("mount_setattr: %w", err)
	}
	return mount, nil
}

// detachNamed is Open and Detach in one, for what the helper binds by itself.
func detachNamed(name string, write, devices bool) (int, error) {
	fd, err := Open(name)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fd)
	return Detach(fd, write, devices)
}

// option is a key and a value of a file system's configuration; an empty value is a
// flag.
type option struct{ key, value string }

// newFileSystem makes a file system that is mounted nowhere yet.
func newFileSystem(kind string, attributes int, options ...option) (mount int, err error) {
	context, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("fsopen %s: %w", kind, err)
	}
	defer unix.Close(context)
	for _, o := range options {
		if err := unix.FsconfigSetString(context, o.key, o.value); err != nil {
			return -1, fmt.Errorf("fsconfig %s %s=%s: %w", kind, o.key, o.value, err)
		}
	}
	if err := unix.FsconfigCreate(context); err != nil {
		return -1, fmt.Errorf("creating a %s: %w", kind, err)
	}
	mount, err = unix.Fsmount(context, unix.FSMOUNT_CLOEXEC, attributes|unix.MOUNT_ATTR_NOSUID)
	if err != nil {
		return -1, fmt.Errorf("fsmount %s: %w", kind, err)
	}
	return mount, nil
}

// attach mounts a detached mount on what a descriptor names.
func attach(mount, on int) error {
	if err := unix.MoveMount(mount, "", on, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		return fmt.Errorf("move_mount: %w", err)
	}
	return nil
}

// OpenAt opens one entry of a folder like [Open], a symbolic link as itself, and
// nothing that is mounted there.
func OpenAt(folder int, entry string) (fd int, err error) {
	return unix.Openat2(folder, entry, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC | unix.O_NOFOLLOW,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_MAGICLINKS,
	})
}
