package feedback

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

var (
	// ErrNotFound is in the error for an id or alias that no question has.
	ErrNotFound = errors.New("no such question")
	// ErrSecretElsewhere is in the error for the answer to a secret question that this
	// inbox has not asked: it could not hand it on. The question stays open.
	ErrSecretElsewhere = errors.New("the answer is secret and must be given in the process that drives the run")
	// ErrSecretGone is in the error for a secret that is not held: it was taken, or given
	// before the process began. Ask again.
	ErrSecretGone = errors.New("the secret is no longer held; ask again")
	// ErrDamaged is what a [*DamageError] matches.
	ErrDamaged = errors.New("file of questions is damaged")
)

// InvalidError says why something cannot be asked or told.
type InvalidError struct {
	Field  string
	Reason string
}

func (e *InvalidError) Error() string { return e.Field + " " + e.Reason }

// AnswerError says why a text is no answer to a question, and what would be.
type AnswerError struct {
	ID      string
	Reason  string
	Choices []string // empty when any text is an answer
}

func (e *AnswerError) Error() string {
	text := fmt.Sprintf("not an answer to %s: %s", e.ID, e.Reason)
	if len(e.Choices) > 0 {
		text += "; answer one of: " + strings.Join(e.Choices, ", ")
	}
	return text
}

// AnsweredError says that somebody has answered before.
type AnsweredError struct {
	ID     string
	By     string // may be empty
	At     time.Time
	Source string // may be empty
}

func (e *AnsweredError) Error() string {
	text := "question " + e.ID + " was answered"
	if e.By != "" {
		text += " by " + e.By
	}
	text += " at " + e.At.Format(time.RFC3339)
	if e.Source != "" {
		text += " (" + e.Source + ")"
	}
	return text + "; the first answer counts"
}

// ExpiredError says that the time to answer is over.
type ExpiredError struct {
	ID     string
	At     time.Time
	Reason string // empty when the deadline passed
}

func (e *ExpiredError) Error() string {
	text := "question " + e.ID + " expired at " + e.At.Format(time.RFC3339)
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// WithdrawnError says that the question is no longer asked.
type WithdrawnError struct {
	ID     string
	At     time.Time
	Reason string
}

func (e *WithdrawnError) Error() string {
	text := "question " + e.ID + " was withdrawn at " + e.At.Format(time.RFC3339)
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// MismatchError says that another question was asked under the same id before.
type MismatchError struct {
	ID    string
	Field string // the first that differs: kind, title, text or options
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("question %s was asked before with another %s; ask a new question under a new key", e.ID, e.Field)
}

// AmbiguousError says that a name fits several questions.
type AmbiguousError struct {
	Name string
	IDs  []string
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%q fits %d questions; use an id: %s", e.Name, len(e.IDs), strings.Join(e.IDs, ", "))
}

// WaitError says that an answer was awaited for as long as [Config.MaxWait] allows. The
// question stays open.
type WaitError struct {
	ID    string
	Limit time.Duration
}

func (e *WaitError) Error() string {
	return fmt.Sprintf("nobody answered %s within %s, the limit of one wait; the question stays open, wait again or leave the run waiting", e.ID, e.Limit)
}

// BusyError says that the list of open questions was locked by others for too long.
type BusyError struct {
	Waited time.Duration
	Err    error // names the holder
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("list of open questions: after %s: %v", e.Waited, e.Err)
}

// Unwrap returns the cause.
func (e *BusyError) Unwrap() error { return e.Err }

// DamageError says which line of a file cannot be trusted.
type DamageError struct {
	File   string
	Line   int // from 1
	Reason string
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%s, line %d: %s; restore the file from a backup, or remove it and resume the run, which asks again", e.File, e.Line, e.Reason)
}

// Is reports whether target is [ErrDamaged].
func (e *DamageError) Is(target error) bool { return target == ErrDamaged }

// VersionError says that a newer library has written a file.
type VersionError struct {
	File      string
	Version   int // of the file
	Supported int // the highest that this library reads
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s has format version %d, this library reads up to %d; use the version of the library that asked, or a newer one", e.File, e.Version, e.Supported)
}

func notFound(name string) error { return fmt.Errorf("%w: %s", ErrNotFound, name) }
