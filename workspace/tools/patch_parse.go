package tools

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// The parsers of github.com/sourcegraph/go-diff and github.com/bluekeyes/go-gitdiff
// were tried on what models write. The first refuses hunk headers without line numbers
// and a removed line that begins with "--"; the second refuses wrong counts, and takes
// a hunk without numbers for no hunk at all, without an error. Hence this one.

// filePatch is a unified diff of one file.
type filePatch struct {
	creates, deletes bool // the other side is /dev/null
	hunks            []hunk
}

// hunk is one place that changes.
type hunk struct {
	number    int // in the patch, from 1
	patchLine int // where its header stands in the patch, from 1
	// oldStart is the line that its header names, from 1; 0 is none. It is a hint:
	// models count badly.
	oldStart int
	hasStart bool
	oldCount int // as the header says; -1 is unknown
	newCount int
	lines    []patchLine
	// oldBare and newBare say that this side's last line has no newline.
	oldBare, newBare bool
	// oldLines and newLines count the lines of both sides as they are.
	oldLines, newLines int
}

// patchLine is a line of a hunk: kept (' '), removed ('-') or added ('+').
type patchLine struct {
	op   byte
	text string // without the newline
	at   int    // in the patch, from 1
	// blank is a kept line that came without its space: perhaps only the space
	// between two hunks.
	blank bool
}

// PatchError says why a patch cannot be read.
type PatchError struct {
	Line    int // of the patch, from 1; 0 is the whole
	Problem string
}

func (e *PatchError) Error() string {
	if e.Line == 0 {
		return "the patch cannot be read: " + e.Problem
	}
	return fmt.Sprintf("line %d of the patch cannot be read: %s", e.Line, e.Problem)
}

// patchParser reads a patch line by line.
type patchParser struct {
	lines []string
	at    int // index of the line that is read
	patch filePatch
	named bool // the names of the file were read
}

// parsePatch reads a unified diff of one file. It takes what models write: wrong or
// missing line numbers and counts, no names, a Markdown fence around it, empty lines
// in place of a single space.
func parsePatch(text string) (*filePatch, error) {
	p := &patchParser{lines: splitPatch(text)}
	for p.at < len(p.lines) {
		if err := p.next(); err != nil {
			return nil, err
		}
	}
	if len(p.patch.hunks) == 0 && !p.patch.creates && !p.patch.deletes {
		return nil, &PatchError{0, "it has no hunk. Give a unified diff: a line \"@@ -1,3 +1,4 @@\", then lines that begin with a space (kept), \"-\" (removed) or \"+\" (added)"}
	}
	for i := range p.patch.hunks {
		if err := p.patch.hunks[i].finish(i + 1); err != nil {
			return nil, err
		}
	}
	return &p.patch, nil
}

