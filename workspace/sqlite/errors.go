package sqlite

import (
	"errors"
	"fmt"
	"io/fs"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// The kinds of errors. An [*Error] matches one of them.
var (
	// ErrMissing says that there is no database file. It also matches
	// [fs.ErrNotExist].
	ErrMissing = fmt.Errorf("there is no database: %w", fs.ErrNotExist)
	// ErrCorrupt says that the file is damaged, or is no SQLite database.
	ErrCorrupt = errors.New("the database is damaged or is no SQLite database")
	// ErrLocked says that another connection kept the database locked for longer
	// than the busy timeout.
	ErrLocked = errors.New("the database is locked by another connection")
	// ErrUnsafe says that something stands in the place of the database that is no
	// plain file of the workspace, such as a symbolic link.
	ErrUnsafe = errors.New("the database is not a plain file of the workspace")
	// ErrRefused says that the text is not one statement that only reads.
	ErrRefused = errors.New("only a single statement that reads is allowed")
	// ErrLimit says that a query took too long, or gave too much.
	ErrLimit = errors.New("the query went over a limit")
	// ErrQuery says that SQLite cannot run the statement, for example since there
	// is no such table.
	ErrQuery = errors.New("the query cannot be run")
	// ErrNoLocalFile says that the storage does not keep its files on the local
	// disk.
	ErrNoLocalFile = errors.New("the storage has no local files, which SQLite needs")
	// ErrUnavailable says that the disk or the system fails.
	ErrUnavailable = errors.New("the database cannot be reached")
)

// Error is what went wrong with a database.
type Error struct {
	File string // name in the storage
	Kind error  // one of the errors above
	Err  error  // what more is known; may be nil
}

func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("%s: %v", e.File, e.Kind)
	}
	return fmt.Sprintf("%s: %v: %v", e.File, e.Kind, e.Err)
}

// Unwrap gives the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// Unavailable reports whether the error is about the system or the configuration, so
// that nothing that a step writes to the database makes it go away.
func (e *Error) Unavailable() bool {
	return errors.Is(e.Kind, ErrUnavailable) || errors.Is(e.Kind, ErrNoLocalFile)
}

func failure(kind, cause error) error { return &Error{File: File, Kind: kind, Err: cause} }

// classify gives an error of the driver its kind. What has a kind, and what is no
// error of SQLite, stays as it is.
func classify(err error) error {
	var found *driver.Error
	if err == nil || !errors.As(err, &found) || errors.As(err, new(*Error)) {
		return err
	}
	return failure(kindOf(found.Code()), err)
}

// kindOf is the kind of a result code of SQLite.
func kindOf(code int) error {
	switch code & 0xff {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return ErrLocked
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB, lib.SQLITE_FORMAT:
		return ErrCorrupt
	case lib.SQLITE_AUTH:
		return ErrRefused
	case lib.SQLITE_READONLY:
		if interrupted(code) {
			return ErrUnavailable
		}
		return ErrRefused
	case lib.SQLITE_TOOBIG:
		return ErrLimit
	case lib.SQLITE_IOERR, lib.SQLITE_NOMEM, lib.SQLITE_CANTOPEN, lib.SQLITE_FULL, lib.SQLITE_PERM, lib.SQLITE_PROTOCOL:
		return ErrUnavailable
	default:
		return ErrQuery
	}
}

// interrupted reports whether a result code says that a writer died in the middle of
// a change, which a reader alone cannot undo.
func interrupted(code int) bool {
	switch code {
	case lib.SQLITE_READONLY_ROLLBACK, lib.SQLITE_READONLY_RECOVERY, lib.SQLITE_READONLY_CANTINIT:
		return true
	default:
		return false
	}
}
