package schemas

import (
	"encoding/json"
	"reflect"
	"strconv"

	"github.com/invopop/jsonschema"
)

// rule is what a decoder asks of one field beyond its Go type.
type rule struct {
	required bool // neither absent nor null
	filled   bool // not the empty text
	text     bool // more than white space
	words    []string
	pattern  string
	min, max json.Number // of a number, or of the numbers of a list
	minItems uint64
	maxItems uint64
	numbers  []int  // the only ones
	initial  any    // what an absent field means
	old      bool   // of an older form
	about    string // where the Go field's comment does not say enough by itself
}

// typeRules are the rules of a struct: those of its fields by their keys, and what
// concerns several of them.
type typeRules struct {
	fields map[string]rule
	also   func(*jsonschema.Schema)
}

// apply adds the rule to the schema of a field.
func (r rule) apply(s *jsonschema.Schema) {
	if r.about != "" {
		s.Description = r.about
	}
	s.Default, s.Deprecated = r.initial, r.old
	r.applyText(s)
	r.applyNumber(s)
	if r.minItems > 0 {
		s.MinItems = &r.minItems
	}
	if r.maxItems > 0 {
		s.MaxItems = &r.maxItems
	}
}

func (r rule) applyText(s *jsonschema.Schema) {
	const anyText = `\S`
	switch {
	case r.words != nil:
		s.Enum = anys(r.words)
		if !r.required {
			s.Enum = append(s.Enum, "") // the empty word is none
		}
	case r.text:
		s.Pattern = anyText
	case r.filled:
		s.MinLength = new(uint64(1))
	case r.pattern != "":
		s.Pattern = r.pattern
	}
}

func (r rule) applyNumber(s *jsonschema.Schema) {
	at := s
	if s.Items != nil {
		at = s.Items
	}
	if r.min != "" {
		at.Minimum = r.min
	}
	if r.max != "" {
		at.Maximum = r.max
	}
	if r.numbers != nil {
		s.Enum = anys(r.numbers)
	}
}

// when adds what holds for an object whose field has a value.
func when(s *jsonschema.Schema, key string, value any, then *jsonschema.Schema) {
	s.AllOf = append(s.AllOf, &jsonschema.Schema{If: with(key, value), Then: then})
}

// with is an object whose field has one of the values.
func with(key string, values ...any) *jsonschema.Schema {
	properties := jsonschema.NewProperties()
	value := &jsonschema.Schema{Enum: values}
	if len(values) == 1 {
		value = &jsonschema.Schema{Const: values[0]}
	}
	properties.Set(key, value)
	return &jsonschema.Schema{Properties: properties, Required: []string{key}}
}

// needs is an object that has a text.
func needs(key string) *jsonschema.Schema {
	properties := jsonschema.NewProperties()
	properties.Set(key, &jsonschema.Schema{Type: "string", Pattern: `\S`})
	return &jsonschema.Schema{Properties: properties, Required: []string{key}}
}

// least is a whole number from which on a field counts.
func least(n int) rule { return rule{min: number(n)} }

func number(n int) json.Number { return json.Number(strconv.Itoa(n)) }

func oneOf(words ...string) rule { return rule{words: words} }

func (r rule) by(initial any) rule { r.initial = initial; return r }

// rulesFor are the rules of one struct type.
func rulesFor[T any](all map[reflect.Type]typeRules, fields map[string]rule, also func(*jsonschema.Schema)) {
	all[reflect.TypeFor[T]()] = typeRules{fields: fields, also: also}
}
