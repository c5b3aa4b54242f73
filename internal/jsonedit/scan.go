package jsonedit

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// Member is one member of an object.
type Member struct {
	Key   string          // decoded
	Name  json.RawMessage // the key as it is spelled, with its quotes
	Value json.RawMessage
	Span  Span // of the value, in the text of the object
	At    int  // where the name starts in the text of the object
}

// Span is a part of a text, from Start up to and without End.
type Span struct{ Start, End int }

// Members are the members of an object in the order of the text; nil when the text is
// no object.
func Members(text []byte) []Member {
	i := skipSpace(text, 0)
	if i >= len(text) || text[i] != '{' {
		return nil
	}
	var members []Member
	for i = skipSpace(text, i+1); i < len(text) && text[i] == '"'; {
		end := stringEnd(text, i)
		name, at := text[i:end], i
		i = skipSpace(text, end)
		start := skipSpace(text, min(i+1, len(text))) // behind the colon
		end = valueEnd(text, start)
		members = append(members, Member{Key: decodeString(name), Name: name, Value: text[start:end], Span: Span{start, end}, At: at})
		i = skipSpace(text, end)
		if i < len(text) && text[i] == ',' {
			i = skipSpace(text, i+1)
		}
	}
	return members
}

// Elements are the places of the elements of a list; nil when the text is no list.
func Elements(text []byte) []Span {
	i := skipSpace(text, 0)
	if i >= len(text) || text[i] != '[' {
		return nil
	}
	var spans []Span
	for i = skipSpace(text, i+1); i < len(text) && text[i] != ']'; {
		end := valueEnd(text, i)
		if end == i {
			break // no valid JSON
		}
		spans = append(spans, Span{i, end})
		i = skipSpace(text, end)
		if i < len(text) && text[i] == ',' {
			i = skipSpace(text, i+1)
		}
	}
	return spans
}

// IsObject reports whether a text is an object.
func IsObject(text []byte) bool { return starts(text, '{') }

// IsList reports whether a text is a list.
func IsList(text []byte) bool { return starts(text, '[') }

func starts(text []byte, with byte) bool {
	i := skipSpace(text, 0)
	return i < len(text) && text[i] == with
}

func skipSpace(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r') {
		i++
	}
	return i
}

// valueEnd is the end of the value that starts at i.
func valueEnd(text []byte, i int) int {
	depth := 0
	for i < len(text) {
		switch text[i] {
		case '"':
			i = stringEnd(text, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		default:
			if depth == 0 {
				return scalarEnd(text, i)
			}
			i++
			continue
		}
		if depth <= 0 {
			return i
		}
	}
	return i
}

func scalarEnd(text []byte, i int) int {
	if n := bytes.IndexAny(text[i:], ",]} \t\r\n"); n >= 0 {
		return i + n
	}
	return len(text)
}

// stringEnd is the end of the string that starts at i.
func stringEnd(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

func decodeString(text []byte) string {
	if plainString(text) {
		return string(text[1 : len(text)-1])
	}
	var s string
	_ = json.Unmarshal(text, &s) // the text is valid JSON
	return s
}

// plainString reports whether a string stands between its quotes as it is.
func plainString(text []byte) bool {
	if len(text) < 2 || text[0] != '"' || text[len(text)-1] != '"' {
		return false
	}
	for _, b := range text[1 : len(text)-1] {
		if b == '\\' || b == '"' || b < ' ' || b >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
