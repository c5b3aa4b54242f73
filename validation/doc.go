// Package validation checks what a step has produced against the
// validation_schema of the step: that files exist, and that the values in JSON
// files have the right type, length, range and form. No model takes part; the
// evidence decides.
//
// A [Schema] is the plain data of the plan. [Schema.Compile] finds every fault in
// it at once and gives a [Checker], which may be kept and used any number of
// times, also concurrently. [Checker.Check] looks at the files and gives a
// [Report]; [Report.Feedback] is what a model is told about it.
//
// # Rules
//
// A file or a JSON path whose must_exist is absent must exist: a check that says
// nothing about absence must not pass because of it. With must_exist false the
// other checks apply only where there is something to check.
//
// A path with wildcards is checked at every match. The plain names after its last
// wildcard must be there for every element that the wildcard finds, so
// $.users[*].email fails when one user has no email. A path that must exist and
// matches nothing fails. Where value_type is array and the path ends in a
// wildcard, a slice or a filter, the matches together are the array: its limits
// count them.
//
// JSON null is a value: it exists and has none of the value types.
package validation
