package agenttest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/treadle-dev/treadle/agent"
)

func (s *toolsetSuite) name(t *testing.T) {
	u := s.start(t)
	first := u.Name()
	checkToolsetName(t, "Name", first)
	u.open(t)
	if again := u.Name(); again != first {
		t.Errorf("Name is %q and then %q", first, again)
	}
	if other := s.New(t).Name(); other != first {
		t.Errorf("Name is %q, and %q in a second toolset", first, other)
	}
}

// checkToolsetName checks a name that selected_servers and selected_tools may use.
func checkToolsetName(t *testing.T, what, name string) {
	t.Helper()
	switch {
	case strings.TrimSpace(name) == "":
		t.Errorf("%s is empty", what)
	case strings.TrimSpace(name) != name:
		t.Errorf("%s is %q; spaces around it cannot be selected", what, name)
	case strings.Contains(name, ":"):
		t.Errorf("%s is %q; in selected_tools a colon ends it", what, name)
	case name == agent.NoServers:
		t.Errorf("%s is %q, which selects no toolset", what, name)
	}
}

// sidesOf is what a toolset says of itself beside its name.
type sidesOf struct {
	Sharing  agent.Sharing
	Optional bool
	Aliases  []string
}

func sidesOfToolset(ts agent.Toolset) sidesOf {
	sides := sidesOf{Sharing: sharing(ts)}
	if optional, ok := ts.(agent.Optional); ok {
		sides.Optional = optional.Optional()
	}
	if aliased, ok := ts.(agent.Aliased); ok {
		sides.Aliases = slices.Clone(aliased.Aliases())
	}
	return sides
}

func (s *toolsetSuite) sides(t *testing.T) {
	u := s.start(t)
	first := sidesOfToolset(u.Toolset)
	switch first.Sharing {
	case agent.SharePerStep, agent.SharePerRun, agent.SharePerGroup:
	default:
		t.Errorf("Sharing is %d, which is none of package agent's", first.Sharing)
	}
	for _, alias := range first.Aliases {
		checkToolsetName(t, "an alias", alias)
	}
	if aliased, ok := u.Toolset.(agent.Aliased); ok {
		mine := aliased.Aliases()
		for i := range mine {
			mine[i] = "changed by the caller"
		}
	}
	u.open(t)
	for what, again := range map[string]sidesOf{
		"after a start":       sidesOfToolset(u.Toolset),
		"in a second toolset": sidesOfToolset(s.New(t)),
	} {
		if a, b := asText(t, first), asText(t, again); a != b {
			t.Errorf("the toolset said %s, and %s %s", a, what, b)
		}
	}
}

var endpointName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func (s *toolsetSuite) toolNames(t *testing.T) {
	u := s.start(t)
	specs := specsOf(s.tools(t, u.open(t)))
	names, origins := make([]string, len(specs)), make([]string, len(specs))
	for i := range specs {
		names[i], origins[i] = specs[i].Name, specs[i].OriginName()
		if !endpointName.MatchString(names[i]) {
			t.Errorf("the name %q: a model endpoint takes 1 to 64 letters, digits, \"_\" and \"-\"", names[i])
		}
		if slices.Contains(names[:i], names[i]) {
			t.Errorf("two tools are called %q", names[i])
		}
		if slices.Contains(origins[:i], origins[i]) {
			t.Errorf("two tools are called %q inside the toolset; selected_tools cannot tell them apart", origins[i])
		}
	}
	if s.Names != nil && !slices.Equal(names, s.Names) {
		t.Errorf("the names are %q, want %q", names, s.Names)
	}
	if s.Origins != nil && !slices.Equal(origins, s.Origins) {
		t.Errorf("the names inside the toolset are %q, want %q", origins, s.Origins)
	}
}

