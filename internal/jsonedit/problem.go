package jsonedit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Problem says why a text is no JSON, for whoever wrote it: with line and column, both
// from 1 and in bytes. It is empty for valid JSON. The text may be anything.
func Problem(text []byte) string {
	switch {
	case len(bytes.TrimSpace(text)) == 0:
		return "the file is empty"
	case bytes.HasPrefix(text, []byte("\xef\xbb\xbf")):
		return "it begins with a byte order mark, which JSON does not allow; save it as UTF-8 without one"
	case bytes.HasPrefix(text, []byte("\xff\xfe")), bytes.HasPrefix(text, []byte("\xfe\xff")):
		return "it is encoded as UTF-16; save it as UTF-8"
	}
	err := json.Unmarshal(text, new(json.RawMessage))
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &syntax):
		return err.Error()
	case errors.Is(err, io.ErrUnexpectedEOF), strings.HasPrefix(syntax.Error(), "unexpected end"):
		return placeOf(bytes.TrimRight(text, " \t\r\n"), len(text)+1) + "the text ends too early"
	case strings.Contains(syntax.Error(), "max depth"):
		return placeOf(text, int(syntax.Offset)) + "lists and objects are nested more than 10,000 deep"
	}
	return placeOf(text, int(syntax.Offset)) + syntax.Error()
}

// placeOf is the place of the last of some bytes of a text.
func placeOf(text []byte, n int) string {
	before := text[:min(max(n-1, 0), len(text))]
	return fmt.Sprintf("line %d, column %d: ", 1+bytes.Count(before, []byte("\n")), len(before)-bytes.LastIndexByte(before, '\n'))
}
