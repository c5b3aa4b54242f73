package main

import "github.com/treadle-dev/treadle/workspace"

// codeEnvironmentModel is the code of the one diagnostic that is about neither files
// nor libraries.
const codeEnvironmentModel = "environment.model"

// codes says of every code how severe it is, what it means and what to do about it.
var codes = []workspace.Diagnostic{
	{Code: codeEnvironmentModel, Severity: workspace.SeverityNotice, Message: "The environment names no model, so a run would be refused here. The workflow is not to blame.", Hint: "set OPENAI_API_KEY, or OPENAI_BASE_URL for another endpoint"},
}
