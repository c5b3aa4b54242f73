package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Fit checks a value that a model wrote under a converted schema (see
// [Schema.For]), and returns it in the schema's own terms. Strict schemas make
// every property required, so a model writes null where it has nothing to say:
// such a null is taken out where the schema does not allow it. Else the value is
// returned as it is. The error is as that of [Schema.Validate].
func (s *Schema) Fit(value json.RawMessage) (json.RawMessage, error) {
	decoded, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return nil, s.Validate(value)
	}
	first := s.validate(decoded)
	if first == nil {
		return value, nil
	}
	ordered, err := parseSchemaJSON(value)
	if err != nil {
		return nil, first
	}
	for {
		places := s.refusedPlaces(decoded)
		if !removeNulls(decoded, ordered, places) {
			return nil, first
		}
		if s.validate(decoded) == nil {
			return marshalPlain(ordered)
		}
	}
}

// refusedPlaces are the places that the schema finds fault with, nulls among them.
func (s *Schema) refusedPlaces(value any) [][]string {
	var invalid *jsonschema.ValidationError
	if !errors.As(safely(func() error { return s.compiled.Validate(value) }), &invalid) {
		return nil
	}
	var places [][]string
	seen := map[string]bool{}
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			walk(cause)
		}
		if at := pointerOf(e.InstanceLocation); at != "" && !seen[at] {
			seen[at] = true
			places = append(places, e.InstanceLocation)
		}
	}
	walk(invalid)
	return places
}

// removeNulls takes members that are null out of both forms of a value; it
// reports whether there was any.
func removeNulls(value, ordered any, places [][]string) bool {
	removed := false
	for _, place := range places {
		parent, orderedParent, ok := parentOf(value, ordered, place)
		if !ok {
			continue
		}
		name := place[len(place)-1]
		if member, ok := parent[name]; ok && member == nil {
			delete(parent, name)
			orderedParent.delete(name)
			removed = true
		}
	}
	return removed
}

// parentOf goes to the object that holds the last token of the place.
func parentOf(value, ordered any, place []string) (map[string]any, *schemaObject, bool) {
	for _, token := range place[:len(place)-1] {
		switch at := value.(type) {
		case map[string]any:
			value = at[token]
			next, ok := ordered.(*schemaObject)
			if !ok {
				return nil, nil, false
			}
			ordered, _ = next.get(token)
		case []any:
			i, err := strconv.Atoi(token)
			next, ok := ordered.([]any)
			if err != nil || !ok || i < 0 || i >= len(at) || i >= len(next) {
				return nil, nil, false
			}
			value, ordered = at[i], next[i]
		default:
			return nil, nil, false
		}
	}
	parent, ok := value.(map[string]any)
	orderedParent, okOrdered := ordered.(*schemaObject)
	return parent, orderedParent, ok && okOrdered
}
