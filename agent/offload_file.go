package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

func sameJSON(text string, structured json.RawMessage) bool {
	var a, b bytes.Buffer
	return json.Compact(&a, []byte(text)) == nil && json.Compact(&b, structured) == nil && bytes.Equal(a.Bytes(), b.Bytes())
}

// headTail cuts a text to its first three quarters of size bytes and its last
// quarter, between characters. The text is longer than size.
func headTail(text string, size int) (head, tail string) {
	h := runeStart(text, size*3/4)
	return text[:h], text[max(runeStart(text, len(text)-size/4), h):]
}

// runeStart is the last position at or before n where a character begins.
func runeStart(text string, n int) int {
	if n >= len(text) {
		return len(text)
	}
	for at := n; at > max(n-utf8.UTFMax, 0); at-- {
		if utf8.RuneStart(text[at]) {
			return at
		}
	}
	return max(n, 0) // not UTF-8, or the beginning
}

// clip cuts a text to at most n bytes, and marks that it did.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return text[:runeStart(text, n)] + "…"
}

func countLines(text string) int {
	n := strings.Count(text, "\n")
	if !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

func looksLikeJSON(text string) bool {
	trimmed := strings.TrimSpace(text)
	return trimmed != "" && (trimmed[0] == '{' || trimmed[0] == '[') && json.Valid([]byte(trimmed))
}

// readableJSON indents JSON, so that it has lines to read and to search by. What
// is nested so deeply that it would grow beyond reason stays as it is.
func readableJSON(text string) (content string, indented bool) {
	const indent, growth = "  ", 4
	if indentedSize(text, len(indent)) > growth*len(text) {
		return text, false
	}
	var b bytes.Buffer
	if json.Indent(&b, []byte(strings.TrimSpace(text)), "", indent) != nil {
		return text, false
	}
	return b.String(), b.String() != text
}

// indentedSize is an upper bound of the size of valid JSON after indenting.
func indentedSize(text string, indent int) int {
	size, depth, inString := 0, 0, false
	for i := 0; i < len(text); i++ {
		size++
		switch c := text[i]; {
		case inString:
			switch c {
			case '\\':
				size++
				i++
			case '"':
				inString = false
			}
		case c == '"':
			inString = true
		case c == '{' || c == '[':
			depth++
			size += 1 + depth*indent
		case c == '}' || c == ']':
			depth--
			size += 1 + depth*indent
		case c == ',':
			size += 1 + depth*indent
		case c == ':':
			size++
		}
	}
	return size
}

const maxOffloadName = 100

// offloadName is the name of a file: the readable part of the key, and a hash of
// key and content that keeps different outputs apart.
func offloadName(key, text string, isJSON bool) string {
	h := sha256.New()
	fmt.Fprintf(h, "%d\n%s%s", len(key), key, text)
	readable := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '-'
	}, key)
	if len(readable) > maxOffloadName {
		readable = readable[len(readable)-maxOffloadName:]
	}
	readable = strings.Trim(readable, "-")
	if readable == "" {
		readable = "output"
	}
	ext := "txt"
	if isJSON {
		ext = "json"
	}
	return fmt.Sprintf("%s-%s.%s", readable, hex.EncodeToString(h.Sum(nil))[:16], ext)
}
