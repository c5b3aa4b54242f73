package stepconfig_test

import (
	"encoding/json"
	"reflect"
	"strings"

	"pgregory.net/rapid"

	"github.com/treadle-dev/treadle/stepconfig"
)

// documents makes texts of step configurations: JSON of the right shape with every kind
// of field, keys that nobody knows at every level, values of a wrong type, numbers and
// texts in many spellings, and any white space. Ids may be missing and stand twice.
type documents struct {
	// Faults allows values of a wrong type and entries that are no object.
	Faults bool
	// Legacy allows the bare list.
	Legacy bool
}

func (g documents) draw(t *rapid.T) string {
	list := g.list(t, rapid.IntRange(0, 4).Draw(t, "steps"), func() string {
		if g.Faults && g.rarely(t) {
			return g.anything(t, 1)
		}
		return g.object(t, reflect.TypeFor[stepconfig.StepConfig](), 3)
	})
	if g.Legacy && g.rarely(t) {
		return g.space(t) + list + g.space(t)
	}
	members := g.unknown(t, 1)
	at := rapid.IntRange(0, len(members)).Draw(t, "at")
	members = append(members[:at:at], append([]string{`"steps":` + g.space(t) + list}, members[at:]...)...)
	return g.space(t) + g.join(t, "{", members, "}") + g.space(t)
}

func (g documents) rarely(t *rapid.T) bool { return rapid.IntRange(0, 9).Draw(t, "rarely") == 0 }

func (g documents) space(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "", "", " ", "\n", "\n    ", "\t", "\r\n  "}).Draw(t, "space")
}

func (g documents) join(t *rapid.T, open string, parts []string, end string) string {
	var out strings.Builder
	out.WriteString(open)
	for i, part := range parts {
		if i > 0 {
			out.WriteString(",")
		}
		out.WriteString(g.space(t) + part + g.space(t))
	}
	return out.String() + end
}

func (g documents) list(t *rapid.T, n int, element func() string) string {
	elements := make([]string, n)
	for i := range elements {
		elements[i] = element()
	}
	return g.join(t, "[", elements, "]")
}

// object is an object of a type with some of its fields and some others.
func (g documents) object(t *rapid.T, typ reflect.Type, depth int) string {
	members := g.unknown(t, depth-1)
	for field := range typ.Fields() {
		key := jsonKey(field)
		if key == "" || key != "id" && rapid.IntRange(0, 2).Draw(t, "absent") > 0 {
			continue
		}
		value := g.value(t, key, field.Type, depth)
		if g.Faults && g.rarely(t) {
			value = g.anything(t, 1)
		}
		members = append(members, `"`+key+`"`+g.space(t)+":"+value)
	}
	return g.join(t, "{", rapid.Permutation(members).Draw(t, "order"), "}")
}

func (g documents) value(t *rapid.T, key string, typ reflect.Type, depth int) string {
	if key != "id" && g.rarely(t) {
		return "null"
	}
	switch typ {
	case reflect.TypeFor[json.RawMessage]():
		return g.anything(t, 2)
	case reflect.TypeFor[map[string]json.RawMessage]():
		return g.join(t, "{", g.unknown(t, 1), "}")
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return g.value(t, key, typ.Elem(), depth)
	case reflect.Bool:
		return rapid.SampledFrom([]string{"true", "false"}).Draw(t, "bool")
	case reflect.Int:
		return rapid.SampledFrom([]string{"0", "1", "25", "100"}).Draw(t, "int")
	case reflect.Slice:
		return g.list(t, rapid.IntRange(0, 2).Draw(t, "n"), func() string { return g.value(t, "", typ.Elem(), depth-1) })
	case reflect.Struct:
		if depth <= 0 {
			return "{}"
		}
		return g.object(t, typ, depth-1)
	default:
		return g.word(t, key)
	}
}

// word is a text that suits a key, mostly.
func (g documents) word(t *rapid.T, key string) string {
	words := map[string][]string{
		"id":                          {"a", "b", "c", "d", "e", "f"},
		"execution_tier":              {"high", "medium", "low"},
		"todo_task_orchestrator_tier": {"high", "medium", "low"},
		"llm_validation_mode":         {"skip", "auto", "always"},
		"learnings_access":            {"read", "read-write", "none"},
		"learning_detail_level":       {"exact", "general", "none"},
		"knowledgebase_access":        {"read", "write", "read-write", "none"},
		"db_access":                   {"read", "read-write"},
		"declared_execution_mode":     {"scripted", "agentic", "learn_code", "code_exec"},
		"coding_agent_tmux_lifecycle": {"close_on_completion", "keep_alive"},
	}[key]
	if words == nil || g.Faults && g.rarely(t) {
		return g.text(t)
	}
	return `"` + rapid.SampledFrom(words).Draw(t, "word") + `"`
}

func (g documents) text(t *rapid.T) string {
	return rapid.SampledFrom([]string{
		`""`, `"text"`, `"server:*"`, `"caf\u00e9"`, `"é"`, `"\/"`, `"<&>"`, `"\ud83d\ude00"`, `"a\"b\\"`, `"\u2028"`, `" "`,
	}).Draw(t, "text")
}

// unknown are members that no type has.
func (g documents) unknown(t *rapid.T, depth int) []string {
	var members []string
	for _, key := range []string{`"x-new"`, `"\u00fcber"`, `"use_tool_search_mode"`, `"a/b~c"`} {
		if g.rarely(t) {
			members = append(members, key+g.space(t)+":"+g.space(t)+g.anything(t, depth))
		}
	}
	return members
}

func (g documents) anything(t *rapid.T, depth int) string {
	kinds := 5
	if depth <= 0 {
		kinds = 3
	}
	switch rapid.IntRange(1, kinds).Draw(t, "kind") {
	case 1:
		return rapid.SampledFrom([]string{"null", "true", "false"}).Draw(t, "literal")
	case 2:
		return rapid.SampledFrom([]string{"0", "-0", "1.0", "1e5", "1E+5", "0.10", "12345678901234567890123", "-7"}).Draw(t, "number")
	case 3:
		return g.text(t)
	case 4:
		return g.list(t, rapid.IntRange(0, 2).Draw(t, "n"), func() string { return g.anything(t, depth-1) })
	default:
		return g.join(t, "{", g.unknown(t, depth-1), "}")
	}
}
