package mcp

import (
	"slices"

	"github.com/treadle-dev/treadle/workspace"
)

// The codes of all diagnostics of the package. Each has its row in the table below,
// from which the diagnostics take their severity and, where they know no better, their
// hint.
const (
	codeConfigJSON      = "mcp.config.json"
	codeConfigType      = "mcp.config.type"
	codeConfigServers   = "mcp.config.servers"
	codeConfigName      = "mcp.config.name"
	codeConfigDuplicate = "mcp.config.duplicate"
	codeConfigKind      = "mcp.config.kind"
	codeConfigCommand   = "mcp.config.command"
	codeConfigURL       = "mcp.config.url"
	codeConfigHeader    = "mcp.config.header"
	codeConfigVariable  = "mcp.config.variable"
	codeConfigSharing   = "mcp.config.sharing"
	codeConfigDuration  = "mcp.config.duration"
)

// codes says of every code how severe it is, what it means and what to do about it.
var codes = []workspace.Diagnostic{
	{Code: codeConfigJSON, Severity: workspace.SeverityError, Message: "The file is not JSON. Nothing was read from it.", Hint: "the file must be plain JSON, without comments or trailing commas"},
	{Code: codeConfigType, Severity: workspace.SeverityError, Message: "A value is of another type than its field.", Hint: "correct the value, or leave the key out"},
	{Code: codeConfigServers, Severity: workspace.SeverityError, Message: "The file has no mcpServers.", Hint: `write {"mcpServers": {"name": {"command": "…"}}}`},
	{Code: codeConfigName, Severity: workspace.SeverityError, Message: "The name of a server is empty.", Hint: "give the server a name"},
	{Code: codeConfigDuplicate, Severity: workspace.SeverityError, Message: "Two servers have one name.", Hint: "rename one of the two"},
	{Code: codeConfigKind, Severity: workspace.SeverityError, Message: "It is not clear how a server is reached: its type is not known, or it has both a command and a url.", Hint: `use "stdio" with a command, or "http" or "sse" with a url`},
	{Code: codeConfigCommand, Severity: workspace.SeverityError, Message: "A server has no command.", Hint: "name the program that serves it"},
	{Code: codeConfigURL, Severity: workspace.SeverityError, Message: "A server's url is not one that can be reached over HTTP.", Hint: "write an absolute http:// or https:// URL"},
	{Code: codeConfigHeader, Severity: workspace.SeverityError, Message: "A header cannot be sent, or is one that the client sets itself.", Hint: "correct the header, or leave it out"},
	{Code: codeConfigVariable, Severity: workspace.SeverityError, Message: "The file takes a value from an environment variable that is not set, or names one in a wrong form. When only the files are looked at, a variable that is not set is a notice.", Hint: "set the variable, or write ${NAME:-default}"},
	{Code: codeConfigSharing, Severity: workspace.SeverityError, Message: "It is not known what shares a session of the server.", Hint: `use "run", "group" or "step"`},
	{Code: codeConfigDuration, Severity: workspace.SeverityError, Message: "A limit is not a duration above zero.", Hint: `write a number with its unit, such as "30s" or "2m30s"`},
}

// Codes is one diagnostic for every code that the package reports, for reference pages:
// Message says what the code means and Hint what to do. File and Pointer are empty. The
// messages of real diagnostics say more, and sometimes their hints do.
func Codes() []workspace.Diagnostic { return slices.Clone(codes) }

// row is the row of a code.
func row(code string) workspace.Diagnostic {
	for i := range codes {
		if codes[i].Code == code {
			return codes[i]
		}
	}
	return workspace.Diagnostic{Code: code, Severity: workspace.SeverityError}
}
