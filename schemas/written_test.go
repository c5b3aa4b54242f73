package schemas

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
	"github.com/treadle-dev/treadle/costs"
	"github.com/treadle-dev/treadle/validation"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

// conforms requires that a schema takes a text, and says why it does not.
func conforms(t *testing.T, schema *jsonschema.Schema, text []byte) {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	if err := schema.Validate(document); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

// lived is a workspace after a run that has seen a model fail, an attempt refused, a step
// fail and a resume, and the events of its last process.
func lived(t *testing.T) (*workspace.Workspace, []workflow.RunEvent) {
	t.Helper()
	ctx, ws := context.Background(), workspace.New(workspace.NewMem())
	put := func(name, text string) {
		require.NoError(t, ws.Storage().WriteFile(ctx, name, []byte(text), workspace.Lazy))
	}
	put(workspace.PlanFile, `{"steps": [
		{"id": "sum", "type": "regular", "description": "Sum up for {{WHO}}.", "context_output": "sum.json",
		 "validation_schema": {"files": [{"file_name": "sum.json", "json_checks": [{"path": "$.n", "value_type": "number"}]}]}},
		{"id": "tell", "type": "regular", "description": "Tell it.", "context_dependencies": ["sum.json"], "context_output": "told.txt"}]}`)
	put(workspace.VariablesFile, `{"variables": [{"name": "WHO", "value": "Ada"}]}`)
	put(workspace.StepConfigFile, `{"steps": [{"id": "tell", "agent_configs": {"disable_validation": false, "llm_validation_mode": "always"}}]}`)
	write := func(name, text string) agenttest.Turn {
		return agenttest.Call("write_file", map[string]string{"path": name, "content": text})
	}
	turns := [][]agenttest.Turn{
		{write("sum.json", `{"n": "three"}`), agenttest.Reply("Done."), write("sum.json", `{"n": 3}`), agenttest.Reply("Mended."), {Err: fmt.Errorf("the model is gone")}},
		{write("told.txt", strings.Repeat("told ", 20_000)), agenttest.Reply("Told."), agenttest.Reply(`{"reasoning": "Looked.", "issues": [], "passed": true}`)},
	}
	var events []workflow.RunEvent
	for i, script := range turns {
		ctl, err := workflow.NewController(workflow.Config{
			Models: agent.Single(&agenttest.Model{Script: script}), Toolsets: []agent.Toolset{agenttest.Files()},
			Prices: &costs.Prices{Version: "1", Models: []costs.ModelPrice{{Model: "m", Input: new(costs.Dollars(1)), Output: new(costs.Dollars(2))}}}, Model: "m", Now: func() time.Time { return time.Date(2026, 3, 4, 5, 6, 7+i, 8, time.UTC) },
		})
		require.NoError(t, err)
		options := &workflow.RunOptions{}
		if i > 0 {
			options.Run = "iteration-1"
		}
		run, err := ctl.Start(ctx, ws, options)
		require.NoError(t, err)
		for ev, err := range run.Events(ctx, workflow.FromStart) {
			require.NoError(t, err)
			events = append(events, ev)
		}
		result, err := run.Wait(ctx)
		t.Logf("process %d: %v %v", i+1, result, err)
	}
	return ws, events
}

func TestWhatARunWritesConformsToTheSchemas(t *testing.T) {
	t.Parallel()
	schemas := compiled(t, documents(t))
	ws, events := lived(t)
	read := func(name string) []byte {
		text, err := ws.Storage().ReadFile(context.Background(), name)
		require.NoError(t, err)
		return text
	}
	layout := workspace.RunLayout("iteration-1")

	kinds := map[string]int{}
	for line := range bytes.Lines(read(layout.Journal())) {
		conforms(t, schemas["journal-record"], line)
		var record struct{ Kind string }
		require.NoError(t, json.Unmarshal(line, &record))
		kinds[record.Kind]++
	}
	for _, kind := range []string{"journal", "owner", "run", "started", "result", "note", "outcome", "failure", "reopen", "end"} {
		assert.NotZero(t, kinds[kind], "the run has no record of kind %q", kind)
	}
	conforms(t, schemas["run-metadata"], read(layout.Metadata()))
	// Model calls are timed by the real clock.
	days, err := ws.Storage().ReadDir(context.Background(), workspace.CostsDir+"/"+costs.ScopeExecution+"/"+workspace.Ungrouped)
	require.NoError(t, err)
	count := 0
	for _, day := range days {
		if strings.HasSuffix(day.Name(), ".json") {
			conforms(t, schemas["ledger"], read(workspace.CostsDir+"/"+costs.ScopeExecution+"/"+workspace.Ungrouped+"/"+day.Name()))
			count++
		}
	}
	assert.NotZero(t, count, "the run has no daily file")
	for _, ev := range events {
		text, err := json.Marshal(ev)
		require.NoError(t, err)
		conforms(t, schemas["event"], text)
	}
	_, found := workflow.Compile(&workflow.Source{Plan: []byte(`{"steps": [{"type": "weave"}, {"id": 5}], "extra": 1}`)}, nil)
	require.NotEmpty(t, found)
	for _, d := range found {
		text, err := json.Marshal(d)
		require.NoError(t, err)
		conforms(t, schemas["diagnostic"], text)
	}
}

// writtenTypes are the Go types of what only Treadle writes, by the names of their
// schemas.
func writtenTypes() map[string]reflect.Type {
	return map[string]reflect.Type{
		"run-metadata": reflect.TypeFor[workflow.Metadata](),
		"event":        reflect.TypeFor[workflow.RunEvent](),
		"diagnostic":   reflect.TypeFor[workspace.Diagnostic](),
	}
}

func TestAValueOfAWrongTypeInWhatIsWrittenIsRefusedByItsSchema(t *testing.T) {
	t.Parallel()
	all := compiled(t, documents(t))
	for name, kind := range writtenTypes() {
		assert.NotZero(t, checkWritten(t, kind, all[name], nil), name)
	}
}

// TestAJournalPayloadOfAWrongTypeIsRefusedByTheSchema puts each form into a record.
func TestAJournalPayloadOfAWrongTypeIsRefusedByTheSchema(t *testing.T) {
	t.Parallel()
	schema := compiled(t, documents(t))["journal-record"]
	keys := []string{
		"s/visit/1/attempt/1/turn/1/reply", "s/visit/1/attempt/2/verdict/1/turn/1/condense/reply", "s/visit/1/attempt/1/turn/2/tool/1",
		"s/visit/1/attempt/1/turn/1/failed/17", "s/visit/1/attempt/1/validation", "s/visit/1/given", "",
	}
	for _, form := range workflow.RecordForms() {
		at := slices.IndexFunc(keys, func(key string) bool { return form.Key == "" || regexp.MustCompile(form.Key).MatchString(key) })
		require.GreaterOrEqual(t, at, 0, "no key is one of %s", form.Key)
		key := keys[at]
		if form.Key == "" {
			key = "s/visit/1"
		}
		wrap := func(data any) any {
			return map[string]any{
				"seq": 3, "time": "2026-01-02T03:04:05.678Z", "kind": form.Kind, "key": key, "data": data,
				"hash": "0123456789abcdef", "crc": "01234567",
			}
		}
		assert.NotZero(t, checkWritten(t, form.Data, schema, wrap), "%s %s", form.Kind, form.Key)
	}
}

// checkWritten puts many values into each field of a type that is written. What
// encoding/json does not decode, the schema refuses; an unchanged value it takes. It
// returns how many were refused.
func checkWritten(t *testing.T, kind reflect.Type, schema *jsonschema.Schema, wrap func(any) any) (refused int) {
	t.Helper()
	if wrap == nil {
		wrap = func(document any) any { return document }
	}
	full := func() map[string]any { return filled(t, kind) }
	text, err := json.Marshal(wrap(full()))
	require.NoError(t, err)
	conforms(t, schema, text)
	for key := range full() {
		for _, value := range (&fieldWalk{}).values(nil, rule{}) {
			object := full()
			object[key] = value
			own, err := json.Marshal(object)
			require.NoError(t, err)
			if value == nil || json.Unmarshal(own, reflect.New(kind).Interface()) == nil {
				continue
			}
			refused++
			text, err := json.Marshal(wrap(object))
			require.NoError(t, err)
			assert.False(t, taken(t, schema, text), "%s takes %s", kind, text)
		}
	}
	return refused
}

// filled is the JSON of a value of a type with something in every field.
func filled(t *testing.T, kind reflect.Type) map[string]any {
	t.Helper()
	value := reflect.New(kind)
	fill(value.Elem(), 4)
	text, err := json.Marshal(value.Interface())
	require.NoError(t, err)
	object := map[string]any{}
	require.NoError(t, json.Unmarshal(text, &object))
	return object
}

func fill(v reflect.Value, depth int) {
	if depth == 0 || !v.CanSet() {
		return
	}
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)))
		return
	case json.RawMessage:
		v.Set(reflect.ValueOf(json.RawMessage(`{"a":1}`)))
		return
	case workspace.Severity, workflow.Status, workflow.RunEventKind, agent.Role, agent.PartType, agent.Effect, validation.CheckType:
		words := map[string]string{
			"Severity": "error", "Status": "failed", "RunEventKind": "step_failed", "Role": "user", "PartType": "text", "Effect": "read_only", "CheckType": "length",
		}
		v.SetString(words[v.Type().Name()])
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth)
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(field, depth)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth-1)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		element := reflect.New(v.Type().Elem()).Elem()
		fill(element, depth-1)
		v.SetMapIndex(reflect.ValueOf("a").Convert(v.Type().Key()), element)
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8:
		v.SetUint(7)
	case reflect.Float64:
		v.SetFloat(0.5)
	}
}
