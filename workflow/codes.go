package workflow

import (
	"slices"

	"github.com/treadle-dev/treadle/internal/codetable"
	"github.com/treadle-dev/treadle/workspace"
)

// The codes of the diagnostics about plans and about what a plan and a host are to
// each other. Each has its row in the table below, from which the diagnostics take
// their severity and, where they know no better, their hint.
const (
	codePlanTypes         = "plan.types"
	codePlanMissing       = "plan.missing"
	codePlanSyntax        = "plan.json.syntax"
	codePlanType          = "plan.json.type"
	codePlanKeyUnknown    = "plan.key.unknown"
	codePlanKeyDuplicate  = "plan.key.duplicate"
	codePlanKeyLegacy     = "plan.legacy_key"
	codeStepsEmpty        = "plan.steps.empty"
	codeStepTypeMissing   = "plan.step.type.missing"
	codeStepTypeUnknown   = "plan.step.type.unknown"
	codeStepKeyUnknown    = "plan.step.key.unknown"
	codeStepKeyDuplicate  = "plan.step.key.duplicate"
	codeStepLower         = "plan.step.lower"
	codeStepUnreachable   = "plan.step.unreachable"
	codeIDMissing         = "plan.step.id.missing"
	codeIDInvalid         = "plan.step.id.invalid"
	codeIDReserved        = "plan.step.id.reserved"
	codeIDDuplicate       = "plan.step.id.duplicate"
	codeIDCase            = "plan.step.id.case"
	codeNextUnknown       = "plan.next.unknown"
	codeNextOrphan        = "plan.next.orphan"
	codeNextEndless       = "plan.next.endless"
	codeOutputInvalid     = "plan.output.invalid"
	codeOutputTwice       = "plan.output.twice"
	codeOutputShared      = "plan.output.shared"
	codeDependencyInvalid = "plan.dependency.invalid"
	codeDependencyUnknown = "plan.dependency.unknown"
	codeDependencyOrder   = "plan.dependency.order"
	codeDependencyOwn     = "plan.dependency.own"
	codeDependencyPartial = "plan.dependency.partial"
	codeOrphanUnknown     = "plan.orphan.unknown"
	codeOrphanUnshared    = "plan.orphan.unshared"
	codeOrphanSharedWith  = "plan.orphan.shared_with"
	codeOrphanUnused      = "plan.orphan.unused"

	codeEvaluationSyntax = "evaluation.json.syntax"
	codeEvaluationType   = "evaluation.json.type"

	codeConfigStepUnknown = "stepconfig.step.unknown"

	codeFileUnreadable = "file.unreadable"

	codeLearningMetadata = "learning.metadata.invalid"

	codeServerUnknown   = "selection.server.unknown"
	codeCategoryUnknown = "selection.category.unknown"
	codeModelMissing    = "model.missing"
	codeDatabaseMissing = "database.missing"
	codeServerFailed    = "preflight.server.failed"
	codeToolUnknown     = "preflight.tool.unknown"
)

const (
	errorSeverity  = workspace.SeverityError
	noticeSeverity = workspace.SeverityNotice
)

