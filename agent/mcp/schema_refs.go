package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// refCheck finds references that lead nowhere. One of them makes an endpoint refuse
// the whole request, with all other tools in it.
type refCheck struct {
	root    json.RawMessage
	follow  func(pointer string) string // where moved keywords are now
	address string                      // the root's own, which a reference to itself may use
	parts   bool                        // parts have addresses of their own, which change what a reference means
	anchors map[string]bool
	notes   []string
}

// checkRefs returns the schema without the references that lead nowhere, and says
// which those were: any value is taken there.
func checkRefs(root json.RawMessage, m *modernizer) (json.RawMessage, []string, error) {
	if !bytes.Contains(root, []byte(`"$ref"`)) && !bytes.Contains(root, []byte(`"$dynamicRef"`)) {
		return root, nil, nil
	}
	c := &refCheck{root: root, follow: m.follow, anchors: map[string]bool{}}
	if _, err := (&schemaWalk{dialect: m.dialect, change: c.collect}).root(root); err != nil {
		return nil, nil, err
	}
	checked, err := (&schemaWalk{dialect: m.dialect, change: c.check}).root(root)
	return checked, c.notes, err
}

func (c *refCheck) collect(schema object, at schemaPlace) object {
	for _, m := range schema {
		switch {
		case m.name == "$anchor", m.name == "$dynamicAnchor":
			c.anchors[textOf(m.value)] = true
		case m.name == "$id" && at.pointer == "":
			c.address = textOf(m.value)
		case m.name == "$id":
			c.parts = true
		}
	}
	return schema
}

func (c *refCheck) check(schema object, at schemaPlace) object {
	for _, name := range []string{"$ref", "$dynamicRef"} {
		raw, ok := schema.get(name)
		if !ok || c.parts {
			continue
		}
		ref, found := c.resolved(textOf(raw))
		if !found || jsonKind(raw) != "a string" {
			c.notes = append(c.notes, fmt.Sprintf("the input schema at %s: %s %s leads nowhere inside it; any value is taken there",
				at.pointer, name, clipped(string(raw), 100)))
			schema = schema.without(name)
			continue
		}
		if ref != textOf(raw) {
			schema = schema.set(name, jsonText(ref))
		}
	}
	return schema
}

// resolved returns a reference as it reads now, and whether it leads anywhere.
func (c *refCheck) resolved(ref string) (_ string, found bool) {
	fragment, ok := c.inside(ref)
	switch {
	case !ok:
		return ref, false
	case fragment == "":
		return "#", true
	case strings.HasPrefix(fragment, "/"):
		now := c.follow(fragment)
		_, found := lookUp(c.root, now)
		return "#" + now, found
	}
	return "#" + fragment, c.anchors[fragment]
}

// inside returns the fragment of a reference to the schema itself.
func (c *refCheck) inside(ref string) (fragment string, ok bool) {
	if fragment, ok := strings.CutPrefix(ref, "#"); ok {
		return fragment, true
	}
	base, err := url.Parse(c.address)
	if err != nil || c.address == "" {
		return "", false
	}
	target, err := base.Parse(ref)
	if err != nil {
		return "", false
	}
	_, fragment, _ = strings.Cut(ref, "#")
	target.Fragment, target.RawFragment = "", ""
	return fragment, target.String() == base.String()
}

// lookUp follows a JSON pointer, as it is written in a reference, to a schema.
func lookUp(root json.RawMessage, pointer string) (json.RawMessage, bool) {
	at := root
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		token = pointerToken(token)
		if isArray(at) {
			var items []json.RawMessage
			index, err := strconv.Atoi(token)
			if err != nil || json.Unmarshal(at, &items) != nil || index < 0 || index >= len(items) {
				return nil, false
			}
			at = items[index]
			continue
		}
		value, err := parseObject(at)
		if err != nil {
			return nil, false
		}
		next, ok := value.get(token)
		if !ok {
			return nil, false
		}
		at = next
	}
	return at, isObject(at) || jsonKind(at) == "a boolean"
}

// pointerToken decodes a token of a pointer in a reference.
func pointerToken(token string) string {
	if decoded, err := url.PathUnescape(token); err == nil {
		token = decoded
	}
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
}
