package agent

import (
	"context"
	"fmt"
	"regexp"
	"strings"
)

// readRange shows lines, as many as fit, or from an offset the bytes that fit.
func readRange(out *boundedText, content string, args *offloadArguments) error {
	if args.Offset != nil {
		return readBytes(out, content, *args.Offset)
	}
	lines := countLines(content)
	first := max(args.Start, 1)
	last := args.End
	if last <= 0 || last > lines {
		last = lines
	}
	switch {
	case first > lines:
		return fmt.Errorf("the file has %d lines; there is no line %d", lines, first)
	case last < first:
		return fmt.Errorf("the range ends at line %d, before its start %d", last, first)
	}
	at, offset := 1, 0
	for ; at < first; at++ {
		offset += strings.IndexByte(content[offset:], '\n') + 1
	}
	fmt.Fprintf(out, "[lines %d to %d of %d]\n", first, last, lines)
	for ; at <= last; at++ {
		line := content[offset:]
		if end := strings.IndexByte(line, '\n'); end >= 0 {
			line = line[:end+1]
		}
		if !out.add(line) {
			return cutAtLine(out, line, at, offset, at == first)
		}
		offset += len(line)
	}
	return nil
}

// cutAtLine ends a range that does not fit. A single line that does not is shown
// in part: a file may have only one.
func cutAtLine(out *boundedText, line string, at, offset int, only bool) error {
	if !only {
		fmt.Fprintf(out, "[cut here: read on with start %d]", at)
		return nil
	}
	n := runeStart(line, out.left)
	out.add(line[:n])
	fmt.Fprintf(out, "\n[line %d has %d bytes and is cut here: read on with offset %d]", at, len(line), offset+n)
	return nil
}

func readBytes(out *boundedText, content string, offset int) error {
	if offset < 0 || offset >= len(content) {
		return fmt.Errorf("the file has %d bytes; offset %d is not in it", len(content), offset)
	}
	offset = runeStart(content, offset)
	end := runeStart(content, offset+out.left)
	fmt.Fprintf(out, "[bytes %d to %d of %d]\n", offset, end, len(content))
	out.add(content[offset:end])
	if end < len(content) {
		fmt.Fprintf(out, "\n[cut here: read on with offset %d]", end)
	}
	return nil
}

// A match in a line that is longer than shortLine is shown with what stands around
// it, in bytes.
const (
	shortLine   = 400
	matchBefore = 100
	matchAfter  = 200
)

// searchText shows the lines that a regular expression matches.
func searchText(ctx context.Context, out *boundedText, content string, args *offloadArguments) error {
	switch {
	case args.Pattern == "":
		return fmt.Errorf("search needs a pattern")
	case len(args.Pattern) > maxPatternBytes:
		return fmt.Errorf("the pattern has %d bytes; at most %d are allowed", len(args.Pattern), maxPatternBytes)
	}
	pattern := args.Pattern
	if !args.CaseSensitive {
		pattern = "(?i)" + pattern
	}
	expr, err := regexp.Compile(pattern)
	if err != nil {
		return fmt.Errorf("the pattern is not a regular expression of RE2's syntax: %w", err)
	}
	s := &search{out: out, expr: expr, left: args.MaxResults}
	offset := 0
	for n := 1; offset < len(content); n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, _, found := strings.Cut(content[offset:], "\n")
		if !s.line(line, n, offset) {
			fmt.Fprintf(out, "[more matches follow, from line %d on: narrow the pattern, or read there]", n)
			return nil
		}
		offset += len(line)
		if found {
			offset++
		}
	}
	if out.Len() == 0 {
		out.WriteString("[no line matches]")
	}
	return nil
}

type search struct {
	out  *boundedText
	expr *regexp.Regexp
	left int // matches that may still be shown
}

// line shows the matches of one line; it reports false when there is no more room.
func (s *search) line(line string, n, offset int) bool {
	if len(line) <= shortLine {
		return !s.expr.MatchString(line) || s.show(fmt.Sprintf("%d: %s\n", n, line))
	}
	for _, at := range s.expr.FindAllStringIndex(line, s.left+1) {
		from := runeStart(line, max(at[0]-matchBefore, 0))
		to := runeStart(line, min(at[0]+matchAfter, len(line)))
		if !s.show(fmt.Sprintf("%d (at offset %d): …%s…\n", n, offset+at[0], line[from:to])) {
			return false
		}
	}
	return true
}

func (s *search) show(text string) bool {
	if s.left == 0 || !s.out.add(text) {
		return false
	}
	s.left--
	return true
}
