package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	jsonschemaout "github.com/invopop/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/treadle-dev/treadle/workspace"
)

// Schema is a JSON Schema that has been checked and compiled. It is safe for
// concurrent use; get one from [ParseSchema], [SchemaFor] or [SchemaOf].
type Schema struct {
	raw      json.RawMessage
	root     any // the schema in its order
	compiled *jsonschema.Schema
}

// SchemaProblem is one finding about a schema, or about a value that does not fit
// one.
type SchemaProblem struct {
	Pointer string // RFC 6901, into the schema or the value; empty is the whole
	Message string
}

func (p SchemaProblem) String() string {
	if p.Pointer == "" {
		return p.Message
	}
	return "at " + p.Pointer + ": " + p.Message
}

// SchemaError says that a value does not fit its schema.
type SchemaError struct {
	Problems []SchemaProblem // at least one; at most the first 20
}

func (e *SchemaError) Error() string {
	return "the value does not fit its schema: " + joinProblems(e.Problems)
}

func joinProblems(problems []SchemaProblem) string {
	texts := make([]string, len(problems))
	for i, p := range problems {
		texts[i] = p.String()
	}
	return strings.Join(texts, "; ")
}

// schemaLocation is where the compiler believes the schema to be.
const schemaLocation = "treadle:///schema"

// ParseSchema reads and compiles a JSON Schema. Without "$schema" it is taken as
// draft 2020-12. References must lie inside the schema: nothing is loaded. The
// error says what is wrong.
func ParseSchema(raw json.RawMessage) (*Schema, error) {
	root, err := parseSchemaJSON(raw)
	if err != nil {
		return nil, fmt.Errorf("the schema is not JSON: %w", err)
	}
	switch root.(type) {
	case *schemaObject, bool:
	default:
		return nil, errors.New("the schema is neither an object nor a boolean")
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("the schema is not JSON: %w", err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	// A schema may come from a model or a server.
	compiler.UseLoader(noLoader{})
	if err := compiler.AddResource(schemaLocation, document); err != nil {
		return nil, fmt.Errorf("the schema cannot be used: %w", err)
	}
	var compiled *jsonschema.Schema
	err = safely(func() (err error) {
		compiled, err = compiler.Compile(schemaLocation)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("the schema cannot be used: %w", compileProblem(err))
	}
	return &Schema{raw: bytes.Clone(raw), root: root, compiled: compiled}, nil
}

// compileProblem says what is wrong with a schema in the words for values: a
// schema that breaks the rules of its dialect does not fit the dialect's schema.
func compileProblem(err error) error {
	var invalid *jsonschema.SchemaValidationError
	var values *jsonschema.ValidationError
	if errors.As(err, &invalid) && errors.As(invalid.Err, &values) {
		return errors.New(joinProblems(problemsOf(values)))
	}
	// The location means nothing to the reader.
	return errors.New(strings.ReplaceAll(err.Error(), schemaLocation, ""))
}

// SchemaFor returns the schema of a Go type, as encoding/json writes it: fields
// without omitempty or omitzero are required, and no others are allowed. The tags
// of github.com/invopop/jsonschema add descriptions, enums and bounds. The error
// names a type that has no schema.
func SchemaFor[T any]() (*Schema, error) { return SchemaOf(reflect.TypeFor[T]()) }

// SchemaOf is [SchemaFor] for a type known at run time.
func SchemaOf(t reflect.Type) (schema *Schema, err error) {
	if t == nil {
		return nil, errors.New("there is no schema of no type")
	}
	defer func() {
		// The reflector panics on types that JSON cannot hold.
		if cause := recover(); cause != nil {
			schema, err = nil, fmt.Errorf("there is no schema of %s: %v", t, cause)
		}
	}()
	reflector := jsonschemaout.Reflector{Anonymous: true, Namer: distinctNames()}
	raw, err := marshalPlain(reflector.ReflectFromType(t))
	if err != nil {
		return nil, fmt.Errorf("there is no schema of %s: %w", t, err)
	}
	if schema, err = ParseSchema(raw); err != nil {
		return nil, fmt.Errorf("the schema of %s: %w", t, err)
	}
	return schema, nil
}

// distinctNames names the types of one schema: two of the same name, from
// different packages, must not share a definition.
func distinctNames() func(reflect.Type) string {
	names, taken := map[reflect.Type]string{}, map[string]bool{}
	return func(t reflect.Type) string {
		if name, ok := names[t]; ok {
			return name
		}
		if t.Name() == "" {
			return "" // it is written in place
		}
		base := strings.Map(func(r rune) rune {
			switch {
			case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
				return r
			}
			return '_'
		}, t.Name())
		name := base
		for n := 2; taken[name]; n++ {
			name = base + "_" + strconv.Itoa(n)
		}
		names[t], taken[name] = name, true
		return name
	}
}

// JSON returns the schema as it was given. It is the caller's.
func (s *Schema) JSON() json.RawMessage { return bytes.Clone(s.raw) }

// Validate checks a JSON value. The error is a [*SchemaError], or says that the
// value is not JSON.
func (s *Schema) Validate(value json.RawMessage) error {
	decoded, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return fmt.Errorf("the value is not JSON: %w", err)
	}
	return s.validate(decoded)
}

func (s *Schema) validate(value any) error {
	err := safely(func() error { return s.compiled.Validate(value) })
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return &SchemaError{Problems: problemsOf(invalid)}
	}
	return err
}

const maxProblems = 20

// problemsOf lists the innermost causes, which are what can be acted upon.
func problemsOf(invalid *jsonschema.ValidationError) []SchemaProblem {
	printer := message.NewPrinter(language.English)
	var problems []SchemaProblem
	seen := map[SchemaProblem]bool{}
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			walk(cause)
		}
		if len(e.Causes) > 0 || len(problems) == maxProblems {
			return
		}
		p := SchemaProblem{Pointer: pointerOf(e.InstanceLocation), Message: clip(e.ErrorKind.LocalizedString(printer), 300)}
		if !seen[p] {
			seen[p] = true
			problems = append(problems, p)
		}
	}
	walk(invalid)
	return problems
}

func pointerOf(tokens []string) string {
	var b strings.Builder
	for _, token := range tokens {
		b.WriteByte('/')
		b.WriteString(workspace.PointerEscape(token))
	}
	return b.String()
}
