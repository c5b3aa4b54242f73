package workflow_test

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

// document makes a text of a type's JSON form: any of its fields in any order, keys that
// nobody knows at every level, numbers and texts in many spellings, values of a wrong
// type where faults are allowed, and any white space.
type document struct {
	faults bool
	skip   map[string]bool // keys that are left out
}

func (d document) rarely(t *rapid.T) bool { return rapid.IntRange(0, 9).Draw(t, "rarely") == 0 }

func (d document) space(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "", " ", "\n  ", "\t", "\r\n"}).Draw(t, "space")
}

func (d document) join(t *rapid.T, open string, parts []string, end string) string {
	for i := range parts {
		parts[i] = d.space(t) + parts[i] + d.space(t)
	}
	return open + strings.Join(parts, ",") + end
}

// object is an object of a type, or of unknown keys alone.
func (d document) object(t *rapid.T, typ reflect.Type, depth int) string {
	var members []string
	if depth > 0 {
		for range rapid.IntRange(0, 2).Draw(t, "unknown") {
			key := rapid.SampledFrom([]string{"some_future_field", "x/y", "a~b", "É", ""}).Draw(t, "key")
			name, _ := json.Marshal(key)
			members = append(members, string(name)+":"+d.anything(t, depth-1))
		}
	}
	if typ != nil {
		for field := range typ.Fields() {
			key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if key == "" || d.skip[key] || rapid.IntRange(0, 2).Draw(t, "absent") == 0 {
				continue
			}
			value := d.value(t, field.Type, depth-1)
			if d.faults && d.rarely(t) {
				value = d.anything(t, 1)
			}
			members = append(members, `"`+key+`"`+d.space(t)+":"+d.space(t)+value)
		}
	}
	return d.join(t, "{", rapid.Permutation(members).Draw(t, "order"), "}")
}

func (d document) value(t *rapid.T, typ reflect.Type, depth int) string {
	if d.rarely(t) {
		return "null"
	}
	switch {
	case typ == reflect.TypeFor[json.RawMessage]():
		return d.anything(t, 1)
	case typ.Kind() == reflect.Pointer:
		return d.value(t, typ.Elem(), depth)
	case typ.Kind() == reflect.Struct:
		return d.object(t, typ, depth)
	case typ.Kind() == reflect.Slice:
		elements := make([]string, rapid.IntRange(0, 2).Draw(t, "length"))
		for i := range elements {
			elements[i] = d.value(t, typ.Elem(), depth)
		}
		return d.join(t, "[", elements, "]")
	case typ.Kind() == reflect.Map:
		return d.object(t, nil, 1)
	case typ.Kind() == reflect.Bool:
		return rapid.SampledFrom([]string{"true", "false"}).Draw(t, "bool")
	case typ.Kind() == reflect.Int:
		return rapid.SampledFrom([]string{"0", "1", "2", "-1", "99", "1e2", "2.0", "-0"}).Draw(t, "number")
	default:
		return d.text(t)
	}
}

func (d document) text(t *rapid.T) string {
	return rapid.SampledFrom([]string{`""`, `"a"`, `"\u00e9"`, `"é"`, `"<&>"`, `"a\/b"`, `"\ud800"`, `"run"`, `"builder"`, `"use_same_run"`}).Draw(t, "text")
}

func (d document) anything(t *rapid.T, depth int) string {
	kinds := 4
	if depth > 0 {
		kinds = 6
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return "null"
	case 1:
		return rapid.SampledFrom([]string{"0", "1.50", "1E5", "-0", "123456789012345678901"}).Draw(t, "number")
	case 2:
		return d.text(t)
	case 3:
		return "false"
	case 4:
		return "[" + d.anything(t, depth-1) + "]"
	default:
		return d.object(t, nil, depth)
	}
}

// tree is a text as plain values, with numbers as they are spelled.
func tree(t require.TestingT, text []byte) any {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var value any
	require.NoError(t, dec.Decode(&value))
	return value
}

// leftOut are the key that a test edits, and keys that a save writes in another form.
func leftOut(keys ...string) map[string]bool {
	skip := map[string]bool{}
	for _, key := range keys {
		skip[key] = true
	}
	return skip
}

