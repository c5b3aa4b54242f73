package workflow_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
	"github.com/treadle-dev/treadle/workspace/workspacetest"
)

// treeOf is a JSON text as plain values, with numbers as they are spelled.
func treeOf(t require.TestingT, text string) any {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var value any
	require.NoError(t, dec.Decode(&value))
	return value
}

// replay makes the changes of a changelog, the latest first, to a plan as another
// program would do it that has nothing but the entries.
func replay(t require.TestingT, plan string, entries []workflow.ChangelogEntry) any {
	root := treeOf(t, plan).(map[string]any)
	for _, e := range slices.Backward(entries) {
		replayEntry(t, root, &e)
	}
	return root
}

func replayEntry(t require.TestingT, root map[string]any, e *workflow.ChangelogEntry) {
	steps := map[string]map[string]any{}
	order := map[string][]string{}
	for _, key := range []string{"steps", "orphan_steps"} {
		list, _ := root[key].([]any)
		for _, step := range list {
			object, ok := step.(map[string]any)
			require.True(t, ok)
			id, _ := object["id"].(string)
			steps[id] = object
			order[key] = append(order[key], id)
		}
	}
	for _, step := range e.DeletedSteps {
		delete(steps, treeOf(t, string(step)).(map[string]any)["id"].(string))
	}
	renamed := map[string]string{}
	for _, c := range e.Changes {
		if c.File == "" && c.Field == "id" {
			renamed[treeOf(t, string(c.Old)).(string)] = c.Step
		}
	}
	now := map[string]map[string]any{}
	for id, step := range steps {
		if to, ok := renamed[id]; ok {
			id = to
		}
		now[id] = step
	}
	for _, step := range e.AddedSteps {
		object := treeOf(t, string(step)).(map[string]any)
		now[object["id"].(string)] = object
	}
	for key, ids := range order {
		for i, id := range ids {
			if to, ok := renamed[id]; ok {
				ids[i] = to
			}
		}
		order[key] = ids
	}
	for _, c := range e.Changes {
		switch {
		case c.File != "":
		case c.Step == "" && (c.Field == "steps" || c.Field == "orphan_steps"):
			delete(order, c.Field)
			delete(root, c.Field)
			if c.New != nil {
				order[c.Field] = []string{}
				for _, id := range treeOf(t, string(c.New)).([]any) {
					order[c.Field] = append(order[c.Field], id.(string))
				}
			}
		case c.Step == "":
			assign(t, root, c)
		default:
			require.Contains(t, now, c.Step)
			assign(t, now[c.Step], c)
		}
	}
	for key, ids := range order {
		list := []any{}
		for _, id := range ids {
			require.Contains(t, now, id)
			list = append(list, now[id])
		}
		root[key] = list
	}
}

