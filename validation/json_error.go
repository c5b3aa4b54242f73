package validation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// placed says where in a text a JSON decoder has stopped, in lines and columns,
// which help whoever wrote the file more than a byte offset does.
func placed(err error, data []byte, offset int64) error {
	var syntax *json.SyntaxError
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return errors.New("the file is empty")
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return errors.New("the file begins with a byte order mark, which JSON does not allow")
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errors.New("the JSON text ends too early")
	case errors.As(err, &syntax) && strings.Contains(syntax.Error(), "max depth"):
		return tooDeep(data, syntax.Offset-1)
	case errors.As(err, &syntax):
		return fmt.Errorf("%s: %s", position(data, max(syntax.Offset-1, 0)), syntax.Error())
	default:
		return fmt.Errorf("%s: %w", position(data, offset), err)
	}
}

// position gives line and column, both from 1, of a byte of a text.
func position(data []byte, offset int64) string {
	before := data[:min(offset, int64(len(data)))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Sprintf("line %d, column %d", line, column)
}
