package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// maxMasks is how many sockets and pipes are covered; each is a mount.
const maxMasks = 256

// answering finds what would answer the command in its paths, which no read-only mount
// stops: Unix sockets that a program of the host listens on, and, in paths that are read
// only, named pipes. The helper covers them. A socket that nobody listens on any more
// may be the command's own from an earlier time, and stays.
func (p *paths) answering(ctx context.Context) ([]string, error) {
	search := &search{ctx: ctx, left: walkEntries, paths: map[string]bool{}}
	for i := range p.open {
		search.paths[p.open[i].Name] = true
	}
	for i := range p.open {
		one := &p.open[i]
		if !one.folder() {
			continue
		}
		if err := search.folder(one.fd, one.Name, one.Write, 0); err != nil {
			return nil, err
		}
	}
	if len(search.found) > maxMasks {
		return nil, &PathError{Name: search.found[0], Cause: fmt.Errorf("and %d further sockets or pipes of the host lie in the paths; at most %d can be hidden from the command", len(search.found)-1, maxMasks)}
	}
	return search.found, nil
}

type search struct {
	ctx   context.Context
	left  int
	paths map[string]bool // the names of paths, each of which has its turn
	found []string
}

// folder looks at the kinds that a folder tells of its entries, which needs no look at
// each. What cannot be read, the command cannot read either.
func (s *search) folder(at int, name string, writable bool, depth int) error {
	if depth > walkDepth {
		return nil
	}
	fd, err := unix.Openat(at, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	folder := os.NewFile(uintptr(fd), name)
	defer folder.Close()
	for {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		entries, err := folder.ReadDir(256)
		for _, entry := range entries {
			if s.left--; s.left < 0 {
				return nil
			}
			if err := s.entry(fd, name+"/"+entry.Name(), entry, writable, depth); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || err != nil {
			return nil // a folder that goes away while it is read
		}
	}
}

func (s *search) entry(folder int, name string, entry fs.DirEntry, writable bool, depth int) error {
	switch kind := entry.Type(); {
	case kind == fs.ModeNamedPipe && !writable, kind == fs.ModeSocket && answers(folder, entry.Name()):
		s.found = append(s.found, name)
	case kind == fs.ModeDir:
		if s.paths[name] {
			return nil
		}
		fd, err := unix.Openat(folder, entry.Name(), unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil // gone meanwhile
		}
		defer unix.Close(fd)
		return s.folder(fd, name, writable, depth+1)
	}
	return nil
}

func answers(folder int, name string) bool {
	at, err := unix.Openat(folder, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(at)
	return listening(at)
}

// listening reports whether a program has the socket that a descriptor names open, without a trace on
// its side: a socket of datagrams connects to nothing but its own kind, and says
// "refused" only where there is nobody.
func listening(at int) bool {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return true
	}
	defer unix.Close(fd)
	err = unix.Connect(fd, &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d", at)})
	return !errors.Is(err, unix.ECONNREFUSED)
}
