package validation

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"strings"
)

// A regular expression takes time in proportion to its compiled size times the length
// of the text. Both are bounded: the size here, and the text by the size of a file.
const (
	maxPatternBytes = 2000
	maxPatternSize  = 10_000 // instructions
)

// compilePattern compiles a pattern of bounded size.
func compilePattern(text string) (*regexp.Regexp, error) {
	if len(text) > maxPatternBytes {
		return nil, fmt.Errorf("it is longer than %d bytes", maxPatternBytes)
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	compiled, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	if len(compiled.Inst) > maxPatternSize {
		return nil, fmt.Errorf("it repeats too much: it has %d instructions, at most %d are allowed", len(compiled.Inst), maxPatternSize)
	}
	return regexp.Compile(text)
}

// longText is the length in bytes from which on a match can be interrupted.
const longText = 64 << 10

// matches reports whether a text contains a match. For a long text it stops when the
// context is done; what it says then has no meaning.
func matches(ctx context.Context, pattern *regexp.Regexp, text string) bool {
	if len(text) < longText {
		return pattern.MatchString(text)
	}
	return pattern.MatchReader(&interruptible{ctx: ctx, text: strings.NewReader(text)})
}

// interruptible is a text that ends early when its context is done.
type interruptible struct {
	ctx  context.Context
	text *strings.Reader
	read int
}

// ReadRune implements [io.RuneReader].
func (t *interruptible) ReadRune() (r rune, size int, err error) {
	if t.read++; t.read%4096 == 0 && t.ctx.Err() != nil {
		return 0, 0, io.EOF
	}
	return t.text.ReadRune()
}
