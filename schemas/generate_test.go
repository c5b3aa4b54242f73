package schemas

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/treadle-dev/treadle/stepconfig"
	"github.com/treadle-dev/treadle/validation"
	"github.com/treadle-dev/treadle/workflow"
)

// generator makes documents from the Go types, so that what a schema lacks shows.
type generator struct {
	*rand.Rand
	rules map[reflect.Type]typeRules
	next  int
}

func newGenerator(seed uint64) *generator {
	return &generator{Rand: rand.New(rand.NewPCG(seed, 1)), rules: allRules()}
}

func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

func pick[T any](g *generator, choices ...T) T { return choices[g.IntN(len(choices))] }

// valid is a document of a format without a structural fault; a few have one all the
// same, since what several fields ask together is not looked at.
func (g *generator) valid(name string) any {
	switch name {
	case "plan":
		return g.plan()
	case "step-config":
		file := g.value(reflect.TypeFor[stepconfig.File](), "", rule{}, 4).(map[string]any)
		if g.chance(20) {
			return file["steps"]
		}
		return file
	case "settings":
		return g.value(reflect.TypeFor[workflow.Settings](), "", rule{}, 5)
	case "variables":
		return g.value(reflect.TypeFor[workflow.VariablesFile](), "", rule{}, 3)
	case "validation":
		if g.chance(4) {
			return pick[any](g, "none", nil)
		}
		return g.value(reflect.TypeFor[validation.Schema](), "", rule{}, 5)
	default:
		return g.value(reflect.TypeFor[dailyFile](), "", rule{}, 6)
	}
}

func (g *generator) plan() any {
	steps := func(n int) []any {
		list := []any{}
		for range n {
			step := g.value(reflect.TypeFor[workflow.RegularStep](), "", rule{}, 5).(map[string]any)
			step["type"] = "regular"
			list = append(list, step)
		}
		return list
	}
	plan := map[string]any{"steps": steps(1 + g.IntN(3))}
	if g.chance(40) {
		plan["orphan_steps"] = steps(g.IntN(2))
	}
	if g.chance(10) {
		plan["objective"] = g.anything(2)
	}
	return plan
}

// value is one of a Go type, below a key with a rule.
func (g *generator) value(t reflect.Type, key string, rule rule, depth int) any {
	switch t {
	case reflect.TypeFor[json.RawMessage]():
		if key == "post_run_monitor" {
			return pick[any](g, true, map[string]any{"enabled": false}, map[string]any{})
		}
		return g.anything(2)
	case reflect.TypeFor[json.Number]():
		return pick[any](g, 0, 7, -3, 2.5, 1e30)
	case reflect.TypeFor[workflow.Outputs]():
		return pick[any](g, "a.json", "a.json, b.json", []any{"a.json"}, []any{}, []any{nil, "b.json"}, "")
	case reflect.TypeFor[time.Time]():
		return pick(g, "2026-01-02T03:04:05Z", "2026-11-30T23:59:59.123+02:00")
	}
	switch t.Kind() {
	case reflect.Pointer:
		return g.value(t.Elem(), key, rule, depth)
	case reflect.Bool:
		return g.chance(50)
	case reflect.Int, reflect.Int64:
		return g.whole(rule)
	case reflect.Float64:
		return pick[any](g, 0, 1, 0.25, 1e-9)
	case reflect.String:
		return g.text(key, rule)
	case reflect.Slice:
		list := []any{}
		for range g.IntN(3) {
			list = append(list, g.value(t.Elem(), "", rule, depth-1))
		}
		return list
	case reflect.Map:
		members := map[string]any{}
		for range g.IntN(3) {
			members[pick(g, "a", "b", "write/x:1", "ü")] = g.value(t.Elem(), "", rule, depth-1)
		}
		return members
	case reflect.Struct:
		return g.object(t, depth)
	}
	panic("no value of " + t.String())
}

func (g *generator) object(t reflect.Type, depth int) map[string]any {
	object := map[string]any{}
	rules := (&reflection{rules: g.rules}).rulesOf(t).fields
	often := 15 + g.IntN(55)
	for _, f := range reflect.VisibleFields(t) {
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if key == "" || key == "-" || !f.IsExported() {
			continue
		}
		rule, kind := rules[key], f.Type
		for _, other := range instead(t) {
			if other.Name == f.Name {
				kind = other.Type
			}
		}
		switch {
		case !rule.required && (depth <= 0 || !g.chance(often)):
		case !rule.required && g.chance(5):
			object[key] = nil
		default:
			object[key] = g.value(kind, key, rule, depth-1)
		}
	}
	if g.chance(95) {
		g.together(t, object)
	}
	leaveSums(t, object)
	if g.chance(5) {
		object[pick(g, "x-new", "über", "a/b~c")] = g.anything(2)
	}
	return object
}

// together gives what a struct's fields ask of each other.
func (g *generator) together(t reflect.Type, object map[string]any) {
	switch t {
	case reflect.TypeFor[stepconfig.AgentConfigs]():
		object["learning_objective"], object["knowledgebase_contribution"] = "learn", "facts"
	case reflect.TypeFor[workflow.Schedule]():
		object["cron_expression"] = "0 9 * * 1"
		if object["schedule_type"] == "calendar" {
			object["calendar_items"] = []any{map[string]any{"date": "2026-02-03", "time": pick(g, "", "9:15", "23:59")}}
		}
	case reflect.TypeFor[workflow.Group]():
		object[pick(g, "name", "name", "group_id", "display_name")] = "group " + strconv.Itoa(g.count())
	}
}

