package workflow

import "github.com/treadle-dev/treadle/workspace"

// The codes of diagnostics about variables and their groups.
const (
	codeVariablesJSON         = "variables.json.syntax"
	codeVariablesType         = "variables.json.type"
	codeVariablesKeyUnknown   = "variables.key.unknown"
	codeVariablesKeyDuplicate = "variables.key.duplicate"
	codeVariableName          = "variables.name.invalid"
	codeVariableDuplicate     = "variables.name.duplicate"
	codeVariableCase          = "variables.name.case"
	codeVariableReserved      = "variables.name.reserved"
	codeVariableUnknown       = "variables.unknown"
	codeVariableMissing       = "variables.value.missing"
	codeVariableLiteral       = "variables.literal"
	codeVariableOverride      = "variables.override.unknown"
	codeInputMissing          = "variables.input.missing"
	codeGroupName             = "variables.group.name.missing"
	codeGroupFolder           = "variables.group.name.invalid"
	codeGroupReserved         = "variables.group.name.reserved"
	codeGroupDuplicate        = "variables.group.duplicate"
	codeGroupCollision        = "variables.group.collision"
	codeGroupLegacy           = "variables.group.legacy"
	codeGroupUndeclared       = "variables.group.value.undeclared"
	codeGroupValueMissing     = "variables.group.value.missing"
	codeGroupUnknown          = "variables.group.unknown"
	codeGroupRequired         = "variables.group.required"
)

// variablesCodes says of every code how severe it is, what it means and what to do.
var variablesCodes = []workspace.Diagnostic{
	{Code: codeVariablesJSON, Severity: workspace.SeverityError, Message: "The file is not JSON. Nothing was read from it, and it is not edited.", Hint: "correct the file"},
	{Code: codeVariablesType, Severity: workspace.SeverityError, Message: "A value is of another type than its field. Values of variables are strings.", Hint: "correct the value; put numbers and true or false in quotes"},
	{Code: codeVariablesKeyUnknown, Severity: workspace.SeverityNotice, Message: "A key is not known. It is kept and has no effect.", Hint: "correct its name, or remove it"},
	{Code: codeVariablesKeyDuplicate, Severity: workspace.SeverityNotice, Message: "An object has a key more than once. The last one counts.", Hint: "keep one of them"},
	{Code: codeVariableName, Severity: workspace.SeverityError, Message: "A variable has no name, or one that cannot stand in {{…}}.", Hint: `use letters, digits and "_", not starting with a digit`},
	{Code: codeVariableDuplicate, Severity: workspace.SeverityError, Message: "A variable is declared twice.", Hint: "remove one of them"},
	{Code: codeVariableCase, Severity: workspace.SeverityNotice, Message: "Two variables differ only by case.", Hint: "rename one of them, since they are easily taken for each other"},
	{Code: codeVariableReserved, Severity: workspace.SeverityNotice, Message: "A variable is called GROUP_NAME, as what scripts get the name of the run's group in.", Hint: "choose another name"},
	{Code: codeVariableUnknown, Severity: workspace.SeverityError, Message: "A text of the plan, or the name of a file in a validation_schema, uses a variable that is not declared.", Hint: "declare it in variables/variables.json, or correct the name"},
	{Code: codeVariableMissing, Severity: workspace.SeverityError, Message: "A text of the plan, or the name of a file in a validation_schema, uses a variable that has no value.", Hint: "give one in variables/variables.json or when the run is started"},
	{Code: codeVariableLiteral, Severity: workspace.SeverityNotice, Message: "A variable stands in a pattern, a path or a query of a validation_schema, where no value is put in. It is taken as it stands.", Hint: "write the value itself, or check a file that holds it"},
	{Code: codeVariableOverride, Severity: workspace.SeverityError, Message: "A run was given a value for a variable that is not declared.", Hint: "declare it in variables/variables.json, or correct the name"},
	{Code: codeInputMissing, Severity: workspace.SeverityError, Message: "A text of the plan, or the name of a file in a validation_schema, uses an input that the run was not given.", Hint: "give it when the run is started, such as --var input.question=…"},
	{Code: codeGroupName, Severity: workspace.SeverityError, Message: "A group has no name.", Hint: "give it a name"},
	{Code: codeGroupFolder, Severity: workspace.SeverityError, Message: "No folder can be called after a group.", Hint: "use letters and digits, and at most 100 bytes"},
	{Code: codeGroupReserved, Severity: workspace.SeverityError, Message: "The folder of a group would be one that runs have already.", Hint: "choose another name"},
	{Code: codeGroupDuplicate, Severity: workspace.SeverityError, Message: "Two groups have one name.", Hint: "rename one of them"},
	{Code: codeGroupCollision, Severity: workspace.SeverityError, Message: "Two groups have one folder, since their names differ only by case or punctuation.", Hint: "rename one of them"},
	{Code: codeGroupLegacy, Severity: workspace.SeverityNotice, Message: "A group is named by group_id or display_name, the older form.", Hint: "it is written as name when the file is next saved"},
	{Code: codeGroupUndeclared, Severity: workspace.SeverityError, Message: "A group has a value for a variable that is not declared.", Hint: "declare the variable, or correct its name"},
	{Code: codeGroupValueMissing, Severity: workspace.SeverityNotice, Message: "A group has no value for a variable that has none of its own.", Hint: "give the value in the group, or with the variable"},
	{Code: codeGroupUnknown, Severity: workspace.SeverityError, Message: "A run was started for a group that there is not.", Hint: "choose one of the groups of variables/variables.json"},
	{Code: codeGroupRequired, Severity: workspace.SeverityError, Message: "A workflow with groups was started without one.", Hint: "choose a group"},
}
