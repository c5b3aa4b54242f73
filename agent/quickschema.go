package agent

import (
	"math"
	"slices"
	"strings"
)

// quickSchema answers for the plain schemas that most tools have: named fields of
// plain types. It only ever says yes: whatever it does not accept, or does not
// know, goes to the validator, whose words the model is told. Most calls fit, and
// the validator takes a quarter of a turn's time.
type quickSchema struct {
	kind       string // of type; "" takes anything
	properties map[string]*quickSchema
	required   []string
	closed     bool // additionalProperties is false
	items      *quickSchema
	enum       []string
	minimum    float64
	maximum    float64
}

// newQuickSchema returns nil for a schema with a keyword that it does not know.
func newQuickSchema(doc any) *quickSchema {
	fields, ok := doc.(map[string]any)
	if !ok {
		return nil
	}
	q := &quickSchema{minimum: math.Inf(-1), maximum: math.Inf(1)}
	for keyword, value := range fields {
		if !q.take(keyword, value) {
			return nil
		}
	}
	if q.kind == "" && len(fields) > 0 {
		return nil
	}
	return q
}

func (q *quickSchema) take(keyword string, value any) (ok bool) {
	switch keyword {
	case "title", "description", "default", "examples":
		return true
	case "$schema":
		draft, _ := value.(string)
		return strings.Contains(draft, "draft-07") || strings.Contains(draft, "2020-12")
	case "type":
		q.kind, ok = value.(string)
		return ok && slices.Contains([]string{"object", "array", "string", "integer", "number", "boolean", "null"}, q.kind)
	case "minimum":
		q.minimum, ok = value.(float64)
	case "maximum":
		q.maximum, ok = value.(float64)
	case "additionalProperties":
		open, isBool := value.(bool)
		q.closed = !open
		return isBool
	case "required":
		q.required, ok = allStrings(value)
	case "enum":
		q.enum, ok = allStrings(value)
		return ok && len(q.enum) > 0
	case "items":
		q.items = newQuickSchema(value)
		return q.items != nil
	case "properties":
		return q.takeProperties(value)
	}
	return ok
}

func (q *quickSchema) takeProperties(value any) bool {
	fields, ok := value.(map[string]any)
	if !ok {
		return false
	}
	q.properties = make(map[string]*quickSchema, len(fields))
	for name, schema := range fields {
		property := newQuickSchema(schema)
		if property == nil {
			return false
		}
		q.properties[name] = property
	}
	return true
}

func allStrings(value any) ([]string, bool) {
	list, ok := value.([]any)
	if !ok {
		return nil, false
	}
	texts := make([]string, len(list))
	for i, item := range list {
		if texts[i], ok = item.(string); !ok {
			return nil, false
		}
	}
	return texts, true
}

// accepts reports whether a decoded value certainly fits. Numbers are float64.
func (q *quickSchema) accepts(value any) bool {
	if q.enum != nil {
		if text, ok := value.(string); !ok || !slices.Contains(q.enum, text) {
			return false
		}
	}
	switch v := value.(type) {
	case nil:
		return q.kind == "" || q.kind == "null"
	case bool:
		return q.kind == "" || q.kind == "boolean"
	case string:
		return q.kind == "" || q.kind == "string"
	case float64:
		inRange := q.minimum <= v && v <= q.maximum
		return q.kind == "" || inRange && (q.kind == "number" || q.kind == "integer" && v == math.Trunc(v))
	case []any:
		return q.kind == "" || q.kind == "array" && q.acceptsItems(v)
	case map[string]any:
		return q.kind == "" || q.kind == "object" && q.acceptsFields(v)
	}
	return false
}

func (q *quickSchema) acceptsItems(items []any) bool {
	return q.items == nil || !slices.ContainsFunc(items, func(item any) bool { return !q.items.accepts(item) })
}

func (q *quickSchema) acceptsFields(fields map[string]any) bool {
	for _, name := range q.required {
		if _, there := fields[name]; !there {
			return false
		}
	}
	for name, value := range fields {
		property, known := q.properties[name]
		if known && !property.accepts(value) || !known && q.closed {
			return false
		}
	}
	return true
}
