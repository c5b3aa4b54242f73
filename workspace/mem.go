package workspace

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"
	"time"
)

// Mem is a [Storage] in memory, for tests and for workflows that need no disk.
// Durable means nothing there: all is lost with the process. Its locks exclude
// other holders in the same Mem. Safe for concurrent use; get one from [NewMem].
//
// A folder costs what it holds: no operation looks at files that it does not
// concern, except that Rename of a folder is one step however much is in it.
type Mem struct {
	mu   sync.RWMutex
	root *memNode
	// recent finds the files last appended to without a walk. Rename and Remove
	// empty it.
	recent map[string]*memNode
}

var _ Storage = (*Mem)(nil)

// maxRecent bounds the names that Mem.recent keeps.
const maxRecent = 256

// memNode is a file, or a folder when children is not nil.
type memNode struct {
	children map[string]*memNode
	content  memContent
	modTime  time.Time
	lock     *memLock // of a file that is a held lock
}

// NewMem returns an empty storage in memory.
func NewMem() *Mem {
	return &Mem{root: newMemFolder(), recent: map[string]*memNode{}}
}

func newMemFolder() *memNode {
	return &memNode{children: map[string]*memNode{}, modTime: time.Now()}
}

// ReadFile implements [Storage].
func (m *Mem) ReadFile(ctx context.Context, name string) ([]byte, error) {
	if err := checkCall(ctx, "read", name); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	node, err := m.file("read", name)
	if err != nil {
		return nil, err
	}
	return node.content.bytes(), nil
}

// ReadDir implements [Storage].
func (m *Mem) ReadDir(ctx context.Context, name string) ([]fs.DirEntry, error) {
	if err := checkCall(ctx, "readdir", name); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	node := m.find(name)
	if node == nil {
		return nil, pathError("readdir", name, fs.ErrNotExist)
	}
	if node.children == nil {
		return nil, pathError("readdir", name, errNotFolder)
	}
	entries := make([]fs.DirEntry, 0, len(node.children))
	for base, child := range node.children {
		entries = append(entries, fs.FileInfoToDirEntry(child.info(base)))
	}
	sortEntries(entries)
	return entries, nil
}

// Stat implements [Storage].
func (m *Mem) Stat(ctx context.Context, name string) (fs.FileInfo, error) {
	if err := checkCall(ctx, "stat", name); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	node := m.find(name)
	if node == nil {
		return nil, pathError("stat", name, fs.ErrNotExist)
	}
	return node.info(path.Base(name)), nil
}

// WriteFile implements [Storage].
func (m *Mem) WriteFile(ctx context.Context, name string, data []byte, _ Sync) error {
	if err := checkFileCall(ctx, "write", name); err != nil {
		return err
	}
	content := newMemContent(data)
	m.mu.Lock()
	defer m.mu.Unlock()
	node, err := m.fileToWrite("write", name)
	if err != nil {
		return err
	}
	node.content = content
	node.modTime = time.Now()
	return nil
}

// AppendAt implements [Storage].
func (m *Mem) AppendAt(ctx context.Context, name string, offset int64, data []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	node := m.recent[name] // a name in there has been checked
	if node == nil {
		var err error
		if node, err = m.fileToAppend(ctx, name, offset); err != nil {
			return err
		}
	}
	if err := checkOffset("append", name, offset); err != nil {
		return err
	}
	if node.content.size != offset {
		return conflict(name, node.content.size, offset)
	}
	node.content.append(data)
	node.modTime = time.Now()
	return nil
}

// fileToAppend finds or creates the file, and remembers it in m.recent.
func (m *Mem) fileToAppend(ctx context.Context, name string, offset int64) (*memNode, error) {
	if err := checkFileCall(ctx, "append", name); err != nil {
		return nil, err
	}
	if err := checkOffset("append", name, offset); err != nil {
		return nil, err
	}
	if offset > 0 && m.find(name) == nil {
		return nil, missingConflict(name, offset)
	}
	node, err := m.fileToWrite("append", name)
	if err != nil {
		return nil, err
	}
	if len(m.recent) >= maxRecent {
		clear(m.recent)
	}
	m.recent[strings.Clone(name)] = node
	return node, nil
}

// Truncate implements [Storage].
func (m *Mem) Truncate(ctx context.Context, name string, size int64) error {
	if err := checkFileCall(ctx, "truncate", name); err != nil {
		return err
	}
	if err := checkOffset("truncate", name, size); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	node, err := m.file("truncate", name)
	if err != nil {
		return err
	}
	if size > node.content.size {
		return pastEnd(name, size, node.content.size)
	}
	node.content.truncate(size)
	node.modTime = time.Now()
	return nil
}

