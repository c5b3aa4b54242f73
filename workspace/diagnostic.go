package workspace

import (
	"fmt"
	"strings"
)

// Severity ranks a [Diagnostic].
type Severity string

const (
	// SeverityError stops: the workflow does not run.
	SeverityError Severity = "error"
	// SeverityNotice tells: a legacy form migrated, an unknown key kept.
	SeverityNotice Severity = "notice"
)

// Diagnostic is one finding about a workflow's files.
type Diagnostic struct {
	Code     string   `json:"code"` // stable, such as "plan.step.id.duplicate"
	Severity Severity `json:"severity"`
	File     string   `json:"file"`              // name in the storage
	Pointer  string   `json:"pointer,omitempty"` // RFC 6901 JSON pointer; empty is the whole document
	Line     int      `json:"line,omitempty"`    // of the place in the file, from 1; 0 is not known
	Column   int      `json:"column,omitempty"`  // in bytes, from 1; 0 is not known
	Message  string   `json:"message"`
	Hint     string   `json:"hint,omitempty"` // what to do about it
}

// String is the finding on one line: file:line#pointer: severity: message [code] (hint).
// What is not known is left out.
func (d Diagnostic) String() string {
	var b strings.Builder
	b.WriteString(d.File)
	if d.Line > 0 {
		fmt.Fprintf(&b, ":%d", d.Line)
	}
	fmt.Fprintf(&b, "%s: %s: %s [%s]", pointerSuffix(d.Pointer), d.Severity, d.Message, d.Code)
	if d.Hint != "" {
		fmt.Fprintf(&b, " (%s)", d.Hint)
	}
	return b.String()
}

func pointerSuffix(pointer string) string {
	if pointer == "" {
		return ""
	}
	return "#" + pointer
}

// Diagnostics is a list of findings. As an error it is what a call that was
// refused because of them returns; it then holds at least one of
// [SeverityError].
type Diagnostics []Diagnostic

// HasErrors reports whether any finding stops the workflow.
func (ds Diagnostics) HasErrors() bool {
	for _, d := range ds {
		if d.Severity == SeverityError {
			return true
		}
	}
	return false
}

// Err returns the list as an error when it has errors, else nil.
func (ds Diagnostics) Err() error {
	if !ds.HasErrors() {
		return nil
	}
	return ds
}

func (ds Diagnostics) Error() string {
	lines := make([]string, 0, len(ds))
	for _, d := range ds {
		if d.Severity == SeverityError {
			lines = append(lines, d.String())
		}
	}
	return strings.Join(lines, "\n")
}

// PointerEscape escapes one reference token of a JSON pointer (RFC 6901).
func PointerEscape(token string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(token)
}
