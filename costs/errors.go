package costs

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrInvalidRun says that a [Run] cannot be written to a ledger.
	ErrInvalidRun = errors.New("invalid run")
	// ErrDamaged is what a [*DamagedError] matches.
	ErrDamaged = errors.New("damaged cost file")
	// ErrBusy is what a [*BusyError] matches.
	ErrBusy = errors.New("cost ledger is busy")
	// ErrInvalidPrice is what [Prices.Validate] reports.
	ErrInvalidPrice = errors.New("invalid price")
)

// DamagedError names a daily file that could not be understood. Such a file is
// never written over.
type DamagedError struct {
	File string // name in the storage
	Err  error  // what is wrong with it
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s is damaged and left as it is: %v; repair it or move it away", e.File, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// Is reports whether target is [ErrDamaged].
func (e *DamagedError) Is(target error) bool { return target == ErrDamaged }

// BusyError says that the ledger's lock was held by others for too long. Nothing
// was written; a later write makes up for it.
type BusyError struct {
	Waited time.Duration
	Err    error // usually a [*workspace.HeldError]
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("cost ledger still busy after %s: %v; the next write makes up for this one", e.Waited, e.Err)
}

func (e *BusyError) Unwrap() error { return e.Err }

// Is reports whether target is [ErrBusy].
func (e *BusyError) Is(target error) bool { return target == ErrBusy }
