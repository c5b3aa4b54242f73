package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/treadle-dev/treadle/internal/sandbox/helper"
)

// prepare hands what is writable to the command's user where the host runs as root,
// and makes the mounts.
func (p *paths) prepare(ctx context.Context, user identity) error {
	if !rootHere() {
		return nil
	}
	h := &handover{ctx: ctx, user: user, keep: p.readOnlyIn()}
	for i := range p.open {
		one := &p.open[i]
		if !one.Write {
			continue
		}
		if err := h.give(one.fd, one.Name, 0); err != nil {
			return err
		}
	}
	if p.socket != nil {
		if err := unix.Fchownat(p.socket.fd, "", user.uid, user.gid, unix.AT_EMPTY_PATH); err != nil {
			return &PathError{Name: p.socket.Name, Cause: fmt.Errorf("cannot be handed to user %d: %w", user.uid, err)}
		}
	}
	return p.detach()
}

// readOnlyIn are the paths that stay the host's, also inside a writable one.
func (p *paths) readOnlyIn() map[[2]uint64]bool {
	keep := map[[2]uint64]bool{}
	for i := range p.open {
		if !p.open[i].Write {
			keep[[2]uint64{p.open[i].stat.Dev, p.open[i].stat.Ino}] = true
		}
	}
	return keep
}

// handover changes the owner of everything in a folder, by descriptors only, so that a
// name that is replaced meanwhile leads nowhere else.
type handover struct {
	ctx  context.Context
	user identity
	keep map[[2]uint64]bool // device and inode
}

func (h *handover) give(fd int, name string, depth int) error {
	if err := h.ctx.Err(); err != nil {
		return err
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return &PathError{Name: name, Cause: err}
	}
	if h.keep[[2]uint64{stat.Dev, stat.Ino}] {
		return nil
	}
	if err := h.own(fd, name, &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		return nil
	}
	if depth == walkDepth {
		return &PathError{Name: name, Cause: errDeep}
	}
	return h.each(fd, name, depth)
}

// own changes the owner of one thing. A file with another name may be one of the
// host's that somebody linked here, and is refused.
func (h *handover) own(fd int, name string, stat *unix.Stat_t) error {
	if int(stat.Uid) == h.user.uid {
		return nil
	}
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFSOCK:
		if listening(fd) {
			return nil // the host's own, which the command does not get to see
		}
	case unix.S_IFDIR, unix.S_IFLNK, unix.S_IFIFO:
	case unix.S_IFREG:
		if stat.Nlink > 1 {
			return &PathError{Name: name, Cause: fmt.Errorf("has %d names (hard links), of which another may lie outside; copy it, or give it to user %d", stat.Nlink, h.user.uid)}
		}
	default:
		return nil // a device, which does not work inside anyway
	}
	if err := unix.Fchownat(fd, "", h.user.uid, h.user.gid, unix.AT_EMPTY_PATH); err != nil {
		return &PathError{Name: name, Cause: fmt.Errorf("cannot be handed to user %d: %w", h.user.uid, err)}
	}
	return nil
}

func (h *handover) each(fd int, name string, depth int) error {
	listed, err := unix.Openat(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &PathError{Name: name, Cause: err}
	}
	folder := os.NewFile(uintptr(listed), name)
	defer folder.Close()
	for {
		entries, err := folder.Readdirnames(256)
		for _, entry := range entries {
			if err := h.entry(fd, name, entry, depth+1); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return &PathError{Name: name, Cause: err}
		}
	}
}

func (h *handover) entry(folder int, name, entry string, depth int) error {
	fd, err := helper.OpenAt(folder, entry)
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil // gone meanwhile
	case errors.Is(err, unix.EXDEV):
		return nil // another file system, mounted here by the host for its own reasons
	case err != nil:
		return &PathError{Name: name + "/" + entry, Cause: err}
	}
	defer unix.Close(fd)
	return h.give(fd, name+"/"+entry, depth)
}
