// Package validation checks what a step has produced against the
// validation_schema of the step: that files exist, that the values in JSON files have
// the right type, length, range and form, and that queries of the workflow's database
// give the right rows. No model takes part; the evidence decides.
//
// A [Schema] is the plain data of the plan. [Schema.Compile] finds every fault in
// it at once and gives a [Checker], which may be kept and used any number of
// times, also concurrently. [Checker.Check] looks at the files and the database and
// gives a [Report]; [Report.Feedback] is what a model is told about it. The database
// comes through the port [Database].
//
// A step without a schema is not checked. Whether that was meant is said by the schema
// "none", see [None].
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
// JSON null is a value: it exists and has none of the value types. Numbers are
// compared as they are written, without rounding. Text is compared byte by byte.
//
// A file whose name ends in .jsonl or .ndjson is the array of the values on its lines,
// blank ones left out; an empty one is the empty array. A JSON text that its readers
// could understand differently does not count as JSON: one with a byte order mark, one
// that is not UTF-8, and one that gives a key twice in an object.
//
// A query of the database must give a row unless its bounds say otherwise, and its
// checks look at the first row. A query that cannot be run fails.
//
// What is checked should hold still: a file of the step that changes during the checks
// fails. All checks of a step together are stopped after [MaxDuration].
package validation
