package schemas

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/invopop/jsonschema"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/internal/openjson"
	"github.com/treadle-dev/treadle/stepconfig"
	"github.com/treadle-dev/treadle/validation"
	"github.com/treadle-dev/treadle/workflow"
)

// direction says what a schema is about.
type direction int

const (
	// reading: what a file may say. Null is an absent field.
	reading direction = iota
	// writing: what is written. A field that is always written is required.
	writing
)

// knowledge is what is known of Go types beside what reflection shows.
type knowledge struct {
	comments *comments
	rules    map[reflect.Type]typeRules
}

func know() (*knowledge, error) {
	c, err := readComments()
	return &knowledge{comments: c, rules: allRules()}, err
}

// reflection makes the definitions of one schema from Go types.
type reflection struct {
	direction direction
	comments  *comments
	rules     map[reflect.Type]typeRules
	names     map[reflect.Type]string
	types     map[string]reflect.Type // of the definitions
	shaped    map[string]bool
	defs      jsonschema.Definitions
}

func newReflection(direction direction, k *knowledge) *reflection {
	return &reflection{
		direction: direction, comments: k.comments, rules: k.rules,
		names: map[reflect.Type]string{}, types: map[string]reflect.Type{}, shaped: map[string]bool{},
		defs: jsonschema.Definitions{},
	}
}

// ref defines a type, and all that it is made of, and refers to it.
func (r *reflection) ref(t reflect.Type) *jsonschema.Schema {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	reflector := &jsonschema.Reflector{
		Anonymous: true, AllowAdditionalProperties: true,
		RequiredFromJSONSchemaTags: r.direction == reading,
		Namer:                      r.name, Mapper: r.special, LookupComment: r.comments.of, AdditionalFields: instead,
	}
	schema := reflector.ReflectFromType(t)
	for name, def := range schema.Definitions {
		if !r.shaped[name] {
			r.defs[name] = def
		}
	}
	for name, def := range schema.Definitions {
		if t := r.types[name]; t != nil && t.Kind() == reflect.Struct && !r.shaped[name] {
			r.shaped[name] = true
			r.shape(def, t)
		}
	}
	schema.Definitions, schema.Version = nil, ""
	return schema
}

// root is a type as a whole schema.
func (r *reflection) root(t reflect.Type) *jsonschema.Schema {
	r.ref(t)
	name := r.names[t]
	root := *r.defs[name]
	delete(r.defs, name)
	root.Definitions = r.defs
	return &root
}

// name is the name of a type's definition: that of the type, with its package's before
// it where another type has that name.
func (r *reflection) name(t reflect.Type) string {
	kinds := []reflect.Kind{reflect.Struct, reflect.Map, reflect.Slice}
	if !slices.Contains(kinds, t.Kind()) || t.Name() == "" || t.PkgPath() == "time" {
		return "" // it stands in its place
	}
	if name := r.names[t]; name != "" {
		return name
	}
	name := capital(t.Name())
	if t == reflect.TypeFor[validation.Schema]() {
		name = "ValidationSchema"
	}
	if r.types[name] != nil {
		path := strings.Split(t.PkgPath(), "/")
		name = capital(path[len(path)-1]) + name
	}
	for n := 2; r.types[name] != nil; n++ {
		name = capital(t.Name()) + strconv.Itoa(n)
	}
	r.names[t], r.types[name] = name, t
	return name
}

func capital(name string) string {
	runes := []rune(name)
	runes[0] = unicode.ToUpper(runes[0])
	return string(runes)
}

// special are the types whose JSON is not what reflection sees.
func (r *reflection) special(t reflect.Type) *jsonschema.Schema {
	switch {
	case t == reflect.TypeFor[workflow.Step]():
		return &jsonschema.Schema{Ref: "#/$defs/Step"}
	case t == reflect.TypeFor[workflow.Outputs]():
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
			{Type: "string"},
			{Type: "array", Items: orNull(&jsonschema.Schema{Type: "string"})},
		}}
	case t == reflect.TypeFor[workflow.Values]():
		return &jsonschema.Schema{Type: "object", AdditionalProperties: &jsonschema.Schema{Type: "string"}}
	case t == reflect.TypeFor[json.Number]():
		return &jsonschema.Schema{Type: "number"}
	case t.Kind() == reflect.Map && t.Elem() == reflect.TypeFor[json.RawMessage]():
		return &jsonschema.Schema{Type: "object"}
	case t == reflect.TypeFor[agent.FinishReason]():
		return nil // providers have further ones
	case t.Kind() == reflect.String && r.direction == writing:
		if words := r.comments.words(t); len(words) > 0 {
			return &jsonschema.Schema{Type: "string", Enum: anys(words)}
		}
	}
	return nil
}

