package workflow

import "github.com/treadle-dev/treadle/workspace"

// The codes of diagnostics about soul/soul.md.
const (
	codeSoulMissing    = "soul.missing"
	codeSoulSection    = "soul.section.missing"
	codeSoulEmpty      = "soul.section.empty"
	codeSoulDuplicate  = "soul.section.duplicate"
	codeSoulEncoding   = "soul.encoding"
	codeSoulFence      = "soul.fence.open"
	codeSoulLegacy     = "soul.legacy"
	codeSoulLegacyType = "soul.legacy.type"
)

// soulCodes says of every code how severe it is, what it means and what to do.
var soulCodes = []workspace.Diagnostic{
	{Code: codeSoulMissing, Severity: workspace.SeverityNotice, Message: "The workflow does not say what it is for.", Hint: "write soul/soul.md with the headings ## Objective and ## Success Criteria"},
	{Code: codeSoulSection, Severity: workspace.SeverityNotice, Message: "A section is missing.", Hint: "add the heading, with two #, and what belongs under it"},
	{Code: codeSoulEmpty, Severity: workspace.SeverityNotice, Message: "A section has no text.", Hint: "write it, or remove the heading where the section is optional"},
	{Code: codeSoulDuplicate, Severity: workspace.SeverityNotice, Message: "A section stands more than once. Its texts are read one after the other.", Hint: "put them under one heading"},
	{Code: codeSoulEncoding, Severity: workspace.SeverityNotice, Message: "The file is not UTF-8. What is not is replaced.", Hint: "save it as UTF-8"},
	{Code: codeSoulFence, Severity: workspace.SeverityNotice, Message: "A block of code is not closed, so all that follows is code and no heading.", Hint: "close it with a line like the one that opens it"},
	{Code: codeSoulLegacy, Severity: workspace.SeverityNotice, Message: "What the workflow is for stands in the plan, the older form.", Hint: "move it to soul/soul.md"},
	{Code: codeSoulLegacyType, Severity: workspace.SeverityNotice, Message: "The older form in the plan is neither a text nor a list of texts, and is not read.", Hint: "write it in soul/soul.md"},
}
