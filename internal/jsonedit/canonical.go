package jsonedit

import (
	"bytes"
	"slices"
)

// Canonical is a text in a form that two texts share when they differ only in white
// space, the order of keys, how strings are escaped, or earlier ones of a key that
// stands twice. Numbers stay as they are spelled. The form is for comparing and
// hashing.
func Canonical(text []byte) []byte {
	c := &canon{text: text, out: make([]byte, 0, len(text))}
	c.value(skipSpace(text, 0))
	return c.out
}

type canon struct {
	text []byte
	out  []byte
}

// value writes the value at i and returns where it ends.
func (c *canon) value(i int) int {
	if i >= len(c.text) {
		return i
	}
	switch c.text[i] {
	case '{':
		return c.object(i)
	case '[':
		return c.list(i)
	case '"':
		return c.quoted(i)
	}
	end := scalarEnd(c.text, i)
	c.out = append(c.out, c.text[i:end]...)
	return max(end, i+1)
}

func (c *canon) quoted(i int) int {
	end := stringEnd(c.text, i)
	spelled := c.text[i:end]
	if bytes.IndexByte(spelled, '\\') >= 0 {
		spelled = encodeString(decodeString(spelled))
	}
	c.out = append(c.out, spelled...)
	return end
}

func (c *canon) list(i int) int {
	c.out = append(c.out, '[')
	i = skipSpace(c.text, i+1)
	for i < len(c.text) && c.text[i] != ']' {
		i = skipSpace(c.text, c.value(i))
		if i < len(c.text) && c.text[i] == ',' {
			c.out = append(c.out, ',')
			i = skipSpace(c.text, i+1)
		}
	}
	c.out = append(c.out, ']')
	return i + 1
}

// member is a member of an object in the text that is written.
type member struct{ start, colon, end int }

func (c *canon) object(i int) int {
	c.out = append(c.out, '{')
	base := len(c.out)
	var few [16]member
	members, sorted := few[:0], true
	for i = skipSpace(c.text, i+1); i < len(c.text) && c.text[i] == '"'; {
		m := member{start: len(c.out)}
		i = skipSpace(c.text, c.quoted(i))
		m.colon = len(c.out)
		c.out = append(c.out, ':')
		i = skipSpace(c.text, c.value(skipSpace(c.text, i+1)))
		c.out = append(c.out, ',') // also behind the last one, so that members can change places
		m.end = len(c.out)
		if n := len(members); n > 0 && bytes.Compare(c.name(members[n-1]), c.name(m)) >= 0 {
			sorted = false
		}
		members = append(members, m)
		if i < len(c.text) && c.text[i] == ',' {
			i = skipSpace(c.text, i+1)
		}
	}
	if !sorted {
		c.out = append(c.out[:base], c.sort(members)...)
	}
	c.out = append(c.out, '}')
	return i + 1
}

func (c *canon) name(m member) []byte { return c.out[m.start:m.colon] }

func (c *canon) sort(members []member) []byte {
	slices.SortStableFunc(members, func(a, b member) int { return bytes.Compare(c.name(a), c.name(b)) })
	var sorted []byte
	for i, m := range members {
		if i+1 < len(members) && bytes.Equal(c.name(m), c.name(members[i+1])) {
			continue // the last one counts
		}
		sorted = append(sorted, c.out[m.start:m.end]...)
	}
	return sorted
}
