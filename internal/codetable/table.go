// Package codetable makes diagnostics out of a table of codes.
package codetable

import "github.com/treadle-dev/treadle/workspace"

// The severities, as tables write them.
const (
	Error  = workspace.SeverityError
	Notice = workspace.SeverityNotice
)

// Table has a row for every code of a package: how severe it is, what it means, and what
// to do about it. File and pointer of a row are empty.
type Table []workspace.Diagnostic

// Finding is a diagnostic with the severity of its code and, where hint is empty, the
// hint of its code. A code without a row is an error.
func (t Table) Finding(code, file, pointer, message, hint string) workspace.Diagnostic {
	d := workspace.Diagnostic{Code: code, Severity: Error}
	for i := range t {
		if t[i].Code == code {
			d = t[i]
			break
		}
	}
	d.File, d.Pointer, d.Message = file, pointer, message
	if hint != "" {
		d.Hint = hint
	}
	return d
}
