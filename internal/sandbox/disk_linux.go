package sandbox

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// walkEntries is how many files are looked at; in larger trees the file system's own
	// count stands for them, in which other programs' files count too.
	walkEntries = 200_000
	// walkDepth is how deep folders may lie in each other: each open one is a
	// descriptor of the host.
	walkDepth = 128
	// entrySize is what a file counts beside its content, so that many empty ones fill
	// the disk as well.
	entrySize = 1024
	// smallestStep is the part of the limit below which growth of a file system, of
	// which other programs may be the cause, does not make anybody look at once.
	smallestStep = 64
	// walkShare bounds the time that walking takes to a part of all.
	walkShare = 10
)

// usage watches how much a command's writable paths hold.
type usage struct {
	paths *paths
	limit int64
	base  int64
	whole bool // the file system's own count is taken
	next  time.Time

	// What was measured at the last look, and what the file systems held then.
	last, mark int64
}

// usage measures what is there before the command starts.
func (p *paths) usage(ctx context.Context, limit int64) *usage {
	u := &usage{paths: p, limit: limit}
	u.mark = u.statfs()
	if bytes, err := u.walk(ctx); err == nil {
		u.base = bytes
	} else {
		u.whole, u.base = true, u.mark
	}
	u.last = u.base
	return u
}

// over reports whether the paths have grown by more than the limit. It looks less
// often where looking takes long, but at once when their file systems, which tell in no
// time, have grown by half of what is left.
func (u *usage) over(ctx context.Context) bool {
	begin := time.Now()
	mark := u.statfs()
	left := u.limit - (u.last - u.base)
	if begin.Before(u.next) && mark-u.mark < max(left/2, u.limit/smallestStep) {
		return false
	}
	exceeds := u.exceeds(ctx)
	u.mark = mark
	u.next = time.Now().Add(walkShare * time.Since(begin))
	return exceeds
}

// exceeds looks now.
func (u *usage) exceeds(ctx context.Context) bool {
	now, err := u.measure(ctx)
	if err != nil {
		return ctx.Err() == nil // too many files, or too deep
	}
	u.last = now
	return now-u.base > u.limit
}

func (u *usage) measure(ctx context.Context) (int64, error) {
	if u.whole {
		return u.statfs(), nil
	}
	return u.walk(ctx)
}

// statfs sums what the file systems of the writable paths hold, each once.
func (u *usage) statfs() (bytes int64) {
	seen := map[uint64]bool{}
	for _, one := range u.paths.writable() {
		var stat unix.Statfs_t
		if seen[one.stat.Dev] || unix.Fstatfs(one.fd, &stat) != nil {
			continue
		}
		seen[one.stat.Dev] = true
		bytes += int64(stat.Blocks-stat.Bfree) * int64(stat.Bsize) //nolint:unconvert // its size differs between architectures
		bytes += int64(stat.Files-stat.Ffree) * entrySize
	}
	return bytes
}

var (
	errManyEntries = errors.New("too many files to look at")
	errDeep        = errors.New("folders lie too deep in each other")
)

// walk sums the blocks of everything in the writable paths.
func (u *usage) walk(ctx context.Context) (int64, error) {
	w := &walker{ctx: ctx, left: walkEntries}
	for _, one := range u.paths.writable() {
		if err := w.file(one.fd, "", 0); err != nil {
			return 0, err
		}
	}
	return w.bytes, nil
}

// writable are the outermost writable paths.
func (p *paths) writable() []*openPath {
	var outer []*openPath
	for i := range p.open {
		if one := &p.open[i]; one.Write && (len(outer) == 0 || !within(one.Name, outer)) {
			outer = append(outer, one)
		}
	}
	return outer
}

func within(name string, outer []*openPath) bool {
	for _, one := range outer {
		if len(name) > len(one.Name) && name[:len(one.Name)] == one.Name && name[len(one.Name)] == '/' {
			return true
		}
	}
	return false
}

type walker struct {
	ctx   context.Context
	left  int
	bytes int64
}

// file counts what an entry of a folder, or with no name the descriptor itself, holds.
// It never follows a link, and a name that is replaced meanwhile leads no further than
// to what it is then.
func (w *walker) file(at int, name string, depth int) error {
	if w.left--; w.left < 0 {
		return errManyEntries
	}
	var stat unix.Stat_t
	if err := unix.Fstatat(at, name, &stat, unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH); err != nil {
		return nil // gone meanwhile
	}
	w.bytes += stat.Blocks*512/max(1, int64(stat.Nlink)) + entrySize
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		return nil
	}
	w.bytes += stat.Blocks * 512 // names of folders are not links
	if depth == walkDepth {
		return errDeep
	}
	if name == "" {
		name = "."
	}
	fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil // gone, or not to be looked into
	}
	folder := os.NewFile(uintptr(fd), name)
	defer folder.Close()
	return w.folder(folder, fd, depth)
}

func (w *walker) folder(folder *os.File, fd, depth int) error {
	for {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		names, err := folder.Readdirnames(256)
		for _, name := range names {
			if err := w.file(fd, name, depth+1); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || err != nil {
			return nil //nolint:nilerr // a folder that goes away while it is read has been counted
		}
	}
}
