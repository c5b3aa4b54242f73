package jsonedit

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// Locate finds where values stand that JSON pointers (RFC 6901) name: the offset of a
// member's name, or of an element of a list. A pointer to nothing gives the innermost
// value on its way, which is where the value is missing. It reads the text once for
// all pointers.
//
// Unlike for the other functions the text may be anything: in one that is no JSON
// every pointer is where it stops being JSON.
func Locate(text []byte, pointers []string) []int {
	offsets := make([]int, len(pointers))
	if stop, valid := syntaxEnd(text); !valid {
		for i := range offsets {
			offsets[i] = stop
		}
		return offsets
	}
	root := &wanted{}
	for i, pointer := range pointers {
		root.add(pointer, i)
	}
	start := skipSpace(text, 0)
	root.find(text, 0, start, offsets)
	return offsets
}

// syntaxEnd is where a text stops being JSON.
func syntaxEnd(text []byte) (offset int, valid bool) {
	if json.Valid(text) {
		return 0, true
	}
	var syntax *json.SyntaxError
	if err := json.Unmarshal(text, new(json.RawMessage)); errors.As(err, &syntax) {
		return min(max(int(syntax.Offset)-1, 0), len(text)), false
	}
	return 0, false
}

// wanted is a tree of the values that pointers name.
type wanted struct {
	pointers []int // which end here
	below    map[string]*wanted
}

func (w *wanted) add(pointer string, index int) {
	at := w
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			break
		}
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		if at.below == nil {
			at.below = map[string]*wanted{}
		}
		if at.below[token] == nil {
			at.below[token] = &wanted{}
		}
		at = at.below[token]
	}
	at.pointers = append(at.pointers, index)
}

// find enters the offsets of all that is wanted of a value. The value starts the text
// at base in the whole; at is where a reader looks for it.
func (w *wanted) find(value []byte, base, at int, offsets []int) {
	for _, i := range w.pointers {
		offsets[i] = at
	}
	if len(w.below) == 0 {
		return
	}
	found := make(map[string]bool, len(w.below))
	if IsList(value) {
		for i, span := range Elements(value) {
			token := strconv.Itoa(i)
			if below := w.below[token]; below != nil {
				found[token] = true
				below.find(value[span.Start:span.End], base+span.Start, base+span.Start, offsets)
			}
		}
	} else {
		members := Members(value)
		for token, below := range w.below {
			if i := named(members, token); i >= 0 {
				found[token] = true
				m := &members[i]
				below.find(m.Value, base+m.Span.Start, base+m.At, offsets)
			}
		}
	}
	for token, below := range w.below {
		if !found[token] {
			below.missing(at, offsets)
		}
	}
}

// named is the member of a name, else one that differs only by case, as encoding/json
// reads it; -1 for none.
func named(members []Member, key string) int {
	if i := last(members, key); i >= 0 {
		return i
	}
	return slices.IndexFunc(members, func(m Member) bool { return strings.EqualFold(m.Key, key) })
}

func (w *wanted) missing(at int, offsets []int) {
	for _, i := range w.pointers {
		offsets[i] = at
	}
	for _, below := range w.below {
		below.missing(at, offsets)
	}
}