// instead are fields of another type than the Go field has, because their JSON is
// decoded later or by hand.
func instead(t reflect.Type) []reflect.StructField {
	switch t {
	case reflect.TypeFor[stepconfig.StepConfig]():
		return []reflect.StructField{{Name: "ValidationSchema", Type: reflect.TypeFor[*validation.Schema](), Tag: `json:"validation_schema,omitempty"`}}
	case reflect.TypeFor[workflow.Metadata]():
		return []reflect.StructField{{Name: "Totals", Type: reflect.TypeFor[modelUsage](), Tag: `json:"totals"`}}
	}
	return nil
}

// shape makes a reflected struct say what its decoder takes.
func (r *reflection) shape(def *jsonschema.Schema, t reflect.Type) {
	rules := r.rulesOf(t)
	for pair := def.Properties.Oldest(); pair != nil; pair = pair.Next() {
		rule, field := rules.fields[pair.Key], fieldOf(t, pair.Key)
		property := pair.Value
		if property.Ref == "#/$defs/ValidationSchema" {
			property.AnyOf = []*jsonschema.Schema{{Ref: property.Ref}, {Const: "none"}}
			property.Ref = ""
		}
		rule.apply(property)
		if rule.required && r.direction == reading {
			def.Required = append(def.Required, pair.Key)
		}
		if r.direction == reading && !keepsRest(t) {
			nullInside(property)
		}
		if r.mayBeNull(rule, field) {
			pair.Value = orNull(property)
		}
	}
	if rules.also != nil {
		rules.also(def)
	}
}

// mayBeNull: reading takes null for absent; writing writes it for a list or map that is
// nil and not left out.
func (r *reflection) mayBeNull(rule rule, field reflect.StructField) bool {
	if r.direction == reading {
		return !rule.required
	}
	tag := field.Tag.Get("json")
	switch {
	case field.Type == nil, strings.Contains(tag, "omit"):
		return false
	default:
		kind := field.Type.Kind()
		return kind == reflect.Slice || kind == reflect.Map || kind == reflect.Pointer
	}
}

// rulesOf are the rules of a struct and of those that it embeds.
func (r *reflection) rulesOf(t reflect.Type) typeRules {
	all := typeRules{fields: map[string]rule{}}
	for f := range t.Fields() {
		if f.Anonymous && f.Type.Kind() == reflect.Struct {
			maps.Copy(all.fields, r.rulesOf(f.Type).fields)
		}
	}
	own := r.rules[t]
	maps.Copy(all.fields, own.fields)
	all.also = own.also
	return all
}

// fieldOf is the field of a struct that a key of JSON is for.
func fieldOf(t reflect.Type, key string) reflect.StructField {
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name == key {
			return f
		}
	}
	return reflect.StructField{}
}

// keepsRest reports whether a struct is decoded key by key, which takes null for a field
// but not for what is in a list. Other structs are decoded by encoding/json, which takes
// null everywhere.
func keepsRest(t reflect.Type) bool {
	for f := range t.Fields() {
		if f.Type == reflect.TypeFor[openjson.Members]() || f.Anonymous && f.Type.Kind() == reflect.Struct && !f.IsExported() && keepsRest(f.Type) {
			return true
		}
	}
	return false
}

// nullInside lets null stand in lists and maps.
func nullInside(s *jsonschema.Schema) {
	if s.Items != nil {
		nullInside(s.Items)
		s.Items = orNull(s.Items)
	}
	if s.AdditionalProperties != nil {
		nullInside(s.AdditionalProperties)
		s.AdditionalProperties = orNull(s.AdditionalProperties)
	}
}

// orNull lets a value be null, too.
func orNull(s *jsonschema.Schema) *jsonschema.Schema {
	null := &jsonschema.Schema{Type: "null"}
	switch {
	case s.Ref != "":
		s.AnyOf = []*jsonschema.Schema{{Ref: s.Ref}, null}
		s.Ref = ""
	case len(s.AnyOf) > 0:
		s.AnyOf = append(s.AnyOf, null)
	case s.Type != "":
		s.Extras = map[string]any{"type": []string{s.Type, "null"}}
		s.Type = ""
	}
	if len(s.Enum) > 0 {
		s.Enum = append(s.Enum, nil)
	}
	return s
}

func anys[T any](values []T) []any {
	list := make([]any, len(values))
	for i, value := range values {
		list[i] = value
	}
	return list
}
