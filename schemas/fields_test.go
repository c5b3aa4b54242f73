package schemas

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/stepconfig"
	"github.com/treadle-dev/treadle/validation"
	"github.com/treadle-dev/treadle/workflow"
)

// fieldWalk makes, for every field of every struct below a root, a small document with
// each of many values in it.
type fieldWalk struct {
	rules map[reflect.Type]typeRules
	seen  map[reflect.Type]bool
	each  func(document any)
	at    reflect.Type // whose field is looked at; nil is the document as a whole
}

// walkFields visits the documents of a format.
func walkFields(format string, visit func(owner reflect.Type, document any)) {
	w := &fieldWalk{rules: allRules(), seen: map[reflect.Type]bool{}}
	each := func(document any) { visit(w.at, document) }
	w.each = each
	root := func(document any) any { return document }
	switch format {
	case "plan":
		for _, list := range []string{"steps", "orphan_steps"} {
			w.seen = map[reflect.Type]bool{}
			w.walk(reflect.TypeFor[workflow.RegularStep](), func(step any) any {
				return map[string]any{"steps": []any{map[string]any{"id": "first", "type": "regular"}}, list: []any{step}}
			})
		}
		for _, key := range []string{"steps", "orphan_steps", "objective"} {
			for _, value := range w.values(reflect.TypeFor[workflow.RegularStep](), rule{}) {
				each(map[string]any{"steps": []any{map[string]any{"id": "first", "type": "regular"}}, key: value})
			}
		}
	case "step-config":
		w.walk(reflect.TypeFor[stepconfig.File](), root)
	case "settings":
		w.walk(reflect.TypeFor[workflow.Settings](), root)
		w.seen = map[reflect.Type]bool{}
		w.walk(reflect.TypeFor[workflow.CalendarItem](), func(item any) any {
			schedule := map[string]any{"id": "yearly", "schedule_type": "calendar", "calendar_items": []any{item}}
			return map[string]any{"schedules": []any{schedule}}
		})
	case "variables":
		w.walk(reflect.TypeFor[workflow.VariablesFile](), root)
	case "validation":
		w.walk(reflect.TypeFor[validation.Schema](), root)
	default:
		w.walk(reflect.TypeFor[dailyFile](), root)
	}
	for _, value := range w.values(nil, rule{}) {
		each(value)
	}
}

// walk visits a struct; inside makes a document of one of it.
func (w *fieldWalk) walk(t reflect.Type, inside func(any) any) {
	if w.seen[t] {
		return
	}
	w.seen[t] = true
	rules := (&reflection{rules: w.rules}).rulesOf(t).fields
	defer func(outer reflect.Type) { w.at = outer }(w.at)
	w.at = t
	w.each(inside(w.least(t)))
	for _, f := range reflect.VisibleFields(t) {
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if key == "" || !f.IsExported() || t == reflect.TypeFor[dailyFile]() && slices.Contains(unread, key) {
			continue
		}
		with := func(value any) any {
			object := w.least(t)
			object[key] = value
			return inside(object)
		}
		kind := f.Type
		for _, other := range instead(t) {
			if other.Name == f.Name {
				kind = other.Type
			}
		}
		for _, value := range w.values(kind, rules[key]) {
			w.each(with(value))
		}
		object := w.least(t)
		delete(object, key)
		w.each(inside(object))
		w.descend(kind, with)
	}
}

// descend visits the structs in a field, through lists and maps.
func (w *fieldWalk) descend(t reflect.Type, with func(any) any) {
	switch t.Kind() {
	case reflect.Pointer:
		w.descend(t.Elem(), with)
	case reflect.Slice:
		w.descend(t.Elem(), func(value any) any { return with([]any{value}) })
	case reflect.Map:
		w.descend(t.Elem(), func(value any) any { return with(map[string]any{"a": value}) })
		for _, value := range w.values(nil, rule{}) {
			w.each(with(map[string]any{"a": value}))
		}
	case reflect.Struct:
		if t.PkgPath() != "time" {
			w.walk(t, with)
		}
	}
}

// least is an object of a struct with what it must have.
func (w *fieldWalk) least(t reflect.Type) map[string]any {
	object := map[string]any{}
	for key, rule := range (&reflection{rules: w.rules}).rulesOf(t).fields {
		if rule.required {
			object[key] = "text"
		}
		if rule.required && rule.words != nil {
			object[key] = rule.words[0]
		}
	}
	switch t {
	case reflect.TypeFor[workflow.RegularStep]():
		object["type"] = "regular"
	case reflect.TypeFor[stepconfig.File]():
		object["steps"] = []any{}
	case reflect.TypeFor[workflow.Schedule]():
		object["cron_expression"] = "0 9 * * 1"
	case reflect.TypeFor[workflow.CalendarItem]():
		object["date"] = "2026-02-03"
	case reflect.TypeFor[workflow.Group]():
		object["name"] = "group"
	}
	return object
}

// values are what is tried in a field.
func (w *fieldWalk) values(t reflect.Type, r rule) []any {
	values := []any{
		nil, true, false, -1, 0, 1, 2, 1.5, -0.5, 50, 51, 10_000, 10_001, 65_535, 65_536, 9_223_372_036_854, 9_223_372_036_855,
		"", " ", "\t\n", "word", "a b c d e", "2026-01-02", "2026-13-02", "9:15", "9:75", "2026-01-02T03:04:05Z", "a/b", strings.Repeat("a", 100), strings.Repeat("a", 101),
		[]any{},
		[]any{nil},
		[]any{0},
		[]any{-1},
		[]any{65_536},
		[]any{1.5},
		[]any{""},
		[]any{"a"},
		[]any{"a", 5},
		[]any{[]any{}},
		[]any{map[string]any{}},
		map[string]any{},
		map[string]any{"a": nil},
		map[string]any{"a": 1},
		map[string]any{"a": "text"},
		map[string]any{"enabled": "yes"},
	}
	for _, word := range r.words {
		values = append(values, word, strings.ToUpper(word))
	}
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var element any = 1
	if t != nil && t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct {
		element = w.least(t.Elem())
	}
	for _, n := range []int{4, 5, 20, 21, 100, 101} {
		values = append(values, slices.Repeat([]any{element}, n))
	}
	return values
}

func TestEveryFieldTakesTheSameValuesInDecoderAndSchema(t *testing.T) {
	t.Parallel()
	schemas, decoders := compiled(t, documents(t)), decoders()
	met := map[string]bool{}
	for _, format := range slices.Sorted(maps.Keys(decoders)) {
		count, differing := 0, []sample(nil)
		walkFields(format, func(_ reflect.Type, document any) {
			count++
			text, err := json.Marshal(document)
			require.NoError(t, err)
			found := faults(decoders[format](t, text))
			for _, d := range found {
				met[d.Code] = true
			}
			if taken(t, schemas[format], text) != (len(found) == 0) {
				differing = append(differing, sample{format, text, found})
			}
		})
		t.Logf("%s: %d documents", format, count)
		report(t, differing)
	}
	for code := range structural {
		assert.True(t, met[code], "no document has %s, so the test cannot fail for it", code)
	}
}
