package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// textReader reads the pieces of a text, given as JSON strings. Servers that cut it
// anywhere end a piece inside a character, which then waits for its rest.
type textReader struct {
	half []byte // the beginning of a character, as it stands in the JSON
}

// next takes a piece and returns the text that it completes. What is no string is
// no text.
func (t *textReader) next(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	body := raw[1 : len(raw)-1]
	if halfCharacter(body) == 0 && len(t.half) == 0 {
		return text(raw)
	}
	body = slices.Concat(t.half, body)
	whole := len(body) - halfCharacter(body)
	t.half = body[whole:]
	return unquoted(body[:whole])
}

// rest is the character that never became whole: a replacement character, or
// nothing.
func (t *textReader) rest() string { return unquoted(t.half) }

func unquoted(body []byte) string { return text(slices.Concat([]byte(`"`), body, []byte(`"`))) }

// textMerge joins the pieces of a text.
type textMerge struct {
	reader textReader
	joined strings.Builder
}

func (t *textMerge) add(raw json.RawMessage) string {
	piece := t.reader.next(raw)
	t.joined.WriteString(piece)
	return piece
}

func (t *textMerge) String() string {
	if len(t.reader.half) == 0 {
		return t.joined.String()
	}
	return t.joined.String() + t.reader.rest()
}

// Len is not zero when there is any text.
func (t *textMerge) Len() int { return t.joined.Len() + len(t.reader.half) }

// halfCharacter is how many bytes at the end of a JSON string's inside are the
// beginning of a character: of its bytes, or of a pair of escapes.
func halfCharacter(body []byte) int {
	const escape = len(`\ud83d`)
	if at := len(body) - escape; at >= 0 && body[at] == '\\' && body[at+1] == 'u' {
		before := bytes.TrimRight(body[:at], `\`)
		high := strings.ContainsRune("dD", rune(body[at+2])) && strings.ContainsRune("89abAB", rune(body[at+3]))
		if high && (at-len(before))%2 == 0 {
			return escape
		}
	}
	for n := 1; n < utf8.UTFMax && n <= len(body); n++ {
		tail := body[len(body)-n:]
		if !utf8.RuneStart(tail[0]) {
			continue
		}
		if utf8.FullRune(tail) {
			return 0
		}
		return n
	}
	return 0
}

// jsonValues are the JSON values that data begins with, and what comes after them.
func jsonValues(data []byte) (values []json.RawMessage, rest []byte) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	for {
		var value json.RawMessage
		end := decoder.InputOffset()
		if decoder.Decode(&value) != nil {
			return values, bytes.TrimSpace(data[end:])
		}
		values = append(values, value)
	}
}