// assign makes one change.
func assign(t require.TestingT, object map[string]any, c workflow.PlanChange) {
	path := strings.Split(strings.TrimPrefix(c.Field, "/"), "/")
	for i := range path {
		path[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(path[i])
	}
	for _, key := range path[:len(path)-1] {
		object = object[key].(map[string]any)
	}
	last := path[len(path)-1]
	delete(object, last)
	if c.New != nil {
		object[last] = treeOf(t, string(c.New))
	}
}

// plans makes plans with what stands in real ones, mistakes and unknown keys included.
type plans struct{ *rapid.T }

func (g plans) pick(what string, from ...string) string {
	return rapid.SampledFrom(from).Draw(g.T, what)
}

func (g plans) rarely() bool { return rapid.IntRange(0, 7).Draw(g.T, "rarely") == 0 }

func (g plans) space() string { return g.pick("space", "", "", " ", "\n    ", "\t") }

func (g plans) value() string {
	return g.pick("value", `1.50`, `1E2`, `null`, `{}`, `[]`, `"caf\u00e9"`, `"é <&>"`, `[1,{"a/b":2.0}]`, `{"":{"~":1},"a/b":"x"}`, `{"a":1,"a":2}`)
}

func (g plans) step(id string) string {
	members := []string{`"id":` + g.space() + strconv.Quote(id), `"type":"` + g.pick("type", "regular", "regular", "regular", "regular", "regular", "regular", "regular", "regular", "crew") + `"`}
	for _, key := range []string{"x", "x-new", "", "a/b~c", "title", "description"} {
		if g.rarely() {
			value := g.value()
			if key == "title" || key == "description" {
				value = g.pick("text", `"t"`, `"{{NOBODY}}"`, `""`)
			}
			members = append(members, strconv.Quote(key)+":"+g.space()+value)
		}
	}
	if g.rarely() {
		members = append(members, `"next_step_id":"`+g.pick("next", "end", "a", "b", "c", "d", "")+`"`)
	}
	if g.rarely() {
		members = append(members, `"context_output":"`+g.pick("output", "x.json", "y.json", "../z")+`"`)
	}
	if g.rarely() {
		members = append(members, `"context_dependencies":["`+g.pick("dependency", "x.json", "a/x.json", "b/q", "db/rows")+`"]`)
	}
	if g.rarely() {
		members = append(members, `"predefined_routes":[{"route_id":"r","sub_agent_step":{"id":"n-`+id+`","description":"d"}},{"orphan_step_ref":"`+g.pick("orphan", "a", "b", "e")+`"}]`)
	}
	return g.join("{", rapid.Permutation(members).Draw(g.T, "order"), "}")
}

func (g plans) join(open string, parts []string, end string) string {
	var out strings.Builder
	out.WriteString(open)
	for i, part := range parts {
		if i > 0 {
			out.WriteString(",")
		}
		out.WriteString(g.space() + part + g.space())
	}
	return out.String() + end
}

func (g plans) draw() string {
	ids := rapid.Permutation([]string{"a", "b", "c", "d", "e", "f"}).Draw(g.T, "ids")
	cut := rapid.IntRange(1, 5).Draw(g.T, "cut")
	var lists [2][]string
	for i, id := range ids {
		if i < cut {
			lists[0] = append(lists[0], g.step(id))
		} else if i%2 == 0 {
			lists[1] = append(lists[1], g.step(id))
		}
	}
	members := []string{`"steps":` + g.join("[", lists[0], "]")}
	if len(lists[1]) > 0 || g.rarely() {
		members = append(members, `"orphan_steps":`+g.space()+g.join("[", lists[1], "]"))
	}
	for _, key := range []string{"objective", "x-root", ""} {
		if g.rarely() {
			members = append(members, strconv.Quote(key)+":"+g.value())
		}
	}
	return g.space() + g.join("{", rapid.Permutation(members).Draw(g.T, "members"), "}") + g.space()
}

func (g plans) id() string { return g.pick("id", "a", "b", "c", "d", "e", "f", "g", "h", "n-a") }

func (g plans) place() workflow.Place {
	switch rapid.IntRange(0, 3).Draw(g.T, "place") {
	case 0:
		return workflow.Place{First: true}
	case 1:
		return workflow.Place{After: g.id()}
	case 2:
		return workflow.Place{Before: g.id()}
	}
	return workflow.Place{}
}

// random makes one edit of any kind.
func (g plans) random(e *workflow.PlanEditor) error {
	switch rapid.IntRange(0, 11).Draw(g.T, "kind") {
	case 0:
		return e.AddStep(json.RawMessage(g.step(g.id())), g.place())
	case 1:
		return e.AddOrphan(json.RawMessage(g.step(g.id())))
	case 2, 3:
		return e.Set(g.id(), g.pick("pointer", "/x", "/x-new/deep", "/a~1b~0c", "/", "/title", "/context_dependencies/-", "/context_dependencies/0", "/predefined_routes/0/condition"), json.RawMessage(g.value()))
	case 4:
		return e.Unset(g.id(), g.pick("pointer", "/x", "/", "/context_dependencies/0", "/next_step_id", "/x/0", "/type"))
	case 5:
		return e.RemoveSteps(g.id())
	case 6:
		return e.RemoveSteps(g.id(), g.id())
	case 7:
		return e.MoveStep(g.id(), g.place())
	case 8, 9:
		return e.RenameStep(g.id(), g.id())
	case 10:
		return e.PromoteStep(g.id(), g.place())
	default:
		return e.DemoteStep(g.id())
	}
}

func TestRandomEditsOfRandomPlansLoseNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		g := plans{rt}
		plan := g.draw()
		b := planBench(t, plan, workspace.StepConfigFile, `{"steps":[{"id":"a","agent_configs":{"lock_learnings":true,"x":1.0}},{"id":"b","agent_configs":{"description_reviewed":true}},{"id":"g"}]}`)
		first := plan
		for range rapid.IntRange(1, 3).Draw(rt, "edits") {
			plan = checkRandomEdit(t, rt, b, g, plan)
		}
		entries, found := b.log(t, nil)
		require.Empty(rt, found)
		require.Equal(rt, treeOf(rt, plan), replay(rt, first, entries))
	})
}

func checkRandomEdit(t *testing.T, rt *rapid.T, b *bench, g plans, plan string) string {
	src := func(plan string) *workflow.Source {
		return &workflow.Source{Plan: []byte(plan), StepConfig: []byte(b.read(t, workspace.StepConfigFile))}
	}
	_, had := workflow.Compile(src(plan), nil)
	done, err := b.edit(t, func(e *workflow.PlanEditor) error {
		for range rapid.IntRange(1, 4).Draw(rt, "in one") {
			if err := g.random(e); err != nil && rapid.Bool().Draw(rt, "give up") {
				return err
			}
		}
		return nil
	})
	after := b.read(t, workspace.PlanFile)
	if err != nil || done.Entry == nil {
		require.Equal(rt, plan, after, "nothing was edited")
		return plan
	}
	require.NoError(rt, done.LogError)
	require.Nil(rt, done.Outside)
	require.True(rt, json.Valid([]byte(after)))
	_, has := workflow.Compile(src(after), nil)
	require.LessOrEqual(rt, countErrors(has), countErrors(had))
	was, is := rawSteps(rt, plan), rawSteps(rt, after)
	for id, text := range is {
		if !slices.Contains(done.Entry.StepIDs, id) {
			require.Equal(rt, was[id], text, "the text of another step")
		}
	}
	return after
}

