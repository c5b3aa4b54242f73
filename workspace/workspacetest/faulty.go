package workspacetest

import (
	"context"
	"errors"
	"sync"

	"github.com/treadle-dev/treadle/workspace"
)

// ErrInjected is the error of a [Fault] that names none.
var ErrInjected = errors.New("injected fault")

// ErrStopped is what every operation returns once a [Fault] with Stop has struck:
// the process that used the storage is considered dead.
var ErrStopped = errors.New("process stopped")

// When says on which side of the operation a [Fault] strikes.
type When int

const (
	// Before leaves the operation undone.
	Before When = iota
	// After strikes when the operation has been done.
	After
	// Torn lets part of an AppendAt land. What changes all at once, which is every
	// other operation, is left undone.
	Torn
)

func (w When) String() string {
	switch w {
	case Before:
		return "before"
	case After:
		return "after"
	case Torn:
		return "torn"
	}
	return "unknown"
}

// Fault is what a [Faulty] does, once, at one operation. The zero value does
// nothing.
type Fault struct {
	// At is the operation where it strikes, counted from 1 over all that change
	// something ([Kind.Changes]), whether or not they succeed. 0 is never.
	At int
	// When is on which side of the operation it strikes.
	When When
	// TornBytes is how much of an AppendAt lands when it is torn; 0, or more than
	// there is, is half of its data, rounded down.
	TornBytes int
	// Stop makes the process count as dead: this operation and all later ones,
	// reads included, return [ErrStopped], and the locks that were taken through
	// the Faulty are released as a kernel would do it. Operations that are under way
	// elsewhere end before it strikes. Err does not matter then.
	Stop bool
	// Err is what the operation returns. Nil is [ErrInjected], except that with a
	// Hook an operation that is not torn goes on as if nothing had happened.
	Err error
	// Hook is called when the fault strikes, after what the operation does of its
	// work and before it returns, on the goroutine of the caller. It may use the
	// storage, or kill the process.
	Hook func(op Operation)
}

// Faulty makes a storage fail at one of the operations that change something.
// Run with a zero [Fault] first to learn how many there are, then with each number
// in turn. Safe for concurrent use; get one from [NewFaulty].
type Faulty struct {
	inner   workspace.Storage
	storage workspace.Storage
	fault   Fault

	// gate is held for reading by each operation, for writing when one stops all.
	gate    sync.RWMutex
	stopped bool

	mu      sync.Mutex
	changes int
	struck  *Operation
	locks   map[*faultyLock]struct{}
}

// NewFaulty lets the fault strike on the storage that its Storage method returns,
// which passes operations on to inner.
func NewFaulty(inner workspace.Storage, fault Fault) *Faulty {
	f := &Faulty{inner: inner, fault: fault, locks: map[*faultyLock]struct{}{}}
	f.storage = wrap(inner, f)
	return f
}

// Storage is the storage to use. It is a [workspace.LocalStorage] if the inner one
// is.
func (f *Faulty) Storage() workspace.Storage { return f.storage }

// Changes is how many operations that change something have begun.
func (f *Faulty) Changes() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changes
}

// Struck tells the operation at which the fault has struck, without its data, and
// false while it has not.
func (f *Faulty) Struck() (Operation, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.struck == nil {
		return Operation{}, false
	}
	return *f.struck, true
}

// Stopped reports whether the process counts as dead.
func (f *Faulty) Stopped() bool {
	f.gate.RLock()
	defer f.gate.RUnlock()
	return f.stopped
}

func (f *Faulty) intercept(ctx context.Context, op *Operation, do func() error) error {
	if !f.strikes(op) {
		return f.pass(do)
	}
	if f.fault.Stop {
		return f.stop(ctx, op, do)
	}
	return f.fail(ctx, op, do)
}

// strikes counts the operation, and reports whether it is the one.
func (f *Faulty) strikes(op *Operation) bool {
	if !op.Kind.Changes() {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changes++
	if f.changes != f.fault.At {
		return false
	}
	struck := *op
	struck.Data = nil
	f.struck = &struck
	return true
}

func (f *Faulty) pass(do func() error) error {
	f.gate.RLock()
	defer f.gate.RUnlock()
	if f.stopped {
		return ErrStopped
	}
	return do()
}

func (f *Faulty) fail(ctx context.Context, op *Operation, do func() error) error {
	goesOn := f.fault.Err == nil && f.fault.Hook != nil && f.fault.When != Torn
	if goesOn && f.fault.When == Before {
		f.fault.Hook(*op)
		return f.pass(do)
	}
	err := f.pass(func() error { return f.part(ctx, op, do) })
	f.hook(op)
	switch {
	case goesOn:
		return err
	case f.fault.Err != nil:
		return f.fault.Err
	}
	return ErrInjected
}

func (f *Faulty) stop(ctx context.Context, op *Operation, do func() error) error {
	f.gate.Lock()
	_ = f.part(ctx, op, do) // the dead get no answer
	f.stopped = true
	f.releaseLocks()
	f.gate.Unlock()
	f.hook(op)
	return ErrStopped
}

func (f *Faulty) hook(op *Operation) {
	if f.fault.Hook != nil {
		f.fault.Hook(*op)
	}
}

// part does as much of the operation as the fault lets through.
func (f *Faulty) part(ctx context.Context, op *Operation, do func() error) error {
	switch {
	case f.fault.When == After:
		return do()
	case f.fault.When == Torn && op.Kind == AppendAt:
		n := f.fault.TornBytes
		if n <= 0 || n > len(op.Data) {
			n = len(op.Data) / 2
		}
		return f.inner.AppendAt(ctx, op.Name, op.Offset, op.Data[:n])
	}
	return nil
}

// releaseLocks leaves the locks in the inner storage to others.
func (f *Faulty) releaseLocks() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for lock := range f.locks {
		_ = lock.inner.Unlock()
	}
	clear(f.locks)
}

func (f *Faulty) locked(lock workspace.Lock) workspace.Lock {
	f.mu.Lock()
	defer f.mu.Unlock()
	faulty := &faultyLock{inner: lock, of: f}
	f.locks[faulty] = struct{}{}
	return faulty
}

// faultyLock ends with its process.
type faultyLock struct {
	inner workspace.Lock
	of    *Faulty
}

// Unlock implements [workspace.Lock].
func (l *faultyLock) Unlock() error {
	return l.of.pass(func() error {
		l.of.mu.Lock()
		delete(l.of.locks, l)
		l.of.mu.Unlock()
		return l.inner.Unlock()
	})
}
