package workspace

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// ErrGuard is what a [*GuardError] matches.
var ErrGuard = errors.New("outside what the step may touch")

// Guard says what a step may touch, as names in the workspace: files, and folders
// with all that lies in them. The most specific name decides. The zero value
// allows nothing. A Guard is read only once it is in use.
type Guard struct {
	// Write may be read and written.
	Write []string `json:"write,omitempty"`
	// Read may be read only, also where it lies inside a name in Write.
	Read []string `json:"read,omitempty"`
}

// Access is what a [Guard] allows.
type Access int

const (
	// NoAccess allows nothing.
	NoAccess Access = iota
	// ReadAccess allows reading.
	ReadAccess
	// WriteAccess allows reading and writing.
	WriteAccess
)

// Access returns what is allowed for a name. It looks at the name alone; use
// [Guard.Open] to touch what lies behind it, which symbolic links may change.
func (g *Guard) Access(name string) Access {
	_, access := g.Covering(name)
	return access
}

// Covering returns the most specific name of the guard that a name lies in, and
// what it allows. Where a name is in both lists, Read wins. A name that no storage
// takes, such as one that is absolute, empty or leads above the workspace, is
// covered by nothing; as an entry of the guard it covers nothing.
func (g *Guard) Covering(name string) (covering string, access Access) {
	name, ok := cleanName(name)
	if !ok {
		return "", NoAccess
	}
	look := func(allowed []string, with Access) {
		for _, entry := range allowed {
			c, ok := cleanName(entry)
			if ok && isWithin(name, c) && moreSpecific(c, with, covering, access) {
				covering, access = c, with
			}
		}
	}
	look(g.Write, WriteAccess)
	look(g.Read, ReadAccess)
	return covering, access
}

// moreSpecific reports whether an entry decides over the one found so far.
func moreSpecific(entry string, with Access, found string, access Access) bool {
	switch {
	case access == NoAccess, found == "." && entry != ".":
		return true
	case entry == found:
		return with < access
	}
	return entry != "." && len(entry) > len(found)
}

// cleanName gives a name in the form in which the storage knows it, and false for
// what is no name: an empty entry must not grant the root.
func cleanName(name string) (string, bool) {
	if name == "" {
		return "", false
	}
	name = path.Clean(name)
	return name, checkName("guard", name) == nil
}

// CheckRead returns nil or a [*GuardError].
func (g *Guard) CheckRead(name string) error { return g.check(name, ReadAccess) }

// CheckWrite returns nil or a [*GuardError].
func (g *Guard) CheckWrite(name string) error { return g.check(name, WriteAccess) }

func (g *Guard) check(name string, wanted Access) error {
	if g.Access(name) >= wanted {
		return nil
	}
	denied := &GuardError{Name: name, Write: wanted == WriteAccess, Allowed: slices.Clone(g.Write)}
	if !denied.Write {
		denied.Allowed = append(denied.Allowed, g.Read...)
	}
	return denied
}

// isWithin reports whether a name is a folder's own or lies in it.
func isWithin(name, folder string) bool { return folder == "." || isAtOrBelow(name, folder) }

// GuardError says that a step may not touch a name, and which it may.
type GuardError struct {
	Name    string
	Write   bool     // writing was asked for, not reading
	Allowed []string // what may be written, or read
}

func (e *GuardError) Error() string {
	verb := "read"
	if e.Write {
		verb = "write"
	}
	if len(e.Allowed) == 0 {
		return fmt.Sprintf("this step may not %s %s, nor anything else", verb, e.Name)
	}
	return fmt.Sprintf("this step may not %s %s; it may %s: %s", verb, e.Name, verb, strings.Join(e.Allowed, ", "))
}

// Is reports whether target is [ErrGuard].
func (e *GuardError) Is(target error) bool { return target == ErrGuard }
