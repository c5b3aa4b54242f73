package schemas

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

// verdictOf is a document and whether its decoder takes it.
type verdictOf struct {
	owner    reflect.Type
	document any // as the schema checker reads it
	taken    bool
}

// verdicts are those of every field of a format.
func verdicts(t *testing.T, format string) []verdictOf {
	t.Helper()
	decode := decoders()[format]
	var all []verdictOf
	walkFields(format, func(owner reflect.Type, document any) {
		text, err := json.Marshal(document)
		require.NoError(t, err)
		read, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		require.NoError(t, err)
		all = append(all, verdictOf{owner, read, len(faults(decode(t, text))) == 0})
	})
	return all
}

// without is the rule with one of its demands left out, by the name of the demand.
func (r rule) without() map[string]rule {
	less := map[string]rule{}
	drop := func(name string, there bool, change func(*rule)) {
		if there {
			changed := r
			change(&changed)
			less[name] = changed
		}
	}
	drop("required", r.required, func(r *rule) { r.required = false })
	drop("filled", r.filled, func(r *rule) { r.filled = false })
	drop("text", r.text, func(r *rule) { r.text = false })
	drop("words", r.words != nil, func(r *rule) { r.words = nil })
	drop("word", r.words != nil, func(r *rule) { r.words = r.words[1:] })
	drop("pattern", r.pattern != "", func(r *rule) { r.pattern = "" })
	drop("min", r.min != "", func(r *rule) { r.min = "" })
	drop("max", r.max != "", func(r *rule) { r.max = "" })
	drop("maxItems", r.maxItems > 0, func(r *rule) { r.maxItems = 0 })
	drop("numbers", r.numbers != nil, func(r *rule) { r.numbers = nil })
	return less
}

// TestEveryRuleIsNeeded leaves each demand of each rule out and requires that some
// document tells: the comparison with the decoders can fail everywhere.
func TestEveryRuleIsNeeded(t *testing.T) {
	t.Parallel()
	for format, add := range map[string][]func(map[reflect.Type]typeRules){
		"plan": {planRules}, "step-config": {configRules}, "validation": {validationRules},
		"settings": {settingsRules, scheduleRules}, "variables": {variablesRules}, "ledger": {ledgerRules},
	} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			known := verdicts(t, format)
			own := map[reflect.Type]typeRules{}
			for _, add := range add {
				add(own)
			}
			for owner, rules := range own {
				for key, rule := range rules.fields {
					if owner == reflect.TypeFor[workflow.StepBase]() && key == "type" {
						continue // the list of the types says so, too
					}
					for demand, less := range rule.without() {
						changed := allRules()
						changed[owner].fields[key] = less
						assert.True(t, tells(t, format, changed, of(known, owner)), "%s.%s without its %s: no document tells", owner, key, demand)
					}
				}
				if rules.also != nil && owner != reflect.TypeFor[workflow.Settings]() {
					changed := allRules()
					changed[owner] = typeRules{fields: rules.fields}
					assert.True(t, tells(t, format, changed, of(known, owner)), "%s without what concerns several fields: no document tells", owner)
				}
			}
		})
	}
}

// of are the documents about a struct's fields.
func of(all []verdictOf, owner reflect.Type) []verdictOf {
	if owner == reflect.TypeFor[workflow.StepBase]() {
		owner = reflect.TypeFor[workflow.RegularStep]()
	}
	return slices.DeleteFunc(slices.Clone(all), func(v verdictOf) bool { return v.owner != owner })
}

// tells reports whether a schema made with other rules differs from the decoder.
func tells(t *testing.T, name string, rules map[reflect.Type]typeRules, known []verdictOf) bool {
	t.Helper()
	c, err := readComments()
	require.NoError(t, err)
	k := &knowledge{comments: c, rules: rules}
	d := document("plan", "", "", planSchema(stepTypes(t), k))
	for _, f := range formats() {
		if f.name == name {
			d = f.document(k)
		}
	}
	schema := compiled(t, []*Document{d})[name]
	return slices.ContainsFunc(known, func(v verdictOf) bool { return (schema.Validate(v.document) == nil) != v.taken })
}

// weighStep is a step of a host's own type, with steps inside.
type weighStep struct {
	workflow.StepBase

	Scale string          `json:"scale"`
	Limit *int            `json:"limit"`
	Then  []workflow.Step `json:"then"`
}

func TestAHostsStepTypesAreInTheSchemaOfPlans(t *testing.T) {
	t.Parallel()
	plan, err := Plan(&workflow.StepType{
		Name: "weigh", New: func() workflow.Step { return &weighStep{} },
		Execute: func(*workflow.StepContext) (*workflow.Outcome, error) { return nil, nil },
	}, &workflow.StepType{
		Name: "bare", Execute: func(*workflow.StepContext) (*workflow.Outcome, error) { return nil, nil },
	})
	require.NoError(t, err)
	schema := compiled(t, []*Document{plan})["plan"]
	for step, want := range map[string]bool{
		`{"id": "a", "type": "weigh", "scale": "kitchen", "limit": 3}`:                   true,
		`{"id": "a", "type": "weigh", "scale": 5}`:                                       false,
		`{"id": "a", "type": "weigh", "limit": "3"}`:                                     false,
		`{"id": "a", "type": "regular", "limit": "3"}`:                                   true,
		`{"id": "a", "type": "bare"}`:                                                    true,
		`{"type": "bare"}`:                                                               false,
		`{"id": "a", "type": "other"}`:                                                   false,
		`{"id": "a", "type": "weigh", "then": [{"id": "b", "type": "weigh"}]}`:           true,
		`{"id": "a", "type": "weigh", "then": [{"id": "b", "type": "other"}]}`:           false,
		`{"id": "a", "type": "weigh", "then": [{"type": "weigh", "limit": 1}]}`:          false,
		`{"id": "a", "type": "weigh", "then": [{"id": "b", "type": "bare", "then": 5}]}`: true,
	} {
		assert.Equal(t, want, taken(t, schema, fmt.Appendf(nil, `{"steps": [%s]}`, step)), step)
	}
	_, err = Plan(&workflow.StepType{Name: "regular", Lower: func(*workflow.Lowering, workflow.Step) error { return nil }})
	require.ErrorContains(t, err, `"regular"`)
	_, err = All(nil)
	require.Error(t, err)
	_, err = Manifests(nil)
	require.Error(t, err)
}

func TestWritingReplacesItsOwnFilesAndLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	for _, name := range []string{"plan.schema.json", "notes.txt"} {
		require.NoError(t, st.WriteFile(t.Context(), name, []byte("mine"), workspace.Lazy))
	}
	names, err := Write(t.Context(), st)
	require.NoError(t, err)
	assert.Len(t, names, len(documents(t))+1)
	want := map[string]string{"notes.txt": "mine"}
	for _, d := range documents(t) {
		want[d.FileName()] = string(d.JSON())
	}
	manifests, err := Manifests()
	require.NoError(t, err)
	assert.Contains(t, string(manifests), `"type": "regular"`)
	want[ManifestsFile] = string(manifests)
	entries, err := st.ReadDir(t.Context(), ".")
	require.NoError(t, err)
	have := map[string]string{}
	for _, entry := range entries {
		text, err := st.ReadFile(t.Context(), entry.Name())
		require.NoError(t, err)
		have[entry.Name()] = string(text)
	}
	assert.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(have)))
	assert.Equal(t, want, have)

	_, err = Write(t.Context(), st, nil)
	require.Error(t, err)
}