// splitPatch gives the lines of a patch without a fence around it.
func splitPatch(text string) []string {
	lines := strings.Split(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	first, last := 0, len(lines)
	for first < last && strings.TrimSpace(lines[first]) == "" {
		first++
	}
	if first < last && strings.HasPrefix(lines[first], "```") {
		lines[first] = ""
		for last > first && strings.TrimSpace(lines[last-1]) == "" {
			last--
		}
		if last > first && strings.TrimSpace(lines[last-1]) == "```" {
			last--
		}
	}
	return lines[:last]
}

var (
	hunkNumbers = regexp.MustCompile(`^@@+ *-(\d+)(?:,(\d+))? +\+(\d+)(?:,(\d+))? *@@`)
	// gitHeader are the lines of a git patch beside the names.
	gitHeader = regexp.MustCompile(`^(index |(old|new|deleted file|new file) mode |similarity index |dissimilarity index |Index: |={3,}|From |Subject: |Date: )`)
)

// next reads one line outside of a hunk, or a whole hunk.
func (p *patchParser) next() error {
	line := strings.TrimSuffix(p.lines[p.at], "\r")
	number := p.at + 1
	switch {
	case strings.HasPrefix(line, "@@"):
		return p.hunk()
	case p.isFileHeader(p.at):
		return p.names()
	case strings.HasPrefix(line, "*** Begin Patch"), strings.HasPrefix(line, "*** Update File"):
		return &PatchError{number, "this is another form of patch; give a unified diff with \"@@\" lines"}
	case strings.HasPrefix(line, "Binary files "), strings.HasPrefix(line, "GIT binary patch"):
		return &PatchError{number, "binary files cannot be patched"}
	case strings.HasPrefix(line, "rename "), strings.HasPrefix(line, "copy "):
		return &PatchError{number, "files are not renamed or copied by a patch; use the shell for that, then patch the content"}
	case strings.HasPrefix(line, "diff "):
		if p.named || len(p.patch.hunks) > 0 {
			return severalFiles(number)
		}
	case strings.TrimSpace(line) == "", gitHeader.MatchString(line):
	case p.named && len(p.patch.hunks) == 0 && strings.ContainsRune(" +-", rune(line[0])):
		return p.hunkBody(hunk{patchLine: number, oldCount: -1, newCount: -1})
	case len(p.patch.hunks) > 0:
		return &PatchError{number, fmt.Sprintf("it begins with neither a space, \"-\", \"+\" nor \"@@\": %s", quoteLine(line))}
	}
	p.at++
	return nil
}

func severalFiles(line int) error {
	return &PatchError{line, "a second file begins here. Patch one file with each call"}
}

// isFileHeader reports whether the two names of a file stand at a line. A removed
// line "-- x" above an added "++ y" looks the same, so a hunk asks before it comes here.
func (p *patchParser) isFileHeader(at int) bool {
	return at+1 < len(p.lines) && strings.HasPrefix(p.lines[at], "--- ") && strings.HasPrefix(p.lines[at+1], "+++ ")
}

func (p *patchParser) names() error {
	if p.named || len(p.patch.hunks) > 0 {
		return severalFiles(p.at + 1)
	}
	p.named = true
	p.patch.creates = isDevNull(p.lines[p.at][4:])
	p.patch.deletes = isDevNull(p.lines[p.at+1][4:])
	p.at += 2
	if p.patch.creates && p.patch.deletes {
		return &PatchError{p.at, "both names are /dev/null"}
	}
	return nil
}

func isDevNull(name string) bool {
	name, _, _ = strings.Cut(strings.TrimSpace(name), "\t")
	return name == "/dev/null"
}

// hunk reads a hunk from its header on.
func (p *patchParser) hunk() error {
	h := hunk{patchLine: p.at + 1, oldCount: -1, newCount: -1}
	if m := hunkNumbers.FindStringSubmatch(p.lines[p.at]); m != nil {
		h.hasStart, h.oldStart = true, number(m[1], 0)
		h.oldCount, h.newCount = number(m[2], 1), number(m[4], 1)
	}
	p.at++
	return p.hunkBody(h)
}

// number reads digits; a number too large for a file is as good as the largest.
func number(digits string, otherwise int) int {
	if digits == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil {
		return 1<<31 - 1
	}
	return int(n)
}

// hunkBody reads the lines of a hunk up to the next header. Where the counts say that
// the hunk is not complete, what looks like a file header is a removed and an added line.
func (p *patchParser) hunkBody(h hunk) error {
	for ; p.at < len(p.lines); p.at++ {
		line := p.lines[p.at]
		if line == "" || line == "\r" {
			h.add(patchLine{op: ' ', text: line, at: p.at + 1, blank: true})
			continue
		}
		if p.isFileHeader(p.at) && !h.expects() {
			break
		}
		switch line[0] {
		case ' ', '+', '-':
			h.add(patchLine{op: line[0], text: line[1:], at: p.at + 1})
			continue
		case '\\':
			h.markBare()
			continue
		}
		break
	}
	p.patch.hunks = append(p.patch.hunks, h)
	return nil
}

// expects reports whether both sides still miss a line by the header's counts.
func (h *hunk) expects() bool { return h.oldLines < h.oldCount && h.newLines < h.newCount }

func (h *hunk) add(line patchLine) {
	h.lines = append(h.lines, line)
	if line.op != '+' {
		h.oldLines++
	}
	if line.op != '-' {
		h.newLines++
	}
}

// markBare takes "\ No newline at end of file", which is about the line above.
func (h *hunk) markBare() {
	if len(h.lines) == 0 {
		return
	}
	switch h.lines[len(h.lines)-1].op {
	case '-':
		h.oldBare = true
	case '+':
		h.newBare = true
	default:
		h.oldBare, h.newBare = true, true
	}
}

// finish checks a hunk that is complete.
func (h *hunk) finish(number int) error {
	h.number = number
	for i := range h.lines {
		if h.lines[i].op != ' ' {
			return nil
		}
	}
	return &PatchError{h.patchLine, fmt.Sprintf("hunk %d changes nothing: it has no line that begins with \"-\" or \"+\"", number)}
}

// spare is how many lines at the end may be no more than the space below the hunk.
func (h *hunk) spare() int {
	n := 0
	for n < len(h.lines) && h.lines[len(h.lines)-1-n].blank {
		n++
	}
	return n
}

// side gives the lines of the old ('-') or the new ('+') content.
func side(lines []patchLine, op byte) []string {
	var texts []string
	for i := range lines {
		if lines[i].op == ' ' || lines[i].op == op {
			texts = append(texts, lines[i].text)
		}
	}
	return texts
}

// maxQuoted is how many bytes of a line are quoted.
const maxQuoted = 160

func quoteLine(text string) string {
	text = strings.ToValidUTF8(strings.TrimSuffix(text, "\r"), "\uFFFD")
	if len(text) > maxQuoted {
		text = strings.ToValidUTF8(text[:maxQuoted], "") + "…"
	}
	return "`" + text + "`"
}
