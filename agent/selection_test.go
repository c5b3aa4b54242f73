package agent_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
)

type aliasedToolset struct {
	agenttest.Toolset
	aliases []string
}

func (a *aliasedToolset) Aliases() []string { return a.aliases }

func toolsetsNamed(names ...string) []agent.Toolset {
	var all []agent.Toolset
	for _, name := range names {
		all = append(all, &agenttest.Toolset{ID: name})
	}
	return all
}

func namesOf(toolsets []agent.Toolset) []string {
	names := []string{}
	for _, ts := range toolsets {
		names = append(names, ts.Name())
	}
	return names
}

func TestServersAreSelectedByName(t *testing.T) {
	t.Parallel()
	all := toolsetsNamed("Git-Hub", "files", "mail")
	for name, c := range map[string]struct{ servers, want []string }{
		"absent is all":               {nil, []string{"Git-Hub", "files", "mail"}},
		"empty is all":                {[]string{}, []string{"Git-Hub", "files", "mail"}},
		"NO_SERVERS is none":          {[]string{agent.NoServers}, []string{}},
		"and so in any case":          {[]string{"no-servers"}, []string{}},
		"in the host's order":         {[]string{"mail", "files"}, []string{"files", "mail"}},
		"in any case, with - as _":    {[]string{"GIT_hub"}, []string{"Git-Hub"}},
		"twice is once":               {[]string{"mail", "mail"}, []string{"mail"}},
		"surrounding spaces go":       {[]string{" mail "}, []string{"mail"}},
		"a tool's server is not more": {[]string{"mail"}, []string{"mail"}},
	} {
		selected, err := agent.Selection{Servers: c.servers, Tools: []string{"files:read"}}.Toolsets(all)
		require.NoError(t, err, name)
		assert.Equal(t, c.want, namesOf(selected), name)
	}
}

func TestAnUnknownServerIsRefusedAndTheKnownOnesAreNamed(t *testing.T) {
	t.Parallel()
	for _, s := range []agent.Selection{{Servers: []string{"fax"}}, {Tools: []string{"fax:send"}}, {Servers: []string{agent.NoServers, "mail"}}} {
		_, err := s.Toolsets(toolsetsNamed("mail", "files"))
		var unknown *agent.UnknownServerError
		require.ErrorAs(t, err, &unknown)
		assert.Equal(t, []string{"files", "mail"}, unknown.Known)
	}
	_, err := agent.Selection{Servers: []string{agent.NoServers, "mail"}}.Toolsets(toolsetsNamed("mail"))
	require.ErrorContains(t, err, "stands alone")
	_, err = agent.Selection{Servers: []string{"fax"}}.Toolsets(nil)
	require.ErrorContains(t, err, "none is configured")
}

func TestNamingOneToolOfAServerHidesItsOthers(t *testing.T) {
	t.Parallel()
	toolsets := toolsetsNamed("files", "mail")
	files, mail := toolsets[0], toolsets[1]
	read := agent.ToolSpec{Name: "files__read-file", Origin: "read-file"}
	write := agent.ToolSpec{Name: "files__write", Origin: "write"}
	for pattern, want := range map[string][2]bool{
		"files:read_file":        {true, false},
		"FILES:Read-File":        {true, false},
		"files:files__read-file": {true, false},
		"files:*":                {true, true},
		"files":                  {true, true},
		"files:":                 {true, true},
		"files:none":             {false, false},
		"mail:*":                 {true, true},
	} {
		s := agent.Selection{Tools: []string{pattern}}
		assert.Equal(t, want, [2]bool{s.Allows(files, read), s.Allows(files, write)}, pattern)
		assert.True(t, s.Allows(mail, agent.ToolSpec{Name: "send"}), "a server that is not named keeps all: %s", pattern)
	}
	empty := agent.Selection{Tools: []string{}}
	assert.True(t, empty.Allows(files, read))
}

func TestCustomToolsAreThereOnlyWhenNamed(t *testing.T) {
	t.Parallel()
	workspaceTools := &aliasedToolset{agenttest.Toolset{ID: "workspace_advanced"}, []string{"workspace_tools"}}
	people := &agenttest.Toolset{ID: "human_tools"}
	all := []agent.Toolset{workspaceTools, people}
	shell := agent.ToolSpec{Name: "execute_shell_command"}
	patch := agent.ToolSpec{Name: "diff_patch_workspace_file"}
	for name, c := range map[string]struct {
		custom       []string
		categories   []string
		shell, patch bool
	}{
		"absent is none":            {nil, []string{}, false, false},
		"empty is none":             {[]string{}, []string{}, false, false},
		"a whole category":          {[]string{"workspace_advanced:*"}, []string{"workspace_advanced"}, true, true},
		"a category alone":          {[]string{"workspace_advanced"}, []string{"workspace_advanced"}, false, false},
		"one tool":                  {[]string{"workspace_advanced:execute_shell_command"}, []string{"workspace_advanced"}, true, false},
		"by its alias":              {[]string{"workspace_tools:diff-patch-workspace-file"}, []string{"workspace_advanced"}, false, true},
		"another category":          {[]string{"human_tools:*"}, []string{"human_tools"}, false, false},
		"one tool and a whole rest": {[]string{"workspace_tools:none", "workspace_advanced:*"}, []string{"workspace_advanced"}, true, true},
	} {
		s := agent.Selection{Custom: c.custom}
		categories, err := s.Categories(all)
		require.NoError(t, err, name)
		assert.Equal(t, c.categories, namesOf(categories), name)
		assert.Equal(t, c.shell, s.AllowsCustom(workspaceTools, shell), name)
		assert.Equal(t, c.patch, s.AllowsCustom(workspaceTools, patch), name)
	}
	_, err := agent.Selection{Custom: []string{"knitting:*"}}.Categories(all)
	var unknown *agent.UnknownCategoryError
	require.ErrorAs(t, err, &unknown)
	assert.Equal(t, []string{"human_tools", "workspace_advanced"}, unknown.Known)
}
