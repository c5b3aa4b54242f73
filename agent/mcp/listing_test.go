package mcp_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/mcp"
)

func TestAllPagesOfToolsAreRead(t *testing.T) {
	t.Parallel()
	tools, err := open(t, fake(t, "pages=101")).Tools(t.Context())
	require.NoError(t, err)
	require.Len(t, tools, 101)
	for i, tool := range tools {
		assert.Equal(t, fmt.Sprintf("fake__tool-%03d", i), tool.Spec().Name)
	}
}

func TestAListThatNeverEndsIsAnErrorThatNamesTheServer(t *testing.T) {
	t.Parallel()
	for habit, want := range map[string]string{
		"repeat-cursor": "leads back to an earlier page",
		"endless":       "more than 500 pages",
	} {
		_, err := open(t, fake(t, habit)).Tools(t.Context())
		require.ErrorIs(t, err, mcp.ErrListing, habit)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, `"fake"`)
	}
}

func TestToolsAreToldAsTheModelNeedsThem(t *testing.T) {
	t.Parallel()
	session := open(t, fake(t))
	look := find(t, session, "look").Spec()
	assert.Equal(t, agent.ToolSpec{
		Name: "fake__look", Origin: "look", Description: "looks", Effect: agent.ReadOnly,
		InputSchema: []byte(`{"type":"object","properties":{"b":{},"a":{}}}`),
	}, look)
	put := find(t, session, "put").Spec()
	assert.Equal(t, agent.Idempotent, put.Effect)
	assert.Equal(t, "Puts", put.Description)
	assert.JSONEq(t, `{"type":"object","properties":{}}`, string(put.InputSchema))
	assert.Equal(t, agent.Unsafe, find(t, session, "echo").Spec().Effect)
}

func TestNamesAreAcceptableUniqueAndKnownByOrigin(t *testing.T) {
	t.Parallel()
	session := open(t, fake(t))
	acceptable := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	seen := map[string]bool{}
	for _, origin := range []string{"a.b", "a/b", "a_b"} {
		name := find(t, session, origin).Spec().Name
		assert.Regexp(t, acceptable, name)
		assert.True(t, strings.HasPrefix(name, "fake__a_b"), name)
		assert.False(t, seen[name], name)
		seen[name] = true
	}
}

func TestAToolThatCannotBeUsedIsLeftOutAndReported(t *testing.T) {
	t.Parallel()
	session := open(t, fake(t, "odd-schemas"))
	for range 2 { // a second listing reports nothing twice
		tools, err := session.Tools(t.Context())
		require.NoError(t, err)
		var names []string
		for _, tool := range tools {
			spec := tool.Spec()
			names = append(names, spec.Origin)
			assert.JSONEq(t, `{"type":"object","properties":{}}`, string(spec.InputSchema))
		}
		assert.Equal(t, []string{"absent", "null", "php"}, names)
	}
	var problems []string
	for _, p := range session.Problems() {
		problems = append(problems, p.String())
	}
	require.Len(t, problems, 5)
	assert.Contains(t, problems[0], `tool "array": is left out: the input schema is an array, not an object`)
	assert.Contains(t, problems[1], `tool "string": is left out: the input schema is of type "string"`)
	assert.Contains(t, problems[2], "entry 6 of its list is left out")
	assert.Contains(t, problems[3], "it has no name")
	assert.Contains(t, problems[4], `tool "php": is listed more than once`)
}

func TestAServerWithoutToolsHasNone(t *testing.T) {
	t.Parallel()
	_, err := open(t, fake(t, "no-tools")).Tools(t.Context())
	require.ErrorIs(t, err, mcp.ErrListing, "it declared tools")
}

func TestOddHintsPromiseNothingAndCostNothing(t *testing.T) {
	t.Parallel()
	session := open(t, fake(t, "odd-hints"))
	assert.Equal(t, agent.ReadOnly, find(t, session, "both").Spec().Effect, "what only reads destroys nothing")
	for origin, description := range map[string]string{"words": "Words", "none": ""} {
		spec := find(t, session, origin).Spec()
		assert.Equal(t, agent.Unsafe, spec.Effect, origin)
		assert.Equal(t, description, spec.Description)
	}
	assert.Empty(t, session.Problems())
}

func TestOneBadSchemaCostsOneTool(t *testing.T) {
	t.Parallel()
	server := fake(t, "schema")
	server.Env["SCHEMA"] = `{"type":"object","properties":"none"}`
	session := open(t, server)
	tools, err := session.Tools(t.Context())
	require.NoError(t, err)
	require.Len(t, tools, 1)
	require.Len(t, session.Problems(), 1)
	assert.Contains(t, session.Problems()[0].String(), `tool "odd": is left out`)
	assert.Equal(t, `{}`, text(t, session, "echo", nil))

	server.Env["SCHEMA"] = `{"type":"object","properties":{"p":{"$ref":"#/$defs/gone"}}}`
	session = open(t, server)
	assert.JSONEq(t, `{"type":"object","properties":{"p":{}}}`, string(find(t, session, "odd").Spec().InputSchema))
	require.Len(t, session.Problems(), 1)
}

func TestAToolIsCalledByItsOwnNameWhateverTheModelCallsIt(t *testing.T) {
	t.Parallel()
	session := open(t, fake(t, "names"))
	tools, err := session.Tools(t.Context())
	require.NoError(t, err)
	require.Len(t, tools, len(oddNames()))
	acceptable := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	seen := map[string]bool{}
	for i, tool := range tools {
		spec := tool.Spec()
		assert.Regexp(t, acceptable, spec.Name)
		assert.False(t, seen[spec.Name], spec.Name)
		seen[spec.Name] = true
		assert.Equal(t, oddNames()[i], spec.OriginName())
		assert.Equal(t, oddNames()[i], text(t, session, spec.OriginName(), nil), "the wire carries the server's own name")
	}
}

func TestOneNameOnTwoServersAndAtHomeIsThreeTools(t *testing.T) {
	t.Parallel()
	names := map[string]string{"run": "home"} // a tool of the host's own
	for _, server := range []string{"one", "two"} {
		config := fake(t)
		config.Name, config.Env["OWN_NAME"] = server, server
		session := open(t, config)
		tool := find(t, session, "run")
		assert.Empty(t, names[tool.Spec().Name])
		names[tool.Spec().Name] = server
		result, err := call(t.Context(), tool, nil)
		require.NoError(t, err)
		assert.Equal(t, "by "+server, result.Text(), "each reaches its own server")
	}
	assert.Equal(t, map[string]string{"run": "home", "one__run": "one", "two__run": "two"}, names)
}
