package workflow

import "github.com/treadle-dev/treadle/workspace"

// The codes of diagnostics about workflow.json.
const (
	codeSettingsJSON           = "settings.json.syntax"
	codeSettingsType           = "settings.json.type"
	codeSettingsBlock          = "settings.block.malformed"
	codeSettingsBlockValue     = "settings.block.value"
	codeSettingsKeyUnknown     = "settings.key.unknown"
	codeSettingsKeyDuplicate   = "settings.key.duplicate"
	codeSettingsKeyLegacy      = "settings.key.legacy"
	codeSettingsValueUnknown   = "settings.value.unknown"
	codeSettingsValueRange     = "settings.value.range"
	codeSettingsSchemaVersion  = "settings.schema_version.unknown"
	codeSettingsModelsLegacy   = "settings.llm_config.legacy"
	codeSettingsSchedule       = "settings.schedule.invalid"
	codeSettingsScheduleTime   = "settings.schedule.time"
	codeSettingsScheduleGroups = "settings.schedule.groups"
)

// settingsCodes says of every code how severe it is, what it means and what to do.
var settingsCodes = []workspace.Diagnostic{
	{Code: codeSettingsJSON, Severity: workspace.SeverityError, Message: "The file is not JSON. Nothing was read from it, and it is not edited.", Hint: "correct the file"},
	{Code: codeSettingsType, Severity: workspace.SeverityError, Message: "A value that runs use is of another type than its field.", Hint: "correct the value, or leave the key out for the default"},
	{Code: codeSettingsBlock, Severity: workspace.SeverityNotice, Message: "A value of an optional block is of a wrong type. The block is ignored and stays in the file.", Hint: "correct the value"},
	{Code: codeSettingsBlockValue, Severity: workspace.SeverityNotice, Message: "A field of an optional block that takes one of a few words has another one.", Hint: "use one of the words that the message names"},
	{Code: codeSettingsKeyUnknown, Severity: workspace.SeverityNotice, Message: "A key is not known. It is kept and has no effect.", Hint: "correct its name, or remove it"},
	{Code: codeSettingsKeyDuplicate, Severity: workspace.SeverityNotice, Message: "An object has a key more than once. The last one counts.", Hint: "keep one of them"},
	{Code: codeSettingsKeyLegacy, Severity: workspace.SeverityNotice, Message: "A setting is in an older form.", Hint: "it is written in its present form when the file is next saved"},
	{Code: codeSettingsValueUnknown, Severity: workspace.SeverityError, Message: "A setting that takes one of a few words has another one.", Hint: "use one of the words that the message names"},
	{Code: codeSettingsValueRange, Severity: workspace.SeverityError, Message: "A number is too small or too large for its field, or a list is too long.", Hint: "leave it out for the default"},
	{Code: codeSettingsSchemaVersion, Severity: workspace.SeverityError, Message: "The file or its llm_config is in a form of a version that is not known.", Hint: "use a library that knows this version"},
	{Code: codeSettingsModelsLegacy, Severity: workspace.SeverityNotice, Message: "The llm_config is of an older version. It is read as far as it is known.", Hint: "name the models in tiered_config and set schema_version to 2"},
	{Code: codeSettingsSchedule, Severity: workspace.SeverityNotice, Message: "A schedule cannot be used as it is. It stays in the file.", Hint: "correct the schedule"},
	{Code: codeSettingsScheduleTime, Severity: workspace.SeverityNotice, Message: "A cron expression has a value that there is not, or means a day that never comes, or the time zone is not known. The schedule does not run.", Hint: "correct the cron expression or the time zone"},
	{Code: codeSettingsScheduleGroups, Severity: workspace.SeverityNotice, Message: "A schedule names no group of the variables, or one that there is not.", Hint: "set group_names to names of groups of variables/variables.json"},
}