// An edit of one key changes that key and nothing else, whatever else there is.
func TestEditingRandomSettingsLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := document{faults: true, skip: leftOut("label", "post_run_monitor", "run_mode", "group_ids", "workshop_mode")}
		text := d.object(t, reflect.TypeFor[workflow.Settings](), 5)
		before, _ := tree(t, []byte(text)).(map[string]any)
		st := workspace.NewMem()
		ctx := context.Background()
		require.NoError(t, st.WriteFile(ctx, workspace.SettingsFile, []byte(text), workspace.Lazy))
		_, err := workflow.EditSettings(ctx, workspace.New(st), func(s *workflow.Settings) error {
			s.Label = "edited"
			return nil
		})
		require.NoError(t, err)
		written, err := st.ReadFile(ctx, workspace.SettingsFile)
		require.NoError(t, err)
		before["label"] = "edited"
		require.Equal(t, before, tree(t, written))
		require.Equal(t, spellings(text), spellings(string(written)))
	})
}

// spellings counts what means the same in another spelling, and so is easily lost.
func spellings(text string) map[string]int {
	counts := map[string]int{}
	for _, spelling := range []string{"1.50", "1E5", "1e2", "2.0", "-0", `\u00e9`, `a\/b`, `\ud800`} {
		counts[spelling] = strings.Count(text, spelling)
	}
	return counts
}

func TestReadingAndWritingRandomSettingsLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := document{faults: true}
		text := d.object(t, reflect.TypeFor[workflow.Settings](), 5)
		settings := &workflow.Settings{}
		require.NoError(t, json.Unmarshal([]byte(text), settings))
		written, err := settings.MarshalJSON()
		require.NoError(t, err)
		require.Equal(t, tree(t, []byte(text)), tree(t, written))
	})
}

func TestReadingAndWritingRandomVariablesLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := document{faults: true}
		text := d.object(t, reflect.TypeFor[workflow.VariablesFile](), 4)
		file := &workflow.VariablesFile{}
		require.NoError(t, json.Unmarshal([]byte(text), file))
		written, err := file.MarshalJSON()
		require.NoError(t, err)
		require.Equal(t, tree(t, []byte(text)), tree(t, written))
	})
}

func TestEditingRandomVariablesLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := document{faults: true, skip: leftOut("extraction_date", "group_id", "display_name")}
		text := d.object(t, reflect.TypeFor[workflow.VariablesFile](), 4)
		before, _ := tree(t, []byte(text)).(map[string]any)
		st := workspace.NewMem()
		ctx := context.Background()
		require.NoError(t, st.WriteFile(ctx, workspace.VariablesFile, []byte(text), workspace.Lazy))
		_, err := workflow.EditVariables(ctx, workspace.New(st), func(f *workflow.VariablesFile) error {
			f.ExtractionDate = "now"
			return nil
		})
		require.NoError(t, err)
		written, err := st.ReadFile(ctx, workspace.VariablesFile)
		require.NoError(t, err)
		before["extraction_date"] = "now"
		require.Equal(t, before, tree(t, written))
		require.Equal(t, spellings(text), spellings(string(written)))
	})
}

// Every field of the settings is in the whole document of the tests, so that none is
// left untested.
func TestTheWholeSettingsHaveEveryField(t *testing.T) {
	t.Parallel()
	var check func(at string, typ reflect.Type, value any)
	check = func(at string, typ reflect.Type, value any) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice && typ.Elem().Kind() == reflect.Struct {
			if list, ok := value.([]any); ok {
				merged := map[string]any{}
				for _, element := range list {
					maps.Copy(merged, element.(map[string]any))
				}
				value = merged
			}
			typ = typ.Elem()
		}
		object, ok := value.(map[string]any)
		if typ.Kind() != reflect.Struct || !ok || strings.HasSuffix(typ.PkgPath(), "stepconfig") {
			return
		}
		for field := range typ.Fields() {
			key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if key == "" || key == "post_run_monitor" || key == "run_mode" || key == "group_ids" || key == "triggers" {
				continue
			}
			inner, there := object[key]
			assert.True(t, there, "%s/%s", at, key)
			check(at+"/"+key, field.Type, inner)
		}
	}
	check("", reflect.TypeFor[workflow.Settings](), tree(t, []byte(wholeSettings)))
}

