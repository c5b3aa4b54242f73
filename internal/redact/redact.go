// Package redact takes secret values out of what is written down.
package redact

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// minLength is the shortest value, in bytes, that is taken for a secret: shorter
// ones stand in ordinary text by chance.
const minLength = 4

// Redactor replaces secret values by a mark with their name. A nil Redactor
// replaces nothing. It is safe for concurrent use.
type Redactor struct {
	replacer *strings.Replacer
	revealer *strings.Replacer
	needles  [][]byte // values and their forms inside JSON, for a quick look
}

// New returns a redactor of secret values by name. Values under four bytes are
// not redacted. It returns nil when nothing is left.
func New(secrets map[string]string) *Redactor {
	names := make([]string, 0, len(secrets))
	for name, value := range secrets {
		if len(value) >= minLength {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	// Longer values first: one secret may contain another.
	slices.SortFunc(names, func(a, b string) int {
		if d := len(secrets[b]) - len(secrets[a]); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	r := &Redactor{}
	var pairs, marks []string
	for _, name := range names {
		for _, form := range forms(secrets[name]) {
			pairs = append(pairs, form, Mark(name))
			r.needles = append(r.needles, []byte(form), inJSON(form, true))
		}
		marks = append(marks, Mark(name), secrets[name])
	}
	r.replacer, r.revealer = strings.NewReplacer(pairs...), strings.NewReplacer(marks...)
	return r
}

// forms are a value as it is, and as it stands in JSON that is itself a text, such
// as the output of a tool.
func forms(value string) []string {
	list := []string{value}
	for _, html := range []bool{true, false} {
		if form := string(inJSON(value, html)); !slices.Contains(list, form) {
			list = append(list, form)
		}
	}
	return list
}

// Reveal puts the values back in the place of their marks.
func (r *Redactor) Reveal(text string) string {
	if r == nil {
		return text
	}
	return r.revealer.Replace(text)
}

// Mark is what stands for the value of a secret.
func Mark(name string) string { return "[secret:" + name + "]" }

// Text redacts plain text.
func (r *Redactor) Text(text string) string {
	if r == nil {
		return text
	}
	return r.replacer.Replace(text)
}

// JSON redacts the strings of a JSON document, keys included, and leaves its form
// as it is. What is not JSON is redacted as text.
func (r *Redactor) JSON(data []byte) []byte {
	if r == nil || !r.mayContain(data) {
		return data
	}
	out := make([]byte, 0, len(data))
	for rest := data; len(rest) > 0; {
		start := bytes.IndexByte(rest, '"')
		if start < 0 {
			return append(out, rest...)
		}
		end := stringEnd(rest, start)
		literal := rest[start:end]
		var text string
		if err := json.Unmarshal(literal, &text); err != nil {
			return []byte(r.replacer.Replace(string(data)))
		}
		out = append(out, rest[:start]...)
		if replaced := r.replacer.Replace(text); replaced != text {
			literal, _ = json.Marshal(replaced) // a string always marshals
		}
		out = append(out, literal...)
		rest = rest[end:]
	}
	return out
}

// mayContain is quick and may be wrong only by saying yes, or by missing a value
// that a writer has escaped in an unusual way; such documents come from no
// encoder in use here.
func (r *Redactor) mayContain(data []byte) bool {
	for _, needle := range r.needles {
		if bytes.Contains(data, needle) {
			return true
		}
	}
	return bytes.Contains(data, []byte(`\u`))
}

// stringEnd returns the offset after the closing quote of the string literal that
// starts at start.
func stringEnd(data []byte, start int) int {
	for i := start + 1; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}

// inJSON is the inside of a JSON string; html says whether "<", ">" and "&" are
// escaped, as encoders of Go do by default.
func inJSON(value string, html bool) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	_ = enc.Encode(value) // a string always encodes
	quoted := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	return quoted[1 : len(quoted)-1]
}