// Rename implements [Storage].
func (m *Mem) Rename(ctx context.Context, from, to string) error {
	if err := checkRename(ctx, from, to); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	node := m.find(from)
	if node == nil {
		return pathError("rename", from, fs.ErrNotExist)
	}
	if m.find(to) != nil {
		return pathError("rename", to, fs.ErrExist)
	}
	folder, err := m.folderToWrite("rename", to)
	if err != nil {
		return err
	}
	folder.children[path.Base(to)] = node
	folder.modTime = time.Now()
	m.detach(from)
	clear(m.recent)
	return nil
}

// Remove implements [Storage].
func (m *Mem) Remove(ctx context.Context, name string) error {
	if err := checkFileCall(ctx, "remove", name); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.find(name) == nil {
		return nil
	}
	m.detach(name)
	clear(m.recent)
	return nil
}

// TryLock implements [Storage]. As on disk, the lock is a file that holds the
// holder's text while the lock is held and is empty afterwards.
func (m *Mem) TryLock(ctx context.Context, name, holder string) (Lock, error) {
	if err := checkFileCall(ctx, "lock", name); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	node, err := m.fileToWrite("lock", name)
	if err != nil {
		return nil, err
	}
	if node.lock != nil {
		return nil, &HeldError{Name: name, Holder: node.lock.holder}
	}
	node.content = newMemContent([]byte(holder))
	node.modTime = time.Now()
	node.lock = &memLock{mem: m, node: node, holder: holder}
	return node.lock, nil
}

// memLock hangs on the node, not on the name: like a lock on disk it moves along
// when its folder is renamed.
type memLock struct {
	mem    *Mem
	node   *memNode
	holder string
}

// Unlock implements [Lock].
func (l *memLock) Unlock() error {
	l.mem.mu.Lock()
	defer l.mem.mu.Unlock()
	if l.node.lock != l {
		return nil
	}
	l.node.lock = nil
	l.node.content = memContent{}
	l.node.modTime = time.Now()
	return nil
}

// find returns the node of a valid name, nil when there is none.
func (m *Mem) find(name string) *memNode {
	if name == "." {
		return m.root
	}
	node := m.root
	for rest, more := name, true; more; {
		var element string
		element, rest, more = strings.Cut(rest, "/")
		if node = node.children[element]; node == nil {
			return nil
		}
	}
	return node
}

func (m *Mem) file(op, name string) (*memNode, error) {
	node := m.find(name)
	if node == nil {
		return nil, pathError(op, name, fs.ErrNotExist)
	}
	if node.children != nil {
		return nil, pathError(op, name, errIsFolder)
	}
	return node, nil
}

// fileToWrite returns the file, creating it and the folders above when missing.
func (m *Mem) fileToWrite(op, name string) (*memNode, error) {
	if m.find(name) != nil {
		return m.file(op, name)
	}
	folder, err := m.folderToWrite(op, name)
	if err != nil {
		return nil, err
	}
	node := &memNode{modTime: time.Now()}
	folder.children[strings.Clone(path.Base(name))] = node
	folder.modTime = node.modTime
	return node, nil
}

// folderToWrite returns the folder of a name, creating what is missing. It
// changes nothing when it fails.
func (m *Mem) folderToWrite(op, name string) (*memNode, error) {
	folder := m.root
	elements := strings.Split(name, "/")
	elements = elements[:len(elements)-1]
	for i, element := range elements {
		next := folder.children[element]
		if next == nil {
			return addFolders(folder, elements[i:]), nil
		}
		if next.children == nil {
			return nil, pathError(op, name, fmt.Errorf("%s is %w", strings.Join(elements[:i+1], "/"), errNotFolder))
		}
		folder = next
	}
	return folder, nil
}

func addFolders(folder *memNode, elements []string) *memNode {
	for _, element := range elements {
		next := newMemFolder()
		folder.children[strings.Clone(element)] = next
		folder.modTime = next.modTime
		folder = next
	}
	return folder
}

// detach takes an existing name out of the tree, and the folders above that are
// empty then.
func (m *Mem) detach(name string) {
	for ; name != "."; name = parent(name) {
		folder := m.find(parent(name))
		delete(folder.children, path.Base(name))
		folder.modTime = time.Now()
		if len(folder.children) > 0 {
			return
		}
	}
}

func (n *memNode) info(base string) fs.FileInfo {
	if n.children != nil {
		return memInfo{name: base, mode: fs.ModeDir | 0o755, modTime: n.modTime}
	}
	return memInfo{name: base, size: n.content.size, mode: 0o644, modTime: n.modTime}
}

// memInfo is a snapshot, so that it needs no lock.
type memInfo struct {
	name    string
	size    int64
	mode    fs.FileMode
	modTime time.Time
}

func (i memInfo) Name() string       { return i.name }
func (i memInfo) Size() int64        { return i.size }
func (i memInfo) Mode() fs.FileMode  { return i.mode }
func (i memInfo) ModTime() time.Time { return i.modTime }
func (i memInfo) IsDir() bool        { return i.mode.IsDir() }
func (i memInfo) Sys() any           { return nil }
