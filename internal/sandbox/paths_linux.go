package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/treadle-dev/treadle/internal/sandbox/helper"
)

// paths are a command's paths as the host found them: descriptors that name what is
// there now, whatever is put in its place later.
type paths struct {
	open   []openPath
	socket *openPath
}

type openPath struct {
	Path
	fd    int
	stat  unix.Stat_t
	mount *os.File // detached; nil where the helper makes it
}

func (p *openPath) folder() bool { return p.stat.Mode&unix.S_IFMT == unix.S_IFDIR }

// openPaths opens every path of a command, or says what is wrong with the first that
// cannot be shown.
func openPaths(command *Command) (*paths, error) {
	p := &paths{}
	for _, wanted := range distinct(command.Paths) {
		if err := p.add(wanted); err != nil {
			p.close()
			return nil, err
		}
	}
	if command.Dir != "" {
		if err := p.checkDir(command.Dir); err != nil {
			p.close()
			return nil, err
		}
	}
	if command.Socket != "" {
		socket, err := openOne(Path{Name: command.Socket})
		if err == nil && socket.stat.Mode&unix.S_IFMT != unix.S_IFSOCK {
			_ = unix.Close(socket.fd)
			err = &PathError{Name: command.Socket, Cause: errors.New("is no Unix socket; Command.Socket names one")}
		}
		if err != nil {
			p.close()
			return nil, err
		}
		p.socket = socket
	}
	return p, nil
}

// checkDir looks for the folder to start in before anything is started.
func (p *paths) checkDir(name string) error {
	info, err := os.Stat(name)
	if err == nil && !info.IsDir() {
		err = errors.New("is no folder to start in")
	}
	if err != nil {
		return &PathError{Name: name, Cause: err}
	}
	return nil
}

// distinct has each name once, the one that is read only before the other.
func distinct(wanted []Path) []Path {
	wanted = slices.Clone(wanted)
	slices.SortStableFunc(wanted, func(a, b Path) int {
		if a.Write != b.Write && a.Name == b.Name {
			if b.Write {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Name, b.Name)
	})
	return slices.CompactFunc(wanted, func(a, b Path) bool { return a.Name == b.Name })
}

func (p *paths) add(wanted Path) error {
	opened, err := openOne(wanted)
	if err != nil {
		return err
	}
	switch opened.stat.Mode & unix.S_IFMT {
	case unix.S_IFDIR, unix.S_IFREG:
		p.open = append(p.open, *opened)
		return nil
	}
	_ = unix.Close(opened.fd)
	return &PathError{Name: wanted.Name, Cause: errors.New("is neither a regular file nor a folder")}
}

func openOne(wanted Path) (*openPath, error) {
	if reason := unfit(wanted.Name); reason != "" {
		return nil, &PathError{Name: wanted.Name, Cause: errors.New(reason)}
	}
	fd, err := helper.Open(wanted.Name)
	if errors.Is(err, unix.ELOOP) {
		return nil, &PathError{Name: wanted.Name, Cause: errors.New("has a symbolic link in it, which could lead elsewhere; name what it resolves to")}
	}
	if errors.Is(err, unix.ENOSYS) {
		return nil, unavailable(Namespaces, "openat2", err)
	}
	if err != nil {
		return nil, &PathError{Name: wanted.Name, Cause: &fs.PathError{Op: "open", Path: wanted.Name, Err: err}}
	}
	opened := &openPath{Path: wanted, fd: fd}
	if err := unix.Fstat(fd, &opened.stat); err != nil {
		_ = unix.Close(fd)
		return nil, &PathError{Name: wanted.Name, Cause: err}
	}
	return opened, nil
}

// unfit says why a name cannot be a path of a command, whatever is there.
func unfit(name string) string {
	switch {
	case !path.IsAbs(name):
		return "is not absolute"
	case path.Clean(name) != name:
		return "is not clean; it would be " + path.Clean(name)
	case strings.ContainsRune(name, 0):
		return "contains a zero byte"
	case !utf8.ValidString(name):
		return "is not UTF-8"
	case name == "/":
		return "is everything; name the folders that the command needs"
	}
	for _, own := range []string{"/proc", "/sys", "/dev", "/run/treadle"} {
		if name == own || strings.HasPrefix(name, own+"/") && !strings.HasPrefix(name, "/dev/shm/") {
			return "lies in " + own + ", which the sandbox has its own of"
		}
	}
	return ""
}

// all are the paths and the socket.
func (p *paths) all() []*openPath {
	all := make([]*openPath, 0, len(p.open)+1)
	for i := range p.open {
		all = append(all, &p.open[i])
	}
	if p.socket != nil {
		all = append(all, p.socket)
	}
	return all
}

func (p *paths) close() {
	for _, one := range p.all() {
		_ = unix.Close(one.fd)
		if one.mount != nil {
			_ = one.mount.Close()
		}
	}
}

// mounts are the detached mounts, in the order that the helper gets them.
func (p *paths) mounts() (mounts []*os.File) {
	for _, one := range p.all() {
		if one.mount != nil {
			mounts = append(mounts, one.mount)
		}
	}
	return mounts
}

// describe tells the helper about the paths.
func (p *paths) describe(config *helper.Config) {
	for _, one := range p.all() {
		bind := helper.Bind{Name: one.Name, Write: one.Write, Folder: one.folder(), Device: one.stat.Dev, Inode: one.stat.Ino}
		if one.mount != nil {
			bind.Mount = helper.FirstMountFD + config.Mounts
			config.Mounts++
		}
		if one == p.socket {
			config.Socket, config.SocketPath = bind, SocketPath
			continue
		}
		config.Binds = append(config.Binds, bind)
	}
}

// detach makes the mounts where the host may, which is where it runs as root: the
// unprivileged user that the helper becomes might not reach the paths by their names.
func (p *paths) detach() error {
	for _, one := range p.all() {
		mount, err := helper.Detach(one.fd, one.Write, false)
		if errors.Is(err, unix.EPERM) {
			return nil // root in a container, who may not mount; the helper may
		}
		if errors.Is(err, unix.ENOSYS) {
			return unavailable(Namespaces, "binding "+one.Name, err)
		}
		if err != nil {
			return &PathError{Name: one.Name, Cause: fmt.Errorf("cannot be bound: %w", err)}
		}
		one.mount = os.NewFile(uintptr(mount), one.Name)
	}
	return nil
}

// user returns the ids of the command outside.
func (p *paths) user() identity {
	if !rootHere() {
		return identity{unix.Geteuid(), unix.Getegid()}
	}
	user := identity{UnprivilegedID, UnprivilegedID}
	for _, one := range p.open {
		if !one.Write {
			continue
		}
		if one.stat.Uid != 0 {
			user.uid = int(one.stat.Uid)
			if one.stat.Gid != 0 {
				user.gid = int(one.stat.Gid)
			}
		}
		break
	}
	return user
}

// identity is a user and a group of the host.
type identity struct{ uid, gid int }
