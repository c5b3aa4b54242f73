package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Some models write an object inside their arguments as a string that holds its
// JSON. Such a string is taken for the object where nothing else can be meant: the
// schema asks for an object there, the string holds one, and with it the arguments
// fit.

// maxUnwrapped is how deep strings may stand in strings.
const maxUnwrapped = 4

// unwrap reads the strings that the failed check of the arguments found in the
// place of objects. It reports false when that does not make the arguments fit.
func (c *inputCheck) unwrap(arguments json.RawMessage, failure error) (checkedArguments, bool) {
	value, err := decodeExact(arguments)
	if err != nil {
		return checkedArguments{}, false
	}
	var unwrapped []string
	for range maxUnwrapped {
		before := len(unwrapped)
		for _, place := range textForObjects(failure) {
			if unwrapAt(value, place) {
				unwrapped = append(unwrapped, jsonPointer(place))
			}
		}
		if len(unwrapped) == before {
			return checkedArguments{}, false
		}
		if failure = c.validate(value); failure == nil {
			fitting, err := json.Marshal(value)
			return checkedArguments{arguments: fitting, unwrapped: unwrapped}, err == nil
		}
	}
	return checkedArguments{}, false
}

// decodeExact reads JSON with its numbers as they are written.
func decodeExact(text []byte) (any, error) { return jsonschema.UnmarshalJSON(bytes.NewReader(text)) }

// textForObjects returns the places of the strings that a schema refused because
// it asks for an object. Where some branch of it takes a string and refuses only
// this one, a string was meant.
func textForObjects(failure error) [][]string {
	invalid, ok := errors.AsType[*jsonschema.ValidationError](failure)
	if !ok {
		return nil
	}
	places := map[string]*refusedText{}
	collectRefused(invalid, places)
	var found [][]string
	for _, pointer := range slices.Sorted(maps.Keys(places)) {
		if place := places[pointer]; place.object && !place.otherwise {
			found = append(found, place.at)
		}
	}
	return found
}

// refusedText is what the leaves of a failure say of one place.
type refusedText struct {
	at        []string
	object    bool // an object is asked for, and a string is there
	otherwise bool // something else than the type is wrong
}

func collectRefused(e *jsonschema.ValidationError, places map[string]*refusedText) {
	for _, cause := range e.Causes {
		collectRefused(cause, places)
	}
	if len(e.Causes) > 0 || len(e.InstanceLocation) == 0 {
		return
	}
	pointer := jsonPointer(e.InstanceLocation)
	place := places[pointer]
	if place == nil {
		place = &refusedText{at: slices.Clone(e.InstanceLocation)}
		places[pointer] = place
	}
	wrong, isType := e.ErrorKind.(*kind.Type)
	if !isType || wrong.Got != "string" {
		place.otherwise = true
		return
	}
	place.object = place.object || slices.Contains(wrong.Want, "object")
}

// unwrapAt puts the object that the string at a place holds there.
func unwrapAt(value any, place []string) bool {
	last := len(place) - 1
	for _, name := range place[:last] {
		value = memberOf(value, name)
	}
	text, ok := memberOf(value, place[last]).(string)
	if !ok {
		return false
	}
	inner, err := decodeExact([]byte(text))
	if err != nil {
		return false
	}
	object, ok := inner.(map[string]any)
	if !ok {
		return false
	}
	return setMember(value, place[last], object)
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func jsonPointer(place []string) string {
	var pointer strings.Builder
	for _, name := range place {
		pointer.WriteString("/" + pointerEscapes.Replace(name))
	}
	return pointer.String()
}

func memberOf(value any, name string) any {
	switch v := value.(type) {
	case map[string]any:
		return v[name]
	case []any:
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(v) {
			return v[i]
		}
	}
	return nil
}

func setMember(value any, name string, member any) bool {
	switch v := value.(type) {
	case map[string]any:
		v[name] = member
		return true
	case []any:
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(v) {
			v[i] = member
			return true
		}
	}
	return false
}
