// Package sqltext looks at SQL text as far as one can without a database: how many
// statements it holds, and whether the one is a query. It reads the lexical rules of
// SQLite: its quotes, its comments, and the semicolon.
//
// What it says is a courtesy to authors, who learn of a mistake before anything
// runs. Keeping a query from writing is the database's part.
package sqltext

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxBytes is the length of a query, far above what people write.
const MaxBytes = 100_000

// The reasons why a text is no single query. Errors of [Query] match one of them.
var (
	ErrEmpty    = errors.New("there is no statement")
	ErrSeveral  = errors.New("there is more than one statement")
	ErrNotQuery = errors.New("the statement is no query")
	ErrText     = errors.New("the text is no SQL")
)

// Query gives the single query that the text holds, without what surrounds it: space,
// comments and closing semicolons. A query begins with SELECT, WITH or VALUES. A WITH
// may still lead to an INSERT, which only the database can tell.
func Query(text string) (string, error) {
	switch {
	case len(text) > MaxBytes:
		return "", fmt.Errorf("%w: it is longer than %d bytes", ErrText, MaxBytes)
	case !utf8.ValidString(text):
		return "", fmt.Errorf("%w: it is not UTF-8", ErrText)
	case strings.ContainsRune(text, 0):
		return "", fmt.Errorf("%w: it holds a zero byte", ErrText)
	}
	start, end := -1, -1 // of the statement
	closed := false
	for at := 0; at < len(text); {
		next, kind, err := token(text, at)
		switch {
		case err != nil:
			return "", err
		case kind == blank:
		case kind == semicolon:
			closed = start >= 0
		case closed:
			return "", fmt.Errorf("%w: the second begins with %s", ErrSeveral, word(text[at:]))
		default:
			if start < 0 {
				start = at
			}
			end = next
		}
		at = next
	}
	if start < 0 {
		return "", ErrEmpty
	}
	statement := text[start:end]
	switch strings.ToUpper(word(statement)) {
	case "SELECT", "WITH", "VALUES":
		return statement, nil
	default:
		return "", fmt.Errorf("%w: it begins with %s", ErrNotQuery, word(statement))
	}
}

type kind int

const (
	blank kind = iota // space or comment
	semicolon
	other
)

// token gives the end of the token that begins at a place, and what it is.
func token(text string, at int) (end int, k kind, err error) {
	rest := text[at:]
	switch {
	case strings.HasPrefix(rest, "--"):
		if line := strings.IndexByte(rest, '\n'); line >= 0 {
			return at + line + 1, blank, nil
		}
		return len(text), blank, nil
	case strings.HasPrefix(rest, "/*"):
		if stop := strings.Index(rest[2:], "*/"); stop >= 0 {
			return at + 2 + stop + 2, blank, nil
		}
		return len(text), blank, nil // SQLite takes the end of the text for the comment's end
	case strings.HasPrefix(rest, "\ufeff"):
		return at + len("\ufeff"), blank, nil
	}
	switch c := rest[0]; c {
	case ' ', '\t', '\n', '\f', '\r':
		return at + 1, blank, nil
	case ';':
		return at + 1, semicolon, nil
	case '\'', '"', '`', '[':
		closing := c
		if c == '[' {
			closing = ']'
		}
		// A doubled quote closes and opens again, which comes to the same here.
		stop := strings.IndexByte(rest[1:], closing)
		if stop < 0 {
			return 0, other, fmt.Errorf("%w: the quote %c at byte %d is never closed", ErrText, c, at+1)
		}
		return at + 1 + stop + 1, other, nil
	default:
		_, size := utf8.DecodeRuneInString(rest)
		return at + size, other, nil
	}
}

// word is what a statement begins with, as it is shown to people.
func word(statement string) string {
	end := strings.IndexFunc(statement, func(r rune) bool { return !unicode.IsLetter(r) && r != '_' })
	if end < 0 {
		end = len(statement)
	}
	if end == 0 {
		_, end = utf8.DecodeRuneInString(statement)
	}
	return statement[:min(end, 40)]
}
