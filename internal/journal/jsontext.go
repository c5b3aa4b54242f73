package journal

import (
	"encoding/binary"
	"math/bits"
)

// maxDepth is how deep arrays and objects of a payload may nest; it is the limit
// of encoding/json, so that what is accepted here can be decoded there.
const maxDepth = 10000

// scanJSON reports whether text is one JSON value, and whether it has no space
// between its tokens. It exists because checking a payload with encoding/json
// takes longer than all the rest of recording it.
func scanJSON(text []byte) (valid, compact bool) {
	s := jsonScanner{text: text, compact: true}
	s.space()
	valid = s.value(0)
	s.space()
	return valid && s.at == len(text), s.compact
}

// appendCompact appends a valid JSON value without the space between its tokens.
func appendCompact(dst, text []byte) []byte {
	inString := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case inString && c == '\\':
			dst = append(dst, c)
			i++
			c = text[i]
		case c == '"':
			inString = !inString
		case !inString && isSpace(c):
			continue
		}
		dst = append(dst, c)
	}
	return dst
}

type jsonScanner struct {
	text    []byte
	at      int
	compact bool
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func (s *jsonScanner) space() {
	for s.at < len(s.text) && isSpace(s.text[s.at]) {
		s.at++
		s.compact = false
	}
}

// peek returns the next byte, and 0, which no token starts with, at the end.
func (s *jsonScanner) peek() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

func (s *jsonScanner) take(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.at++
	return true
}

func (s *jsonScanner) value(depth int) bool {
	switch c := s.peek(); c {
	case '"':
		return s.str()
	case '{':
		return s.object(depth)
	case '[':
		return s.array(depth)
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	default:
		return s.number()
	}
}

func (s *jsonScanner) object(depth int) bool {
	if depth >= maxDepth {
		return false
	}
	s.at++
	s.space()
	if s.take('}') {
		return true
	}
	for {
		if !s.str() {
			return false
		}
		s.space()
		if !s.take(':') {
			return false
		}
		s.space()
		if !s.value(depth + 1) {
			return false
		}
		s.space()
		if s.take('}') {
			return true
		}
		if !s.take(',') {
			return false
		}
		s.space()
	}
}

func (s *jsonScanner) array(depth int) bool {
	if depth >= maxDepth {
		return false
	}
	s.at++
	s.space()
	if s.take(']') {
		return true
	}
	for {
		if !s.value(depth + 1) {
			return false
		}
		s.space()
		if s.take(']') {
			return true
		}
		if !s.take(',') {
			return false
		}
		s.space()
	}
}

func (s *jsonScanner) literal(word string) bool {
	if len(s.text)-s.at < len(word) || string(s.text[s.at:s.at+len(word)]) != word {
		return false
	}
	s.at += len(word)
	return true
}

func (s *jsonScanner) str() bool {
	if !s.take('"') {
		return false
	}
	for i := s.at; ; i++ {
		i = plainUntil(s.text, i)
		if i == len(s.text) || s.text[i] < ' ' {
			return false
		}
		if s.text[i] == '"' {
			s.at = i + 1
			return true
		}
		n := escapeLen(s.text[i+1:])
		if n == 0 {
			return false
		}
		i += n
	}
}

// plainUntil returns where the next byte from i on is that does not stand for
// itself in a string, or the length of the text. Payloads are mostly strings, so
// it looks at eight bytes at a time: each term has the top bit of a byte set when
// the byte is a control character, a quote, or a backslash. A borrow may set bits
// above such a byte but never below the first.
func plainUntil(text []byte, i int) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(text); i += 8 {
		word := binary.LittleEndian.Uint64(text[i:])
		quote, backslash := word^(ones*'"'), word^(ones*'\\')
		found := ((word-ones*' ')&^word | (quote-ones)&^quote | (backslash-ones)&^backslash) & tops
		if found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(text) && !isEscaped(text[i]) {
		i++
	}
	return i
}

// escapeLen is the length of what follows a backslash, 0 when it is no escape.
func escapeLen(text []byte) int {
	if len(text) == 0 {
		return 0
	}
	switch text[0] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 1
	case 'u':
		if len(text) < 5 {
			return 0
		}
		for _, c := range text[1:5] {
			if !isHex(c) && (c < 'A' || c > 'F') {
				return 0
			}
		}
		return 5
	}
	return 0
}

func (s *jsonScanner) number() bool {
	s.take('-')
	if !s.take('0') && !s.digits() {
		return false
	}
	if s.take('.') && !s.digits() {
		return false
	}
	if s.take('e') || s.take('E') {
		if !s.take('+') {
			s.take('-')
		}
		return s.digits()
	}
	return true
}

func (s *jsonScanner) digits() bool {
	from := s.at
	for s.at < len(s.text) && s.text[s.at] >= '0' && s.text[s.at] <= '9' {
		s.at++
	}
	return s.at > from
}

// isHex reports whether c is a digit of the lower-case hex that the journal writes.
func isHex(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' }