// codes says of every code how severe it is, what it means and what to do about it.
var codes = codetable.Table{
	{Code: codePlanTypes, Severity: errorSeverity, Message: "The step types that the host brings do not fit together.", Hint: "mend the host's StepTypes"},
	{Code: codePlanMissing, Severity: errorSeverity, Message: "The workflow has no plan.", Hint: "write " + workspace.PlanFile + ` with a list "steps"`},
	{Code: codePlanSyntax, Severity: errorSeverity, Message: "The plan is not JSON. Nothing was read from it.", Hint: "correct the file; nothing was read from it"},
	{Code: codePlanType, Severity: errorSeverity, Message: "A value of the plan is of another type than its field.", Hint: "correct the value, or leave the key out for the default"},
	{Code: codePlanKeyUnknown, Severity: noticeSeverity, Message: "The plan has a key that is not known. It has no effect.", Hint: "correct its name, or remove it"},
	{Code: codePlanKeyDuplicate, Severity: noticeSeverity, Message: "The plan has a key more than once. The last one counts.", Hint: "keep one of them"},
	{Code: codePlanKeyLegacy, Severity: noticeSeverity, Message: "A plan of an older form says here what the workflow is for. It has no effect where " + workspace.SoulFile + " says it.", Hint: "move its text to " + workspace.SoulFile},
	{Code: codeStepsEmpty, Severity: errorSeverity, Message: "The plan has no steps.", Hint: "add at least one step"},
	{Code: codeStepTypeMissing, Severity: errorSeverity, Message: "A step does not say its type. Plans of the first generation had none; they are not read.", Hint: "set the type that the step is meant to be"},
	{Code: codeStepTypeUnknown, Severity: errorSeverity, Message: "A step is of a type that neither the library nor the host has.", Hint: "use one of the types that the hint of the finding names"},
	{Code: codeStepKeyUnknown, Severity: noticeSeverity, Message: "A step has a key that its type does not know. It has no effect.", Hint: "correct its name, or remove it"},
	{Code: codeStepKeyDuplicate, Severity: noticeSeverity, Message: "A step has a key more than once. The last one counts.", Hint: "keep one of them"},
	{Code: codeStepLower, Severity: errorSeverity, Message: "The step's type cannot turn this step into control.", Hint: "correct the step as the message says, or the host's step type"},
	{Code: codeStepUnreachable, Severity: noticeSeverity, Message: "No way through the plan leads to a step, so it never runs.", Hint: "let a next_step_id lead there, or move it to orphan_steps"},
	{Code: codeIDMissing, Severity: errorSeverity, Message: "A step has no id, be it in the plan, nested in another step, or in the evaluation plan.", Hint: "give it a short name that never changes"},
	{Code: codeIDInvalid, Severity: errorSeverity, Message: "An id has characters that folders and journal keys cannot have, such as a slash, or is too long.", Hint: `use at most 100 letters, digits, "_", "-" and ".", starting with a letter or digit`},
	{Code: codeIDReserved, Severity: errorSeverity, Message: "An id has a meaning of its own: end, archived or Downloads, however they are capitalised.", Hint: "choose another id"},
	{Code: codeIDDuplicate, Severity: errorSeverity, Message: "Two steps have one id. Ids are unique over steps, orphan_steps, steps nested in others and the evaluation plan, which all keep what they learn under their id.", Hint: "rename one of the two"},
	{Code: codeIDCase, Severity: errorSeverity, Message: "Two ids differ only by case. Folders are named after ids, and some file systems know no case.", Hint: "rename one of the two"},
	{Code: codeNextUnknown, Severity: errorSeverity, Message: "A step goes on to a step that does not exist.", Hint: `name a step of the plan, or "end"`},
	{Code: codeNextOrphan, Severity: errorSeverity, Message: "A step goes on to an orphan step. Those run only where another step refers to them.", Hint: "move the step from orphan_steps to steps, or name another one"},
	{Code: codeNextEndless, Severity: errorSeverity, Message: "A way back has no limit and always comes here again, so the run would never end.", Hint: "remove next_step_id, or name a later step"},
	{Code: codeOutputInvalid, Severity: errorSeverity, Message: "An output is no name of a file in the step's own folder.", Hint: `use a relative path without ".."`},
	{Code: codeOutputTwice, Severity: noticeSeverity, Message: "A step declares an output twice.", Hint: "remove one of the two"},
	{Code: codeOutputShared, Severity: noticeSeverity, Message: "Two steps on one way declare an output of the same name. Each has its own file; who depends on the name gets that of the later step.", Hint: "give the files different names, or depend on {step}/{file}"},
	{Code: codeDependencyInvalid, Severity: errorSeverity, Message: "A dependency is no path in the workspace.", Hint: `use a relative path without ".."`},
	{Code: codeDependencyUnknown, Severity: errorSeverity, Message: "A step depends on a file that no step declares as its output.", Hint: "correct the name, or give the path of a file in the workspace, such as db/ledger.csv"},
	{Code: codeDependencyOrder, Severity: errorSeverity, Message: "A step depends on a file whose producers never run before it, whichever way the run takes.", Hint: "move the producer before this step"},
	{Code: codeDependencyOwn, Severity: errorSeverity, Message: "A step depends on its own output.", Hint: "remove the dependency, or name the step that produces the file first"},
	{Code: codeDependencyPartial, Severity: noticeSeverity, Message: "A step depends on a file that only some of the ways to the step produce. On the others the step fails.", Hint: "let every way produce the file, or let the step do without it"},
	{Code: codeOrphanUnknown, Severity: errorSeverity, Message: "A route refers to an orphan step that does not exist.", Hint: "name a step of orphan_steps"},
	{Code: codeOrphanUnshared, Severity: errorSeverity, Message: "A route refers to an orphan step that is shared with others only.", Hint: "add the step to shared_with.orchestrator_ids of the orphan"},
	{Code: codeOrphanSharedWith, Severity: noticeSeverity, Message: "An orphan step is shared with a step that does not exist.", Hint: "correct the id, or remove it"},
	{Code: codeOrphanUnused, Severity: noticeSeverity, Message: "No step refers to an orphan step, so it runs only when it is asked for by itself.", Hint: "refer to it in a route, or remove it"},

	{Code: codeEvaluationSyntax, Severity: errorSeverity, Message: "The evaluation plan is not JSON.", Hint: "correct the file; nothing was read from it"},
	{Code: codeEvaluationType, Severity: errorSeverity, Message: "The evaluation plan is of another form than an object with a list of steps.", Hint: `write {"steps": [...]}`},

	{Code: codeConfigStepUnknown, Severity: noticeSeverity, Message: "A configuration belongs to no step of the plan and has no effect.", Hint: "correct the id, or remove the entry"},

	{Code: codeFileUnreadable, Severity: errorSeverity, Message: "Where a file of the workflow belongs there is something else, such as a folder or a link out of the workspace, or a file that may not be read.", Hint: "put the file itself there, with the right to read it"},

	{Code: codeLearningMetadata, Severity: errorSeverity, Message: "The metadata of what a step has learned cannot be read. A step that lets its successes decide about model validation fails.", Hint: "remove the file, or restore it"},

	{Code: codeServerUnknown, Severity: errorSeverity, Message: "A server is selected that the host does not have.", Hint: "configure the server, or correct selected_servers and selected_tools"},
	{Code: codeCategoryUnknown, Severity: errorSeverity, Message: "A category of custom tools is enabled that the host does not have.", Hint: "give the host the category, or correct enabled_custom_tools"},
	{Code: codeModelMissing, Severity: errorSeverity, Message: "A step calls a model and has none that the host can serve.", Hint: "name a model in the step's configuration, the tiers of " + workspace.SettingsFile + " or the host's configuration"},
	{Code: codeDatabaseMissing, Severity: errorSeverity, Message: "A validation asks the database, and the host has given none.", Hint: "give the host one (Config.Database), or remove the db checks"},
	{Code: codeServerFailed, Severity: errorSeverity, Message: "A selected server does not start or does not list its tools. Of an optional server it is a notice.", Hint: "mend the server, or do not select it"},
	{Code: codeToolUnknown, Severity: errorSeverity, Message: "A tool is selected by name that its server does not offer.", Hint: "use one of the tools that the hint of the finding names"},
}

// Codes is one diagnostic for every code that the package reports, for reference pages:
// Message says what the code means and Hint what to do. File and Pointer are empty. The
// messages of real diagnostics say more, and sometimes their hints do.
func Codes() []workspace.Diagnostic {
	return slices.Concat(codes, settingsCodes, variablesCodes, soulCodes, changelogCodes)
}

// finding is a diagnostic of the table of the package.
func finding(code, file, pointer, message, hint string) workspace.Diagnostic {
	return codes.Finding(code, file, pointer, message, hint)
}