func FuzzSettings(f *testing.F) {
	f.Add([]byte(wholeSettings))
	f.Add([]byte(`{"backup": {"destinations": [null]}, "schedules": [1], "post_run_monitor": {}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		ws := holding(t, workspace.SettingsFile, string(data))
		settings, ds, err := workflow.ReadSettings(t.Context(), ws)
		if err != nil || settings == nil && !ds.HasErrors() {
			t.Fatalf("%v %v %v", settings, ds, err)
		}
		_, err = workflow.EditSettings(t.Context(), ws, func(s *workflow.Settings) error {
			s.Label = "edited"
			return nil
		})
		if settings != nil && err != nil {
			t.Fatal(err)
		}
		if settings == nil && contentOf(t, ws, workspace.SettingsFile) != string(data) {
			t.Fatal("a file that cannot be read was written")
		}
	})
}

func FuzzVariables(f *testing.F) {
	f.Add([]byte(`{"variables":[{"name":"A","value":"b"}],"groups":[{"name":"g","values":{"A":"x"},"enabled":true}]}`), "g")
	f.Add([]byte(`{"groups":[{"group_id":"../x","values":{"A":null}},null,7]}`), "")
	f.Fuzz(func(t *testing.T, data []byte, group string) {
		ws := holding(t, workspace.VariablesFile, string(data))
		file, ds, err := workflow.ReadVariables(t.Context(), ws)
		if err != nil {
			t.Fatal(err)
		}
		if file == nil {
			if !ds.HasErrors() {
				t.Fatal("nothing was read and nothing is wrong")
			}
			return
		}
		file.Values(file.Group(group))
		folders := map[string]bool{}
		for i := range file.Groups {
			folder := file.Groups[i].Folder()
			if !ds.HasErrors() && (folder == "" || folders[folder] || strings.ContainsAny(folder, `/\.`)) {
				t.Fatalf("the folder %q of %q was let through", folder, file.Groups[i].Name)
			}
			folders[folder] = true
		}
		if _, err := workflow.EditVariables(t.Context(), ws, func(f *workflow.VariablesFile) error {
			f.ExtractionDate = "edited"
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	})
}

// fixture reads a file of the fixtures, which are beside the repository.
func fixture(t *testing.T, name string) []byte {
	t.Helper()
	root := os.Getenv("TREADLE_FIXTURES")
	if root == "" {
		root = "../../shared/fixtures"
	}
	data, err := os.ReadFile(filepath.Join(root, "agentworks", name))
	if os.IsNotExist(err) && os.Getenv("CI") != "true" {
		t.Skipf("no fixtures: %v", err)
	}
	require.NoError(t, err)
	return data
}

// The fixtures are read as their list of expectations says: all are accepted.
func TestFixturesOfVariablesAreAcceptedAndSurviveASave(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"gen-a/variables/variables.json":       {"notice variables.key.unknown /objective"},
		"gen-d/relay/variables/variables.json": {},
		"gen-d/groups_only.variables.json":     {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := fixture(t, name)
			ws := holding(t, workspace.VariablesFile, string(data))
			file, ds, err := workflow.ReadVariables(t.Context(), ws)
			require.NoError(t, err)
			assert.Equal(t, want, found(ds))
			switch {
			case strings.HasPrefix(name, "gen-a"):
				assert.Empty(t, file.Groups)
				assert.Equal(t, "config/database.json", file.Values(nil)["CONFIG_PATH"])
			default:
				require.NotNil(t, file.Group("default"))
				assert.True(t, file.Groups[0].IsEnabled(), "enabled or silent")
			}
			_, err = workflow.EditVariables(t.Context(), ws, func(f *workflow.VariablesFile) error {
				f.ExtractionDate = "2026-11-30T00:00:00Z"
				return nil
			})
			require.NoError(t, err)
			before, _ := tree(t, data).(map[string]any)
			before["extraction_date"] = "2026-11-30T00:00:00Z"
			assert.Equal(t, before, tree(t, []byte(contentOf(t, ws, workspace.VariablesFile))))
		})
	}
}