func (s *toolsetSuite) sameList(t *testing.T) {
	u := s.start(t)
	session := u.open(t)
	first := specsOf(s.tools(t, session))
	same := func(where string, session agent.ToolSession) {
		t.Helper()
		if problem := listsDiffer(t, first, specsOf(s.tools(t, session))); problem != "" {
			t.Errorf("%s: %s", where, problem)
		}
	}
	same("the second call of Tools", session)
	same("a second session", u.open(t))
	// So a run is prepared: what its steps will be offered is asked for before there
	// is a step.
	same("a session for a scope of the workspace alone", u.openFor(t.Context(), t, agent.Scope{Workspace: u.scope.Workspace}))
	other := &underTest{toolsetSuite: s, Toolset: s.New(t), scope: u.scope}
	same("a second toolset", other.open(t))
}

// listsDiffer says where two lists of specs differ, or nothing.
func listsDiffer(t *testing.T, a, b []agent.ToolSpec) string {
	t.Helper()
	if len(a) != len(b) {
		return fmt.Sprintf("the list had %d tools and has %d", len(a), len(b))
	}
	for i := range a {
		if before, after := asText(t, a[i]), asText(t, b[i]); before != after {
			return fmt.Sprintf("tool %d differs\nbefore: %s\nnow:    %s", i+1, before, after)
		}
	}
	return ""
}

func (s *toolsetSuite) inputSchemas(t *testing.T) {
	u := s.start(t)
	for _, spec := range specsOf(s.tools(t, u.open(t))) {
		if problem := inputSchemaProblem(spec.InputSchema); problem != "" {
			t.Errorf("the input schema of %s %s\n%s", spec.Name, problem, spec.InputSchema)
		}
	}
}

// inputSchemaProblem says why a schema cannot be offered, or nothing.
func inputSchemaProblem(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	if _, err := agent.ParseSchema(raw); err != nil {
		return fmt.Sprintf("does not compile: %v", err)
	}
	var root map[string]any
	if err := json.Unmarshal(raw, &root); err != nil {
		return fmt.Sprintf("is not an object: %v", err)
	}
	if root["type"] != "object" {
		return fmt.Sprintf(`has the type %v at its root, want "object"`, root["type"])
	}
	return ""
}

func (s *toolsetSuite) specs(t *testing.T) {
	u := s.start(t)
	session := u.open(t)
	tools := s.tools(t, session)
	first := specsOf(tools)
	for _, spec := range first {
		switch spec.Effect {
		case agent.Unsafe, agent.ReadOnly, agent.Idempotent, agent.Reentrant:
		default:
			t.Errorf("the effect of %s is %q, which is none of package agent's", spec.Name, spec.Effect)
		}
	}
	same := func(when string) {
		t.Helper()
		if problem := listsDiffer(t, first, specsOf(tools)); problem != "" {
			t.Errorf("Spec %s: %s", when, problem)
		}
	}
	same("asked for again")
	s.works(t, session, "before Spec is asked for again")
	same("after a call")
	s.mustClose(t, session)
	same("after Close")
}

func (s *toolsetSuite) ownValues(t *testing.T) {
	u := s.start(t)
	session := u.open(t)
	tools := s.tools(t, session)
	kept := slices.Clone(tools)
	before := make([]string, len(tools))
	for i, tool := range tools {
		spec := tool.Spec()
		before[i] = asText(t, spec)
		for j := range spec.InputSchema {
			spec.InputSchema[j] = '1' // a number, so that it is JSON still
		}
		tools[i] = nil
	}
	again := s.tools(t, session)
	if len(again) != len(kept) {
		t.Fatalf("the list had %d tools and has %d", len(kept), len(again))
	}
	for i := range kept {
		for _, tool := range []agent.Tool{kept[i], again[i]} {
			if after := asText(t, tool.Spec()); after != before[i] {
				t.Fatalf("a caller changed a spec that it was given, and so everyone's\nbefore: %s\nnow:    %s", before[i], after)
			}
		}
	}
	s.works(t, session, "after a caller changed the list and the specs")
}
