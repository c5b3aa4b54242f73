package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Condition is a test of a step's configuration, as data. Exactly one field is
// set; the keys are dot paths. A nil condition always holds, and the zero value,
// which JSON cannot give, never does.
//
// Conditions read the configuration as it is stored, without defaults. A path
// through something that is no object finds nothing.
type Condition struct {
	// Set holds for a value other than absent, null, "" and [].
	Set string
	// Unset is the opposite of Set.
	Unset string
	// Present holds for a value other than absent and null; "" counts.
	Present string
	// Absent is the opposite of Present.
	Absent string
	// Is holds when every key has its value. A list of values means any of them.
	// Null, alone or in a list, means unset. Types count: 4 is not "4".
	Is map[string]any
	// Has holds when under every key there is a list that holds one of the
	// values.
	Has map[string][]any
	// Not, All and Any combine. An empty All holds, an empty Any does not.
	Not *Condition
	All []Condition
	Any []Condition
}

// conditionForm is the condition in JSON.
type conditionForm struct {
	Set     *string          `json:"set,omitzero"`
	Unset   *string          `json:"unset,omitzero"`
	Present *string          `json:"present,omitzero"`
	Absent  *string          `json:"absent,omitzero"`
	Is      map[string]any   `json:"is,omitzero"`
	Has     map[string][]any `json:"has,omitzero"`
	Not     *Condition       `json:"not,omitzero"`
	All     []Condition      `json:"all,omitzero"`
	Any     []Condition      `json:"any,omitzero"`
}

// MarshalJSON implements [json.Marshaler]. It refuses a condition that has not
// exactly one form.
func (c Condition) MarshalJSON() ([]byte, error) {
	if n := len(c.forms()); n != 1 {
		return nil, fmt.Errorf("condition has %d forms, needs exactly one", n)
	}
	return json.Marshal(conditionForm{
		Set: named(c.Set), Unset: named(c.Unset), Present: named(c.Present), Absent: named(c.Absent),
		Is: c.Is, Has: c.Has, Not: c.Not, All: c.All, Any: c.Any,
	})
}

// UnmarshalJSON implements [json.Unmarshaler]. It refuses unknown forms, and
// objects with none or several.
func (c *Condition) UnmarshalJSON(data []byte) error {
	if bytes.Equal(bytes.TrimSpace(data), []byte("null")) {
		return errors.New("condition is null, must be an object with one form")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	dec.DisallowUnknownFields()
	var form conditionForm
	if err := dec.Decode(&form); err != nil {
		return fmt.Errorf("condition: %w", err)
	}
	decoded := Condition{
		Set: text(form.Set), Unset: text(form.Unset), Present: text(form.Present), Absent: text(form.Absent),
		Is: form.Is, Has: form.Has, Not: form.Not, All: form.All, Any: form.Any,
	}
	if forms := decoded.forms(); len(forms) != 1 {
		return fmt.Errorf("condition has the forms [%s], needs exactly one of set, unset, present, absent, is, has, not, all, any, and a key",
			strings.Join(forms, " "))
	}
	*c = decoded
	return nil
}

func named(key string) *string {
	if key == "" {
		return nil
	}
	return &key
}

func text(key *string) string {
	if key == nil {
		return ""
	}
	return *key
}

// forms lists the forms that are in use.
func (c *Condition) forms() []string {
	var forms []string
	for _, form := range []struct {
		name string
		used bool
	}{
		{"set", c.Set != ""},
		{"unset", c.Unset != ""},
		{"present", c.Present != ""},
		{"absent", c.Absent != ""},
		{"is", c.Is != nil},
		{"has", c.Has != nil},
		{"not", c.Not != nil},
		{"all", c.All != nil},
		{"any", c.Any != nil},
	} {
		if form.used {
			forms = append(forms, form.name)
		}
	}
	return forms
}

// Matches reports whether the condition holds for a configuration, which is as a
// JSON decoder gives it: nested map[string]any, []any, strings, booleans, numbers
// of any Go type or [json.Number]. A nil condition holds.
func (c *Condition) Matches(config map[string]any) bool {
	if c == nil {
		return true
	}
	switch {
	case c.Set != "":
		return !isUnset(lookup(config, c.Set))
	case c.Unset != "":
		return isUnset(lookup(config, c.Unset))
	case c.Present != "":
		return !isNull(lookup(config, c.Present))
	case c.Absent != "":
		return isNull(lookup(config, c.Absent))
	case c.Is != nil:
		return c.matchesIs(config)
	case c.Has != nil:
		return c.matchesHas(config)
	case c.Not != nil:
		return !c.Not.Matches(config)
	case c.All != nil:
		return !slices.ContainsFunc(c.All, func(sub Condition) bool { return !sub.Matches(config) })
	default:
		return slices.ContainsFunc(c.Any, func(sub Condition) bool { return sub.Matches(config) })
	}
}

func (c *Condition) matchesIs(config map[string]any) bool {
	for key, wanted := range c.Is {
		alternatives, isList := elements(wanted)
		if !isList {
			alternatives = []any{wanted}
		}
		value := lookup(config, key)
		if !slices.ContainsFunc(alternatives, func(alternative any) bool { return isOne(value, alternative) }) {
			return false
		}
	}
	return true
}

func isOne(value, alternative any) bool {
	if isNull(alternative) {
		return isUnset(value)
	}
	return equal(value, alternative)
}

func (c *Condition) matchesHas(config map[string]any) bool {
	for key, wanted := range c.Has {
		values, isList := elements(lookup(config, key))
		if !isList || !slices.ContainsFunc(values, func(value any) bool {
			return slices.ContainsFunc(wanted, func(alternative any) bool { return equal(value, alternative) })
		}) {
			return false
		}
	}
	return true
}

// Keys lists the configuration keys that the condition reads, each once, sorted.
func (c *Condition) Keys() []string {
	keys := map[string]bool{}
	c.collectKeys(keys)
	return slices.Sorted(maps.Keys(keys))
}

func (c *Condition) collectKeys(keys map[string]bool) {
	if c == nil {
		return
	}
	for _, key := range []string{c.Set, c.Unset, c.Present, c.Absent} {
		if key != "" {
			keys[key] = true
		}
	}
	for key := range c.Is {
		keys[key] = true
	}
	for key := range c.Has {
		keys[key] = true
	}
	c.Not.collectKeys(keys)
	for _, list := range [][]Condition{c.All, c.Any} {
		for i := range list {
			list[i].collectKeys(keys)
		}
	}
}
