package workspace

import (
	"bytes"

	"github.com/treadle-dev/treadle/internal/jsonedit"
)

// Locate enters Line and Column of the findings about one file, from their pointers
// and the file's text, which is JSON or meant to be. In a text that is no JSON that is
// where it stops being JSON. Findings about other files, and those that have a line,
// stay as they are. A pointer to what is not there gives the place where it belongs.
func (ds Diagnostics) Locate(file string, text []byte) {
	var found []int
	var pointers []string
	for i := range ds {
		if ds[i].File == file && ds[i].Line == 0 {
			found = append(found, i)
			pointers = append(pointers, ds[i].Pointer)
		}
	}
	if len(found) == 0 || text == nil {
		return
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	lines := newLines(text)
	for n, offset := range jsonedit.Locate(text, pointers) {
		d := &ds[found[n]]
		d.Line, d.Column = lines.position(offset)
	}
}

// lines are the offsets at which the lines of a text start.
type lines []int

func newLines(text []byte) lines {
	starts := lines{0}
	for i, b := range text {
		if b == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

func (l lines) position(offset int) (line, column int) {
	low, high := 0, len(l) // the line is the last one that starts at or before the offset
	for high-low > 1 {
		if middle := (low + high) / 2; l[middle] <= offset {
			low = middle
		} else {
			high = middle
		}
	}
	return low + 1, offset - l[low] + 1
}
