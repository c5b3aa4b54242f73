package workflow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/treadle-dev/treadle/internal/fileedit"
	"github.com/treadle-dev/treadle/internal/jsonedit"
	"github.com/treadle-dev/treadle/workspace"
)

// EditWait is how long an edit of a file waits for others that edit the same file.
const EditWait = 10 * time.Second

// FieldChange is one thing that an edit has changed, computed from the texts before and
// after.
type FieldChange struct {
	// Pointer is the JSON pointer of what changed, such as
	// /execution_defaults/max_parallel_steps. Lists change as a whole.
	Pointer string `json:"pointer"`
	// Before and After are the values without white space. Nil is absent, which null is
	// not.
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
}

// EditSettings changes workflow.json and returns what has changed. What the edit does
// not name stays: unknown keys, the order of keys, the spelling of numbers and texts,
// blocks that could not be read, and the difference between absent, null and empty. The
// text is laid out with two spaces a level, with the line ends that it had. Older forms are written in their present one
// when anything changes. A file that does not exist is made when there is something to
// write. The new content replaces the old one whole and is durable.
//
// Nothing is written when edit returns an error, when it changes nothing, when the file
// cannot be read, when it is a symbolic link, and when the result has a fault that the
// file did not have; a file that cannot be read and a fault are [workspace.Diagnostics].
//
// Edits of one file come one after the other, also in several processes. One that waits
// longer than [EditWait] gives up with an error that matches [workspace.ErrHeld].
func EditSettings(ctx context.Context, ws *workspace.Workspace, edit func(*Settings) error) ([]FieldChange, error) {
	return editFile(ctx, ws.Storage(), workspace.SettingsFile, decodeSettings, edit)
}

// EditVariables changes variables/variables.json as [EditSettings] changes workflow.json.
func EditVariables(ctx context.Context, ws *workspace.Workspace, edit func(*VariablesFile) error) ([]FieldChange, error) {
	return editFile(ctx, ws.Storage(), workspace.VariablesFile, decodeVariables, edit)
}

func editFile[T json.Marshaler](ctx context.Context, st workspace.Storage, name string,
	parse func([]byte) (T, workspace.Diagnostics), edit func(T) error,
) (changes []FieldChange, err error) {
	lock, err := lockFile(ctx, st, name+".lock")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	data, err := fileedit.Read(ctx, st, name)
	if err != nil {
		return nil, err
	}
	if data == nil {
		data = []byte("{}")
	}
	text, err := editText(data, parse, edit)
	if err != nil || text == nil {
		return nil, err
	}
	written := jsonedit.LineEnds(append(jsonedit.Indent(text, ""), '\n'), data)
	if err := st.WriteFile(ctx, name, written, workspace.Durable); err != nil {
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	return compareTexts(nil, "", compactText(data), compactText(text)), nil
}

// editText is the text after an edit, nil when it changes nothing.
func editText[T json.Marshaler](data []byte, parse func([]byte) (T, workspace.Diagnostics), edit func(T) error) ([]byte, error) {
	value, had := parse(data)
	if !jsonedit.IsObject(data) || !json.Valid(data) {
		return nil, had
	}
	untouched, err := value.MarshalJSON()
	if err != nil {
		return nil, err
	}
	if err := edit(value); err != nil {
		return nil, err
	}
	wanted, err := value.MarshalJSON()
	if err != nil {
		return nil, err
	}
	if jsonedit.Equal(untouched, wanted) {
		return nil, nil
	}
	text := jsonedit.Merge(data, wanted)
	_, has := parse(text)
	return text, newFaults(had, has).Err()
}

// newFaults are the errors that were not there before.
func newFaults(had, has workspace.Diagnostics) workspace.Diagnostics {
	return slices.DeleteFunc(has, func(d workspace.Diagnostic) bool {
		return d.Severity != workspace.SeverityError || slices.ContainsFunc(had, func(old workspace.Diagnostic) bool {
			return old.Code == d.Code && old.Pointer == d.Pointer
		})
	})
}

// compareTexts adds one change for every value that differs, within objects.
func compareTexts(changes []FieldChange, pointer string, before, after []byte) []FieldChange {
	seen := map[string]bool{}
	for _, m := range append(jsonedit.Members(before), jsonedit.Members(after)...) {
		if seen[m.Key] {
			continue
		}
		seen[m.Key] = true
		was, is := jsonedit.Get(before, m.Key), jsonedit.Get(after, m.Key)
		at := pointer + "/" + workspace.PointerEscape(m.Key)
		switch {
		case was != nil && is != nil && jsonedit.Equal(was, is):
		case jsonedit.IsObject(was) && jsonedit.IsObject(is):
			changes = compareTexts(changes, at, was, is)
		default:
			changes = append(changes, FieldChange{Pointer: at, Before: was, After: is})
		}
	}
	return changes
}

func compactText(text []byte) []byte {
	var out bytes.Buffer
	_ = json.Compact(&out, text) // the text is valid JSON
	return out.Bytes()
}

func lockFile(ctx context.Context, st workspace.Storage, name string) (workspace.Lock, error) {
	return fileedit.Lock(ctx, st, name, "which edits the file", EditWait)
}
