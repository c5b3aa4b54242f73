package stepconfig

import (
	"slices"

	"github.com/treadle-dev/treadle/internal/codetable"
	"github.com/treadle-dev/treadle/workspace"
)

// The codes of all diagnostics of the package. Each has its row in the table below,
// from which the diagnostics take their severity and, where they know no better, their
// hint.
const (
	codeJSONInvalid         = "stepconfig.json.invalid"
	codeFormatInvalid       = "stepconfig.format.invalid"
	codeFormatLegacy        = "stepconfig.format.legacy"
	codeStepsMissing        = "stepconfig.steps.missing"
	codeIDMissing           = "stepconfig.id.missing"
	codeIDDuplicate         = "stepconfig.id.duplicate"
	codeFieldType           = "stepconfig.field.type"
	codeKeyUnknown          = "stepconfig.key.unknown"
	codeKeyRetired          = "stepconfig.key.retired"
	codeKeyDuplicate        = "stepconfig.key.duplicate"
	codeValueUnknown        = "stepconfig.value.unknown"
	codeValueRange          = "stepconfig.value.range"
	codePrerequisiteStep    = "stepconfig.prerequisite.step.missing"
	codeCustomToolsLegacy   = "stepconfig.custom_tools.legacy"
	codeCustomToolFormat    = "stepconfig.custom_tool.format"
	codeLearningsLegacy     = "stepconfig.learnings_access.legacy"
	codeExecutionModeLegacy = "stepconfig.execution_mode.legacy"
	codeLearningObjective   = "stepconfig.learning_objective.missing"
	codeContribution        = "stepconfig.knowledgebase_contribution.missing"
	codeReadPathOutside     = "stepconfig.read_path.outside"
	codeReadPathWide        = "stepconfig.read_path.wide"
	codeValidationUnused    = "stepconfig.model_validation.unused"
)

const (
	errorSeverity  = workspace.SeverityError
	noticeSeverity = workspace.SeverityNotice
)

// codes says of every code how severe it is, what it means and what to do about it.
var codes = codetable.Table{
	{Code: codeJSONInvalid, Severity: errorSeverity, Message: "The file is not JSON. Nothing was read from it, and it is not edited.", Hint: "correct the file; nothing was read from it"},
	{Code: codeFormatInvalid, Severity: errorSeverity, Message: "The file is JSON of another form than an object with a list of steps.", Hint: `write {"steps": [...]}`},
	{Code: codeFormatLegacy, Severity: noticeSeverity, Message: "The file is a bare list of steps, the legacy form.", Hint: `it is written as {"steps": [...]} when it is next saved`},
	{Code: codeStepsMissing, Severity: errorSeverity, Message: "The file is an object without a list of steps.", Hint: `write {"steps": []} for no configuration`},
	{Code: codeIDMissing, Severity: errorSeverity, Message: "An entry has no id, or an empty one, so it belongs to no step.", Hint: "give the id of a step of the plan"},
	{Code: codeIDDuplicate, Severity: noticeSeverity, Message: "Several entries have one id. The last one counts, and the others go when the file is next saved.", Hint: "merge the entries into one"},
	{Code: codeFieldType, Severity: errorSeverity, Message: "A value is of another type than its field.", Hint: "correct the value, or leave the key out for the default"},
	{Code: codeKeyUnknown, Severity: noticeSeverity, Message: "A key is not known. It is kept and has no effect.", Hint: "correct its name, or remove it"},
	{Code: codeKeyRetired, Severity: noticeSeverity, Message: "A key of an older format no longer does anything. It is kept.", Hint: "remove it"},
	{Code: codeKeyDuplicate, Severity: noticeSeverity, Message: "An object has a key more than once. The last one counts.", Hint: "keep one of them"},
	{Code: codeValueUnknown, Severity: errorSeverity, Message: "A field that takes one of a few words has another one.", Hint: "use one of the words that the message names"},
	{Code: codeValueRange, Severity: errorSeverity, Message: "A number is too small for its field.", Hint: "leave it out for the default"},
	{Code: codePrerequisiteStep, Severity: errorSeverity, Message: "A prerequisite rule does not say which step to go back to.", Hint: "set depends_on_step to the id of an earlier step"},
	{Code: codeCustomToolsLegacy, Severity: noticeSeverity, Message: "Custom tools are given as categories, the legacy form.", Hint: "they are written in the new form, as category:*, when the step is next saved"},
	{Code: codeCustomToolFormat, Severity: noticeSeverity, Message: "The name of a custom tool is without its category and enables nothing.", Hint: "write category:tool or category:*"},
	{Code: codeLearningsLegacy, Severity: noticeSeverity, Message: "A learning objective stands without learnings_access, the legacy form. It is read as read-write.", Hint: "set learnings_access"},
	{Code: codeExecutionModeLegacy, Severity: noticeSeverity, Message: "The execution mode has its legacy name.", Hint: "it is written under its present name when the step is next saved"},
	{Code: codeLearningObjective, Severity: errorSeverity, Message: "A step may write learnings and does not say what to learn.", Hint: "say what the step should record, or set learnings_access to read"},
	{Code: codeContribution, Severity: errorSeverity, Message: "A step may write to the knowledge base and does not say what it contributes.", Hint: "say what the step contributes, or set knowledgebase_access to read"},
	{Code: codeReadPathWide, Severity: errorSeverity, Message: "A path that a step may read besides its own is the whole workspace, all runs, or the file of servers.", Hint: "name the folders and files that the step needs"},
	{Code: codeReadPathOutside, Severity: errorSeverity, Message: "A path that a step may read besides its own leads out of the workspace.", Hint: "write a relative path without .."},
	{Code: codeValidationUnused, Severity: noticeSeverity, Message: "A setting of the model that judges outputs has no effect, since the step is not judged. It is judged where disable_validation is false and llm_validation_mode is auto or always.", Hint: "set disable_validation to false and llm_validation_mode to auto or always, or remove the setting"},
}

// Codes is one diagnostic for every code that the package reports, for reference pages:
// Message says what the code means and Hint what to do. File and Pointer are empty. The
// messages of real diagnostics say more, and sometimes their hints do.
func Codes() []workspace.Diagnostic { return slices.Clone(codes) }