// Whatever fails and whoever else writes the plan: the changelog leads from the first
// plan to the last one once an edit has gone well.
func TestTheChangelogLeadsFromTheFirstPlanToTheLastWhateverFails(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		g := plans{rt}
		first := g.draw()
		b := planBench(t, first, workspace.StepConfigFile, `{"steps":[{"id":"a","title":"of a"},{"id":"b","title":"of b"}]}`)
		b.edited(t, func(e *workflow.PlanEditor) error { return e.ReplacePlan(json.RawMessage(first)) })
		b.edited(t, addFree)
		for range rapid.IntRange(1, 5).Draw(rt, "events") {
			if g.rarely() {
				b.write(t, workspace.PlanFile, g.draw())
				continue
			}
			faulty := workspacetest.NewFaulty(b.ws.Storage(), workspacetest.Fault{
				At:   rapid.IntRange(0, 9).Draw(rt, "at"),
				When: rapid.SampledFrom([]workspacetest.When{workspacetest.Before, workspacetest.After}).Draw(rt, "when"),
				Stop: rapid.Bool().Draw(rt, "stop"),
			})
			_, _ = workflow.EditPlan(t.Context(), workspace.New(faulty.Storage()), tidy(), func(e *workflow.PlanEditor) error {
				return errors.Join(addFree(e), g.random(e))
			})
		}
		b.edited(t, addFree)
		plan := b.read(t, workspace.PlanFile)
		entries, found := b.log(t, nil)
		require.Empty(rt, found)
		require.Equal(rt, treeOf(rt, plan), replay(rt, first, entries))
	})
}

// addFree adds an orphan under an id that no step has.
func addFree(e *workflow.PlanEditor) error {
	for i := 0; ; i++ {
		id := "free-" + strconv.Itoa(i)
		if e.Step(id) == nil {
			return e.AddOrphan(json.RawMessage(`{"id":"` + id + `","type":"regular"}`))
		}
	}
}

func countErrors(ds workspace.Diagnostics) int {
	n := 0
	for _, d := range ds {
		if d.Severity == workspace.SeverityError {
			n++
		}
	}
	return n
}

// rawSteps are the texts of the steps by id.
func rawSteps(t require.TestingT, plan string) map[string]string {
	var file struct {
		Steps       []json.RawMessage `json:"steps"`
		OrphanSteps []json.RawMessage `json:"orphan_steps"`
	}
	require.NoError(t, json.Unmarshal([]byte(plan), &file))
	raw := map[string]string{}
	for _, step := range slices.Concat(file.Steps, file.OrphanSteps) {
		var members map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(step, &members))
		raw[string(bytes.Trim(members["id"], `"`))] = string(step)
	}
	return raw
}

func FuzzPlanEdit(f *testing.F) {
	f.Add(invoicePlan, "match", "/context_dependencies/0", `"x"`, "other")
	f.Add(`{"Steps":[{"ID":"a","Type":"regular"}]}`, "a", "/title", `"t"`, "b")
	f.Add(`{"steps":[{"id":"a"},{"id":"a"}],"steps":null,"orphan_steps":[{"id":"b","predefined_routes":[{"sub_agent_step":{"id":"c"}}]}]}`, "c", "/x/-", `{}`, "d")
	f.Add(`{"steps":[{"id":"a","type":"regular","id":"b"}]}`, "b", "/", `1.0`, "a")
	f.Fuzz(func(t *testing.T, plan, id, pointer, value, other string) {
		b := planBench(t, "-")
		b.write(t, workspace.PlanFile, plan)
		for _, edit := range []func(*workflow.PlanEditor) error{
			set(id, pointer, value),
			func(e *workflow.PlanEditor) error { return e.Unset(id, pointer) },
			func(e *workflow.PlanEditor) error { return e.RenameStep(id, other) },
			func(e *workflow.PlanEditor) error {
				return e.AddStep(json.RawMessage(value), workflow.Place{After: id})
			},
			func(e *workflow.PlanEditor) error { return e.MoveStep(id, workflow.Place{Before: other}) },
			func(e *workflow.PlanEditor) error { return e.ReplaceStep(other, json.RawMessage(value)) },
			func(e *workflow.PlanEditor) error { return e.DemoteStep(other) },
			func(e *workflow.PlanEditor) error { return e.RemoveSteps(other) },
			func(e *workflow.PlanEditor) error { return e.ReplacePlan(json.RawMessage(value)) },
		} {
			before := b.read(t, workspace.PlanFile)
			done, err := b.edit(t, edit)
			after := b.read(t, workspace.PlanFile)
			if err != nil || done.Entry == nil {
				require.Equal(t, before, after)
				continue
			}
			require.NoError(t, done.LogError)
			require.True(t, json.Valid([]byte(after)))
			require.NotEqual(t, workflow.PlanRevision([]byte(before)), done.Revision)
		}
	})
}
