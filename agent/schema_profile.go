package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// SchemaProfile is the subset of JSON Schema that a kind of provider takes.
type SchemaProfile string

const (
	// SchemaPlain is JSON Schema as it is, for servers that take all of it or hold
	// the model to nothing.
	SchemaPlain SchemaProfile = "plain"
	// SchemaOpenAIStrict is the subset of OpenAI's strict structured outputs, as
	// documented there in 2026: closed objects, every property required, what is
	// optional nullable, at most 5,000 properties, 10 levels of objects, 1,000 enum
	// values and 120,000 bytes of names and enum values.
	SchemaOpenAIStrict SchemaProfile = "openai_strict"
	// SchemaGemini is the subset of OpenAPI 3.0 that Gemini takes as a response or
	// parameter schema: no references, no const, no lists of types, no required
	// inside anyOf, enums of strings only.
	SchemaGemini SchemaProfile = "gemini"
)

// SchemaProfileFor returns the profile that suits a provider by its name, such as
// "openai", "azure" or "gemini". An unknown one gets [SchemaPlain].
func SchemaProfileFor(provider string) SchemaProfile {
	switch strings.ToLower(provider) {
	case "openai", "azure":
		return SchemaOpenAIStrict
	case "gemini", "google", "vertex", "vertexai":
		return SchemaGemini
	}
	return SchemaPlain
}

// SchemaProfileError says what in a schema a kind of provider would refuse, all at
// once.
type SchemaProfileError struct {
	Profile  SchemaProfile
	Problems []SchemaProblem // pointers into the schema; at least one
}

func (e *SchemaProfileError) Error() string {
	return fmt.Sprintf("the schema cannot be used with the profile %s: %s", e.Profile, joinProblems(e.Problems))
}

// Check says whether the schema can be asked for with a profile. The error is a
// [*SchemaProfileError], or says that there is no such profile.
func (s *Schema) Check(profile SchemaProfile) error {
	_, err := s.For(profile)
	return err
}

// For converts the schema to a profile. What a profile cannot say and what only
// narrows, such as a length, is left out: values are checked against the schema
// itself afterwards; see [Schema.Fit]. What it cannot say and what shapes the
// value is an error, as in [Schema.Check].
func (s *Schema) For(profile SchemaProfile) (json.RawMessage, error) {
	c := &schemaConversion{root: s.root, profile: profile}
	var converted any
	switch profile {
	case SchemaPlain, "":
		return s.JSON(), nil
	case SchemaOpenAIStrict:
		converted = c.openAIRoot()
	case SchemaGemini:
		converted = c.geminiRoot()
	default:
		return nil, fmt.Errorf("there is no schema profile %q; use %s, %s or %s", profile, SchemaPlain, SchemaOpenAIStrict, SchemaGemini)
	}
	if len(c.problems) > 0 {
		return nil, &SchemaProfileError{Profile: profile, Problems: c.problems}
	}
	return marshalPlain(converted)
}

// schemaConversion is one conversion of a schema to a profile.
type schemaConversion struct {
	root     any
	profile  SchemaProfile
	problems []SchemaProblem

	// Of the strict profile.
	definitions []string // names of the definitions that are used, as they came up
	properties  int
	enumValues  int
	textBytes   int

	// Of the Gemini profile.
	open  map[string]int // how often a reference is being expanded
	nodes int
}

func (c *schemaConversion) problem(at, format string, args ...any) {
	p := SchemaProblem{Pointer: at, Message: fmt.Sprintf(format, args...)}
	if len(c.problems) < maxProblems && !slices.Contains(c.problems, p) {
		c.problems = append(c.problems, p)
	}
}
