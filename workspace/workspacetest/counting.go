package workspacetest

import (
	"context"
	"sync"

	"github.com/treadle-dev/treadle/workspace"
)

// Counting counts what is asked of a storage. Safe for concurrent use; get one
// from [NewCounting].
type Counting struct {
	storage workspace.Storage

	mu     sync.Mutex
	byName map[counted]int
	syncs  map[counted]int
}

type counted struct {
	kind Kind
	name string
}

// NewCounting counts the operations on the storage that its Storage method
// returns, which passes them on to inner.
func NewCounting(inner workspace.Storage) *Counting {
	c := &Counting{byName: map[counted]int{}, syncs: map[counted]int{}}
	c.storage = wrap(inner, c)
	return c
}

// Storage is the storage to use. It is a [workspace.LocalStorage] if the inner one
// is.
func (c *Counting) Storage() workspace.Storage { return c.storage }

func (c *Counting) intercept(_ context.Context, op *Operation, do func() error) error {
	err := do()
	c.mu.Lock()
	defer c.mu.Unlock()
	at := counted{kind: op.Kind, name: op.Name}
	c.byName[at]++
	if err == nil && op.Syncs() {
		c.syncs[at]++
	}
	return err
}

func (c *Counting) locked(lock workspace.Lock) workspace.Lock { return lock }

// Count is the number of operations of a kind that have ended, with or without
// success.
func (c *Counting) Count(kind Kind) int {
	return c.total(c.byName, func(at counted) bool { return at.kind == kind })
}

// CountOf is the number of operations of a kind on a name; for Rename that is the
// name before.
func (c *Counting) CountOf(kind Kind, name string) int {
	return c.total(c.byName, func(at counted) bool { return at == counted{kind: kind, name: name} })
}

// Changes is the number of operations that change something.
func (c *Counting) Changes() int {
	return c.total(c.byName, func(at counted) bool { return at.kind.Changes() })
}

// Syncs is the number of operations that succeeded and had to be durable when they
// returned: AppendAt, Truncate, and WriteFile with [workspace.Durable].
func (c *Counting) Syncs() int {
	return c.total(c.syncs, func(counted) bool { return true })
}

// SyncsOf is Syncs of one name.
func (c *Counting) SyncsOf(name string) int {
	return c.total(c.syncs, func(at counted) bool { return at.name == name })
}

// Reset sets all counts to zero.
func (c *Counting) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.byName)
	clear(c.syncs)
}

func (c *Counting) total(counts map[counted]int, of func(counted) bool) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	total := 0
	for at, n := range counts {
		if of(at) {
			total += n
		}
	}
	return total
}
