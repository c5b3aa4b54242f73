package agent

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// quickSchema answers for the plain schemas that most tools have: named fields of
// plain types. It only ever says yes: whatever it does not accept, or does not
// know, goes to the validator, whose words the model is told. Most calls fit, and
// decoding and validating take a quarter of a turn's time.
type quickSchema struct {
	kind       string // of type; "" takes anything
	properties map[string]quickProperty
	required   uint64 // the bits of the properties that must be there
	closed     bool   // additionalProperties is false
	items      *quickSchema
	enum       []string
	minimum    float64
	maximum    float64
}

// quickProperty is a field that a schema names: under properties, required, or both.
type quickProperty struct {
	schema *quickSchema // nil when it is only required
	bit    uint64
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
		return q.takeRequired(value)
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
	for name, schema := range fields {
		property, ok := q.property(name)
		property.schema = newQuickSchema(schema)
		if !ok || property.schema == nil {
			return false
		}
		q.properties[name] = property
	}
	return true
}

func (q *quickSchema) takeRequired(value any) bool {
	names, ok := allStrings(value)
	if !ok {
		return false
	}
	for _, name := range names {
		property, ok := q.property(name)
		if !ok {
			return false
		}
		q.required |= property.bit
	}
	return true
}

// maxQuickProperties is how many bits there are.
const maxQuickProperties = 64

// property returns the property of a name, a new one if need be. It reports false
// when there are more than bits.
func (q *quickSchema) property(name string) (quickProperty, bool) {
	property, known := q.properties[name]
	if known {
		return property, true
	}
	if len(q.properties) == maxQuickProperties {
		return property, false
	}
	if q.properties == nil {
		q.properties = map[string]quickProperty{}
	}
	property.bit = 1 << len(q.properties)
	q.properties[name] = property
	return property, true
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

// accepts reports whether text, which is valid JSON, certainly fits.
func (q *quickSchema) accepts(text []byte) bool {
	w := jsonWalk{text: text}
	return q.acceptsNext(&w)
}

func (q *quickSchema) acceptsNext(w *jsonWalk) bool {
	if q.kind == "" {
		w.skip()
		return true
	}
	first := w.peek()
	if q.enum != nil && first != '"' {
		return false
	}
	switch first {
	case '{':
		return q.kind == "object" && q.acceptsFields(w)
	case '[':
		return q.kind == "array" && q.acceptsItems(w)
	case '"':
		text, plain := w.quoted()
		return q.kind == "string" && (q.enum == nil || plain && slices.Contains(q.enum, string(text)))
	}
	return q.acceptsWord(string(w.word()))
}

// acceptsWord is for numbers, true, false and null. It knows the numbers that a
// float64 surely holds.
func (q *quickSchema) acceptsWord(word string) bool {
	switch word {
	case "true", "false":
		return q.kind == "boolean"
	case "null":
		return q.kind == "null"
	}
	if len(word) > exactDigits || q.kind != "number" && q.kind != "integer" {
		return false
	}
	n, err := strconv.ParseFloat(word, 64)
	return err == nil && q.minimum <= n && n <= q.maximum && (q.kind == "number" || n == math.Trunc(n))
}

func (q *quickSchema) acceptsItems(w *jsonWalk) bool {
	for w.next(']') {
		if q.items == nil {
			w.skip()
		} else if !q.items.acceptsNext(w) {
			return false
		}
	}
	return true
}

func (q *quickSchema) acceptsFields(w *jsonWalk) bool {
	var there uint64
	for w.next('}') {
		name, plain := w.quoted()
		property := q.properties[string(name)]
		if !plain || property.schema == nil && q.closed || there&property.bit != 0 || !w.take(':') {
			return false
		}
		there |= property.bit
		if property.schema == nil {
			w.skip()
		} else if !property.schema.acceptsNext(w) {
			return false
		}
	}
	return there&q.required == q.required
}