// leaveSums takes out what stands beside its parts: reading adds the parts up and passes
// over the sum, whatever it is.
func leaveSums(t reflect.Type, object map[string]any) {
	switch t {
	case reflect.TypeFor[runFolderUsage]():
		if runs, _ := object["executions"].(map[string]any); len(runs) > 0 {
			maps.DeleteFunc(object, func(key string, _ any) bool { return key != "executions" })
		}
	case reflect.TypeFor[modelUsage]():
		delete(object, "cache_tokens")
		delete(object, "cache_cost_usd")
	}
}

func (g *generator) count() int { g.next++; return g.next }

func (g *generator) whole(r rule) any {
	if r.numbers != nil {
		return pick(g, r.numbers...)
	}
	least := 0
	if r.min != "" {
		least, _ = strconv.Atoi(string(r.min))
	}
	return least + g.IntN(40)
}

func (g *generator) text(key string, r rule) string {
	switch {
	case r.words != nil:
		return pick(g, r.words...)
	case key == "id" || key == "name":
		return fmt.Sprintf("name_%d", g.count())
	case key == "sql":
		return pick(g, "SELECT 1", "SELECT id FROM orders")
	case key == "path" || key == "compare_with_path":
		return pick(g, "$", "$.a", "$.b[*].c")
	case key == "pattern":
		return pick(g, "^a+$", "")
	case r.required:
		return "text"
	default:
		return pick(g, "", "text", "end", "server:*", "é<&>\u2028", " ")
	}
}

func (g *generator) anything(depth int) any {
	kinds := 6
	if depth <= 0 {
		kinds = 4
	}
	switch g.IntN(kinds) {
	case 0:
		return nil
	case 1:
		return g.chance(50)
	case 2:
		return pick[any](g, 0, 1, 2, -1, 1.5, 51, 4096, 10_001, 65_536, 9_223_372_036_855, -7, 0.001)
	case 3:
		return pick(g, "", " ", "\t\n", "word", "high", "read", "none", "-x", strings.Repeat("a", 101), "a b c d e", "2026-13-01", "2026-01-02T03:04:05Z", "9:75", "calendar")
	case 4:
		list := []any{}
		for range g.IntN(3) {
			list = append(list, g.anything(depth-1))
		}
		return list
	default:
		object := map[string]any{}
		for range g.IntN(3) {
			object[pick(g, "a", "id", "type", "steps")] = g.anything(depth - 1)
		}
		return object
	}
}

// place is somewhere in a document.
type place struct {
	get func() any
	set func(any)
	cut func()
	key string
}

// places are all places in a document, in an order that is the same each time.
func places(document *any) []place {
	return inside(place{key: "", get: func() any { return *document }, set: func(v any) { *document = v }, cut: func() { *document = nil }})
}

func inside(at place) []place {
	all := []place{at}
	switch value := at.get().(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			all = append(all, inside(place{
				key: key,
				get: func() any { return value[key] }, set: func(v any) { value[key] = v }, cut: func() { delete(value, key) },
			})...)
		}
	case []any:
		for i := range value {
			all = append(all, inside(place{
				get: func() any { return value[i] }, set: func(v any) { value[i] = v },
				cut: func() { at.set(slices.Delete(slices.Clone(value), i, i+1)) },
			})...)
		}
	}
	return all
}

// unread are fields of a daily file that say what its name does; reading passes over
// them.
var unread = []string{"date", "group_folder", "updated_at"}

// spoil changes one place of a document: something else stands there, or nothing, or a
// list is too long.
func (g *generator) spoil(name string, document any) any {
	var candidates []place
	for i, at := range places(&document) {
		if i == 0 && !g.chance(10) || name == "ledger" && slices.Contains(unread, at.key) {
			continue
		}
		candidates = append(candidates, at)
	}
	if len(candidates) == 0 {
		return document
	}
	if numbers := slices.DeleteFunc(slices.Clone(candidates), isNoNumber); len(numbers) > 0 && g.chance(25) {
		candidates = numbers
	}
	// The later places are those inside, of which there are many kinds.
	at := candidates[max(g.IntN(len(candidates)), g.IntN(len(candidates)))]
	value := at.get()
	list, isList := value.([]any)
	switch {
	case isList && len(list) > 0 && g.chance(30):
		long := make([]any, pick(g, 5, 21, 101))
		for i := range long {
			long[i] = list[0]
		}
		at.set(long)
	case g.chance(20):
		at.cut()
	default:
		at.set(g.other(value))
	}
	return document
}

func isNoNumber(at place) bool {
	_, whole := at.get().(int)
	return !whole
}

// other is a value in place of one, as often of the same type as of another.
func (g *generator) other(value any) any {
	for range 50 {
		other := g.anything(2)
		if reflect.TypeOf(other) == reflect.TypeOf(value) || g.chance(20) {
			return other
		}
	}
	return nil
}

// generated is a document of a format, five in six with one change.
func generated(t *testing.T, name string, seed uint64) []byte {
	t.Helper()
	g := newGenerator(seed)
	document := g.valid(name)
	if !g.chance(16) {
		document = g.spoil(name, document)
	}
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
