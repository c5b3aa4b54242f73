package validation

import (
	"slices"

	"github.com/treadle-dev/treadle/internal/codetable"
	"github.com/treadle-dev/treadle/workspace"
)

// The codes of all diagnostics of the package. Each has its row in the table below,
// from which the diagnostics take their severity and, where they know no better, their
// hint.
const (
	codeFieldType          = "validation.field.type"
	codeKeyUnknown         = "validation.key.unknown"
	codeKeyDuplicate       = "validation.key.duplicate"
	codeSchemaEmpty        = "validation.schema.empty"
	codeFilesLimit         = "validation.files.limit"
	codeChecksLimit        = "validation.checks.limit"
	codeCheckVacuous       = "validation.check.vacuous"
	codeFileNameMissing    = "validation.file_name.missing"
	codeFileNameAbsolute   = "validation.file_name.absolute"
	codeFileNameOutside    = "validation.file_name.outside"
	codeFileNameInvalid    = "validation.file_name.invalid"
	codeFileNameLiteral    = "validation.file_name.literal"
	codeLimitNegative      = "validation.limit.negative"
	codeLimitContradiction = "validation.limit.contradiction"
	codeLimitType          = "validation.limit.type"
	codeValueTypeUnknown   = "validation.value_type.unknown"
	codePathMissing        = "validation.path.missing"
	codePathInvalid        = "validation.path.invalid"
	codePatternInvalid     = "validation.pattern.invalid"
	codePatternRepaired    = "validation.pattern.repaired"
	codeConsistencyUnknown = "validation.consistency.unknown"
	codeDBLimit            = "validation.db.limit"
	codeDBNameDuplicate    = "validation.db.name.duplicate"
	codeDBPath             = "validation.db.path"
	codeDBRows             = "validation.db.rows"
	codeDBSQLMissing       = "validation.db.sql.missing"
	codeDBSQLSeveral       = "validation.db.sql.several"
	codeDBSQLNotQuery      = "validation.db.sql.not_query"
	codeDBSQLInvalid       = "validation.db.sql.invalid"
)

const (
	errorSeverity  = workspace.SeverityError
	noticeSeverity = workspace.SeverityNotice
)

// codes says of every code how severe it is, what it means and what to do about it.
var codes = codetable.Table{
	{Code: codeFieldType, Severity: errorSeverity, Message: "A value is of another type than its field.", Hint: "correct the value, or leave it out"},
	{Code: codeKeyUnknown, Severity: noticeSeverity, Message: "A key is not known. It is kept and checks nothing.", Hint: "correct its name, or remove it"},
	{Code: codeKeyDuplicate, Severity: noticeSeverity, Message: "An object has a key more than once. The last one counts.", Hint: "keep one of them"},
	{Code: codeSchemaEmpty, Severity: noticeSeverity, Message: "The schema checks nothing.", Hint: `list the files that the step must produce, or say "none" when there is nothing to check`},
	{Code: codeFilesLimit, Severity: errorSeverity, Message: "The schema has too many files.", Hint: "split the step"},
	{Code: codeChecksLimit, Severity: errorSeverity, Message: "A file or a query has too many checks.", Hint: "drop checks, or split the step"},
	{Code: codeCheckVacuous, Severity: noticeSeverity, Message: "A check can never fail.", Hint: "ask for something, or drop the check"},
	{Code: codeFileNameMissing, Severity: errorSeverity, Message: "A file has no name.", Hint: "name a file, relative to the folder of the step"},
	{Code: codeFileNameAbsolute, Severity: errorSeverity, Message: "The name of a file is absolute.", Hint: "name a file, relative to the folder of the step"},
	{Code: codeFileNameOutside, Severity: errorSeverity, Message: "The name of a file leads out of the folder that it is relative to.", Hint: "write a path without .."},
	{Code: codeFileNameInvalid, Severity: errorSeverity, Message: "The name is no name of a file.", Hint: "name a file, relative to the folder of the step, with / between folders"},
	{Code: codeFileNameLiteral, Severity: noticeSeverity, Message: "The name of a file has characters that look like a pattern. It is taken as it stands.", Hint: "name the file itself"},
	{Code: codeLimitNegative, Severity: errorSeverity, Message: "A limit is below zero.", Hint: "write 0 or more, or leave it out"},
	{Code: codeLimitContradiction, Severity: errorSeverity, Message: "Limits contradict each other, so that nothing could pass.", Hint: "correct one of the two"},
	{Code: codeLimitType, Severity: errorSeverity, Message: "A limit does not apply to values of the type that the check asks for.", Hint: "correct value_type, or drop the limit"},
	{Code: codeValueTypeUnknown, Severity: errorSeverity, Message: "The type that a value should have is none of JSON.", Hint: "use string, number, boolean, array or object"},
	{Code: codePathMissing, Severity: errorSeverity, Message: "A check has no path.", Hint: "give a JSONPath such as $.status; $ is the whole document"},
	{Code: codePathInvalid, Severity: errorSeverity, Message: "A path is no JSONPath (RFC 9535), or one that could take very long.", Hint: "correct the path; one starts with $"},
	{Code: codePatternInvalid, Severity: errorSeverity, Message: "A pattern is no regular expression of Go, or one that is too large.", Hint: "write a regular expression of RE2, which has no look-around"},
	{Code: codePatternRepaired, Severity: noticeSeverity, Message: "A pattern is escaped twice, as texts of models often are. It is read as it is meant.", Hint: "in JSON a regular expression's backslash is written as two, not four"},
	{Code: codeConsistencyUnknown, Severity: errorSeverity, Message: "A comparison is of a type that is not known.", Hint: "use equals, greater_than, less_than, array_length or in_array"},
	{Code: codeDBLimit, Severity: errorSeverity, Message: "The schema has too many database checks.", Hint: "drop checks, or split the step"},
	{Code: codeDBNameDuplicate, Severity: noticeSeverity, Message: "Two database checks have one name, and reports do not tell them apart.", Hint: "name each for what it asks"},
	{Code: codeDBPath, Severity: errorSeverity, Message: "A path of a database check looks for a list. It looks at one row.", Hint: "begin with the column, such as $.total"},
	{Code: codeDBRows, Severity: errorSeverity, Message: "A database check asks for more rows than are counted.", Hint: "ask for fewer rows"},
	{Code: codeDBSQLMissing, Severity: errorSeverity, Message: "A database check has no query.", Hint: "give a SELECT, such as SELECT id FROM orders"},
	{Code: codeDBSQLSeveral, Severity: errorSeverity, Message: "A database check has several statements.", Hint: "make a check of each"},
	{Code: codeDBSQLNotQuery, Severity: errorSeverity, Message: "The statement of a database check may change the database.", Hint: "a check only reads: begin with SELECT, WITH or VALUES"},
	{Code: codeDBSQLInvalid, Severity: errorSeverity, Message: "The query of a database check is cut short.", Hint: "write one SELECT, with its quotes closed"},
}

// Codes is one diagnostic for every code that the package reports, for reference pages:
// Message says what the code means and Hint what to do. File and Pointer are empty. The
// messages of real diagnostics say more, and sometimes their hints do.
func Codes() []workspace.Diagnostic { return slices.Clone(codes) }
