package costs

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// A daily file is read level by level, and most of it only to be kept. The scanner
// here splits an object into its fields without looking into them, which the
// standard decoder cannot do without checking every byte again on every level. It
// relies on input that json.Valid has let through.

// members calls yield for each field of an object, in order. Nothing and null have
// none. Values are parts of raw, not copies.
func members(raw []byte, yield func(name string, value json.RawMessage) error) error {
	raw = skipSpace(raw)
	if len(raw) == 0 || isNull(raw) {
		return nil
	}
	if raw[0] != '{' {
		return errNotObject
	}
	for raw = skipSpace(raw[1:]); len(raw) > 0 && raw[0] != '}'; {
		end := valueEnd(raw)
		name, err := unquote(raw[:end])
		if err != nil {
			return err
		}
		raw = skipSpace(raw[end:])
		if len(raw) == 0 || raw[0] != ':' {
			return errNotObject
		}
		raw = skipSpace(raw[1:])
		end = valueEnd(raw)
		if err := yield(name, raw[:end]); err != nil {
			return err
		}
		raw = skipSpace(raw[end:])
		if len(raw) > 0 && raw[0] == ',' {
			raw = skipSpace(raw[1:])
		}
	}
	return nil
}

func isNull(raw []byte) bool { return bytes.HasPrefix(raw, []byte("null")) }

func skipSpace(raw []byte) []byte {
	for i, c := range raw {
		if c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return raw[i:]
		}
	}
	return nil
}

// valueEnd is the length of the value that raw starts with.
func valueEnd(raw []byte) int {
	if len(raw) == 0 {
		return 0
	}
	switch raw[0] {
	case '"':
		return textEnd(raw)
	case '{', '[':
		return nestedEnd(raw)
	}
	if end := bytes.IndexAny(raw, " \n\t\r,:]}"); end >= 0 {
		return end
	}
	return len(raw)
}

func textEnd(raw []byte) int {
	for i := 1; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}

func nestedEnd(raw []byte) int {
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i += textEnd(raw[i:]) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(raw)
}

// unquote returns the text of a JSON string.
func unquote(raw []byte) (string, error) {
	if len(raw) >= 2 && raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return string(raw[1 : len(raw)-1]), nil
	}
	var text string
	err := json.Unmarshal(raw, &text)
	return text, err
}
