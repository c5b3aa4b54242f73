package journal

import (
	"errors"
	"fmt"
)

var (
	// ErrStale is the final error of a journal that another owner has taken over.
	ErrStale = errors.New("journal has another owner")
	// ErrBusy is returned for a key whose work is still running in this process.
	ErrBusy = errors.New("work under this key is already running")
	// ErrClosed is returned by every call after Close.
	ErrClosed = errors.New("journal is closed")
	// ErrAborted is what the final error after [Journal.Abort] matches.
	ErrAborted = errors.New("journal was aborted")
	// ErrMismatch is what a [*MismatchError] matches.
	ErrMismatch = errors.New("recorded for another input")
	// ErrDamaged is what a [*DamageError] matches.
	ErrDamaged = errors.New("journal is damaged")
	// ErrVersion is what a [*VersionError] matches.
	ErrVersion = errors.New("journal has a newer format")
	// ErrInvalid is returned, and nothing recorded, for a payload that is not JSON
	// and for a key or kind that cannot be written.
	ErrInvalid = errors.New("record is not valid")
)

// DamageError says which record of a journal cannot be trusted.
type DamageError struct {
	File   string // the journal
	Line   int    // from 1
	Seq    int64  // of the record that belongs there
	Reason string
	Err    error // what reading a blob gave; nil otherwise
}

func (e *DamageError) Error() string {
	text := fmt.Sprintf("%s, line %d (record %d): %s", e.File, e.Line, e.Seq, e.Reason)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text + "; restore the run's folder from a backup, or start a new run"
}

// Is reports whether target is [ErrDamaged].
func (e *DamageError) Is(target error) bool { return target == ErrDamaged }

// Unwrap returns the cause.
func (e *DamageError) Unwrap() error { return e.Err }

// VersionError says that a newer library has written a journal.
type VersionError struct {
	File      string
	Version   int // of the file
	Supported int // the highest that this library reads
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s has journal format version %d, this library reads up to %d; "+
		"finish the run with the version of the library that started it, or a newer one", e.File, e.Version, e.Supported)
}

// Is reports whether target is [ErrVersion].
func (e *VersionError) Is(target error) bool { return target == ErrVersion }

// MismatchError says that work was asked for under a key that is recorded with
// another input: the plan, a file or the library changed what the work depends
// on while the run was interrupted.
type MismatchError struct {
	Key      string
	Recorded string // hash of the recorded input; empty when it had none
	Given    string // hash of the input asked for
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("%s was recorded for another input (%s, now %s); "+
		"undo what changed since the run was interrupted, or start a new run", e.Key, orNone(e.Recorded), orNone(e.Given))
}

// Is reports whether target is [ErrMismatch].
func (e *MismatchError) Is(target error) bool { return target == ErrMismatch }

func orNone(hash string) string {
	if hash == "" {
		return "none"
	}
	return hash
}
