package tools

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// change replaces lines of a file: the index of the first, how many, by what.
type change struct {
	at, remove int
	add        []string
	hunk       int
}

// applied is what a patch does to a text.
type applied struct {
	text           string
	added, removed int
	found          []*finding // in the order of the patch
	changed        bool
}

// applyHunks applies all hunks of a patch, or none. With fresh the text is known to
// be what the patch was made for; otherwise hunks that are in place already are left
// alone, and a patch that could be applied twice over is refused, so that repeating a
// call never changes a file twice.
func applyHunks(text string, patch *filePatch, fresh bool) (*applied, error) {
	result, err := applyOnce(text, patch, fresh)
	if err != nil || fresh || !result.changed {
		return result, err
	}
	again, err := applyOnce(result.text, patch, false)
	if err == nil && again.changed {
		return nil, &MismatchError{Problem: "the patch fits, and would fit once more afterwards, so it is not sure where its changes belong. " +
			"Give its hunks more of the lines around the changes, or pass expected_hash"}
	}
	return result, nil
}

// searchBudget bounds how many lines are looked at, so that a patch takes seconds at
// the most, whatever it is.
const searchBudget = 100_000_000

func applyOnce(text string, patch *filePatch, fresh bool) (*applied, error) {
	file := splitText(text)
	if len(patch.hunks)*len(file.lines) > searchBudget {
		return nil, &MismatchError{Problem: fmt.Sprintf("%d hunks are too many at once for a file of %d lines; split the patch", len(patch.hunks), len(file.lines))}
	}
	finder := newFinder(&file, fresh)
	result := &applied{}
	var changes []change
	drift := 0
	for i := range patch.hunks {
		h := &patch.hunks[i]
		found, err := finder.find(h, drift)
		if err != nil {
			return nil, err
		}
		result.found = append(result.found, found)
		drift += h.newLines - h.oldLines
		if found.done == nil {
			changes = append(changes, found.changes(&file)...)
		}
	}
	if err := inOrder(changes); err != nil {
		return nil, err
	}
	for i := range changes {
		result.added += len(changes[i].add)
		result.removed += changes[i].remove
	}
	bare := bareAfter(&file, result.found)
	after := fileText{lines: replaceLines(file.lines, changes), bare: bare}
	result.text = after.join()
	result.changed = result.text != text
	return result, nil
}

// changes gives what a hunk changes, without what it keeps: two hunks may show the
// same lines of the file, as long as they do not change the same.
func (f *finding) changes(file *fileText) []change {
	var all []change
	at := f.at
	var open *change
	for i := range f.lines {
		line := &f.lines[i]
		if line.op == ' ' {
			at, open = at+1, nil
			continue
		}
		if open == nil {
			all = append(all, change{at: at, hunk: f.hunk.number})
			open = &all[len(all)-1]
		}
		if line.op == '-' {
			open.remove++
			at++
		} else {
			open.add = append(open.add, f.ending(line.text, file))
		}
	}
	return all
}

// ending gives an added line the line ending of the file, where the patch has another.
func (f *finding) ending(text string, file *fileText) string {
	if f.close == identical {
		return text
	}
	text = strings.TrimSuffix(text, "\r")
	if file.isCRLF() {
		text += "\r"
	}
	return text
}

// inOrder sorts changes by their place and refuses those that touch the same lines.
func inOrder(changes []change) error {
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	for i := 1; i < len(changes); i++ {
		a, b := &changes[i-1], &changes[i]
		if a.at+a.remove > b.at || a.at == b.at {
			return &MismatchError{Hunk: max(a.hunk, b.hunk), Problem: fmt.Sprintf(
				"hunks %d and %d change the same lines, at line %d of the file. Make them one hunk", min(a.hunk, b.hunk), max(a.hunk, b.hunk), b.at+1)}
		}
	}
	return nil
}

func replaceLines(lines []string, changes []change) []string {
	var all []string
	at := 0
	for i := range changes {
		all = append(all, lines[at:changes[i].at]...)
		all = append(all, changes[i].add...)
		at = changes[i].at + changes[i].remove
	}
	return append(all, lines[at:]...)
}

// bareAfter says whether the file ends without a newline afterwards. It stays as it is
// unless a hunk at the end of the file says on which side the newline is missing.
func bareAfter(file *fileText, found []*finding) bool {
	bare := file.bare
	for _, f := range found {
		atEnd := f.done == nil && f.at+len(side(f.lines, '-')) == len(file.lines)
		if atEnd && f.hunk.oldBare != f.hunk.newBare {
			bare = f.hunk.newBare
		}
	}
	return bare
}
