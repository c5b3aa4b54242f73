package workspace

import (
	"container/list"
	"os"
	"sync"
)

// maxAppendFiles bounds the descriptors that a Dir keeps for appending. A run
// appends to one or two files.
const maxAppendFiles = 32

// appendFiles are the files that a Dir appended to last, most recent first.
// Opening a file for each append would cost a third more than the append.
type appendFiles struct {
	mu     sync.Mutex
	byName map[string]*appendFile
	recent list.List // of *appendFile
	closed bool
}

// appendFile is a file kept open for appending. It is closed when it has left the
// list and nobody uses it.
type appendFile struct {
	name string

	// Of appendFiles, under its mutex.
	users   int
	element *list.Element // nil once out of the list

	busy     chan struct{} // holds a token while somebody uses what follows
	f        *os.File      // nil before the first use
	anchored bool          // the folders above were synced since f was opened
}

func (a *appendFiles) acquire(name string) *appendFile {
	a.mu.Lock()
	defer a.mu.Unlock()
	file := a.byName[name]
	if file == nil {
		file = &appendFile{name: name, busy: make(chan struct{}, 1)}
		a.add(file)
	} else {
		a.recent.MoveToFront(file.element)
	}
	file.users++
	return file
}

func (a *appendFiles) add(file *appendFile) {
	if a.closed {
		return // opening it will fail, since the root is closed too
	}
	if a.byName == nil {
		a.byName = map[string]*appendFile{}
	}
	a.byName[file.name] = file
	file.element = a.recent.PushFront(file)
	if a.recent.Len() > maxAppendFiles {
		a.drop(a.recent.Back().Value.(*appendFile)) //nolint:forcetypeassert // all that PushFront is given above
	}
}

func (a *appendFiles) release(file *appendFile) {
	a.mu.Lock()
	defer a.mu.Unlock()
	file.users--
	a.closeUnused(file)
}

// forget drops a name and all below it.
func (a *appendFiles) forget(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, file := range a.byName {
		if isAtOrBelow(file.name, name) {
			a.drop(file)
		}
	}
}

func (a *appendFiles) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	for _, file := range a.byName {
		a.drop(file)
	}
}

func (a *appendFiles) drop(file *appendFile) {
	delete(a.byName, file.name)
	a.recent.Remove(file.element)
	file.element = nil
	a.closeUnused(file)
}

func (a *appendFiles) closeUnused(file *appendFile) {
	if file.users == 0 && file.element == nil {
		file.closeFile()
	}
}

// closeFile closes what was synced or given up, so its error tells nothing.
func (file *appendFile) closeFile() {
	if file.f != nil {
		_ = file.f.Close()
	}
	file.f, file.anchored = nil, false
}
