package stepconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/treadle-dev/treadle/internal/jsonedit"
)

// Reasons why an edit is refused; see [EditError]. A result that would have faults that
// the file did not have is refused with [workspace.Diagnostics].
var (
	ErrNoStep     = errors.New("the file has no such step")
	ErrStepExists = errors.New("the file has such a step already")
	ErrNoID       = errors.New("a step needs an id")
	ErrIDChange   = errors.New("the id of a step is changed by renaming it")
	ErrNotJSON    = errors.New("the value is not JSON")
)

// EditError says which edit was refused. It unwraps to the reason.
type EditError struct {
	File    string
	Step    string // the id that the edit named
	Pointer string // within the step's entry; empty when the edit is about the entry
	Err     error
}

func (e *EditError) Error() string {
	at := ""
	if e.Pointer != "" {
		at = " at " + e.Pointer
	}
	return fmt.Sprintf("%s: step %q%s: %v", e.File, e.Step, at, e.Err)
}

// Unwrap returns the reason.
func (e *EditError) Unwrap() error { return e.Err }

// Change is one thing that an edit has changed, computed from the texts before and
// after.
type Change struct {
	// Step is the id of the step, of a renamed one the new id.
	Step string `json:"step_id"`
	// Pointer is where in the entry of the step, such as
	// /agent_configs/execution_max_turns. It is empty when the entry as a whole was
	// added or removed.
	Pointer string `json:"pointer,omitempty"`
	// Before and After are the values as they are spelled, without white space. Nil
	// is absent, which null is not.
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
}

// Editor changes one step_config.json in memory. What an edit does not name stays as it
// was: unknown keys, the order of keys, the spelling of numbers and texts, and the
// difference between absent, null and empty. Entries of other steps stay byte for byte;
// an edited entry is laid out with two spaces a level.
//
// Legacy forms of what is edited are written in their present form: those of an entry
// when it changes, the bare list when anything does.
//
// Get one from [NewEditor], or let [Update] make one. It is not for concurrent use.
type Editor struct {
	name    string
	text    []byte
	list    jsonedit.Span // of the list of steps in text
	legacy  bool
	entries []*entry // those of the file in its order, then added ones
}

// entry is one element of the list of steps.
type entry struct {
	span   jsonedit.Span   // in the text; empty for an added one
	before json.RawMessage // nil for an added one
	after  json.RawMessage // without white space; nil for a removed one
	id     string          // of after
}

// NewEditor starts editing a file. Nil data is a file that does not exist yet. A file
// that cannot be read as a list of entries is refused with [workspace.Diagnostics] as
// the error; faults inside an entry are none of the editor's business until they are
// made by an edit.
func NewEditor(name string, data []byte) (*Editor, error) {
	if data == nil {
		data = []byte("{\n  \"steps\": []\n}\n")
	}
	file, found := Parse(name, data)
	if file == nil {
		return nil, found
	}
	e := &Editor{name: name, text: data, legacy: file.legacy}
	if e.list = listOf(data); e.list.End == 0 {
		return nil, found
	}
	list := data[e.list.Start:e.list.End]
	for _, span := range jsonedit.Elements(list) {
		text := list[span.Start:span.End]
		if !jsonedit.IsObject(text) {
			return nil, found
		}
		plain := compact(text)
		e.entries = append(e.entries, &entry{
			span:   jsonedit.Span{Start: e.list.Start + span.Start, End: e.list.Start + span.End},
			before: plain, after: plain, id: idOf(plain),
		})
	}
	return e, nil
}

// listOf is the place of the list of steps: the text itself, or the last member of its
// name, which counts. The zero value is no list.
func listOf(text []byte) jsonedit.Span {
	if jsonedit.IsList(text) {
		trimmed := bytes.TrimSpace(text)
		start := bytes.IndexByte(text, '[')
		return jsonedit.Span{Start: start, End: start + len(trimmed)}
	}
	var list jsonedit.Span
	for _, m := range jsonedit.Members(text) {
		if m.Key != "steps" {
			continue
		}
		list = jsonedit.Span{}
		if jsonedit.IsList(m.Value) {
			list = m.Span
		}
	}
	return list
}

// Change edits a step by its Go form, in which legacy forms are migrated already. An
// error of change is returned as it is, and nothing is changed. An object that the file
// has as something else, such as agent_configs as a number, is to be replaced, not to be
// filled in.
func (e *Editor) Change(id string, change func(*StepConfig) error) error {
	found, err := e.find(id)
	if err != nil {
		return err
	}
	step := decodeEntry(found.after)
	untouched, err := step.MarshalJSON()
	if err != nil {
		return e.refuse(id, "", err)
	}
	if err := change(step); err != nil {
		return err
	}
	if step.ID != id {
		return e.refuse(id, "/id", ErrIDChange)
	}
	wanted, err := step.MarshalJSON()
	if err != nil {
		return e.refuse(id, "", err)
	}
	if !jsonedit.Equal(untouched, wanted) {
		found.after = jsonedit.Merge(found.after, wanted)
	}
	return nil
}

// Set gives the value at a JSON pointer within the step's entry, such as
// /agent_configs/execution_max_turns. Objects on the way that are absent or null are
// made; a pointer through anything else is refused.
func (e *Editor) Set(id, pointer string, value json.RawMessage) error {
	path, found, err := e.place(id, pointer)
	if err != nil {
		return err
	}
	if !json.Valid(value) {
		return e.refuse(id, pointer, ErrNotJSON)
	}
	after, err := jsonedit.Set(found.after, path, compact(value))
	if err != nil {
		return e.refuse(id, pointer, err)
	}
	found.replace(after)
	return nil
}

// Unset takes away the key at a JSON pointer within the step's entry. A key that is not
// there is no error.
func (e *Editor) Unset(id, pointer string) error {
	path, found, err := e.place(id, pointer)
	if err != nil {
		return err
	}
	found.replace(jsonedit.Unset(found.after, path))
	return nil
}

// replace takes over a changed text, with its legacy forms migrated.
func (n *entry) replace(after json.RawMessage) {
	if jsonedit.Equal(n.after, after) {
		return
	}
	if migrated, err := decodeEntry(after).MarshalJSON(); err == nil {
		after = jsonedit.Merge(after, migrated)
	}
	n.after = after
}

// Add puts a step at the end of the file.
func (e *Editor) Add(step *StepConfig) error {
	if step == nil {
		return e.refuse("", "/id", ErrNoID)
	}
	if err := e.free(step.ID, step.ID); err != nil {
		return err
	}
	text, err := step.MarshalJSON()
	if err != nil {
		return e.refuse(step.ID, "", err)
	}
	added := &entry{id: step.ID}
	added.replace(compact(text))
	e.entries = append(e.entries, added)
	return nil
}

// Remove takes a step out of the file.
func (e *Editor) Remove(id string) error {
	found, err := e.find(id)
	if err != nil {
		return err
	}
	for _, n := range e.entries {
		if n.id == found.id {
			n.after, n.id = nil, ""
		}
	}
	return nil
}

// Rename gives a step another id.
func (e *Editor) Rename(id, to string) error {
	found, err := e.find(id)
	if err != nil || id == to {
		return err
	}
	if err := e.free(to, id); err != nil {
		return err
	}
	name, err := json.Marshal(to)
	if err != nil {
		return e.refuse(id, "/id", err)
	}
	after, err := jsonedit.Set(found.after, []string{"id"}, name)
	if err != nil {
		return e.refuse(id, "/id", err)
	}
	for _, n := range e.entries {
		if n.id == id && n != found {
			n.after, n.id = nil, "" // an earlier one of the id would come to count
		}
	}
	found.replace(after)
	found.id = to
	return nil
}

// find is the entry of an id, the last one where it stands more than once.
func (e *Editor) find(id string) (*entry, error) {
	for _, n := range slices.Backward(e.entries) {
		if n.after != nil && n.id == id && id != "" {
			return n, nil
		}
	}
	return nil, e.refuse(id, "", ErrNoStep)
}

// free refuses an id that cannot be given to a step.
func (e *Editor) free(id, step string) error {
	if strings.TrimSpace(id) == "" {
		return e.refuse(step, "/id", ErrNoID)
	}
	if !utf8.ValidString(id) {
		return e.refuse(step, "/id", errors.New("the id is not UTF-8"))
	}
	if _, err := e.find(id); err == nil {
		return e.refuse(id, "/id", ErrStepExists)
	}
	return nil
}

// place is the entry and the path of keys that a pointer means.
func (e *Editor) place(id, pointer string) ([]string, *entry, error) {
	found, err := e.find(id)
	if err != nil {
		return nil, nil, err
	}
	rest, ok := strings.CutPrefix(pointer, "/")
	if !ok {
		return nil, nil, e.refuse(id, pointer, errors.New("the pointer names no key; it has the form /key/key"))
	}
	path := strings.Split(rest, "/")
	for i := range path {
		path[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(path[i])
	}
	if path[0] == "id" {
		return nil, nil, e.refuse(id, pointer, ErrIDChange)
	}
	return path, found, nil
}

func (e *Editor) refuse(step, pointer string, reason error) error {
	return &EditError{File: e.name, Step: step, Pointer: pointer, Err: reason}
}

// idOf is the id of an entry; empty when it has none that is a text.
func idOf(text []byte) string {
	var id string
	if json.Unmarshal(jsonedit.Get(text, "id"), &id) != nil {
		return ""
	}
	return id
}

// decodeEntry reads the object of one entry and migrates its legacy forms.
func decodeEntry(text []byte) *StepConfig {
	steps := []StepConfig{{}}
	_ = steps[0].UnmarshalJSON(text) // the text is a JSON object
	(&reader{}).steps(steps, "")
	return &steps[0]
}

func compact(text []byte) json.RawMessage {
	var out bytes.Buffer
	_ = json.Compact(&out, text) // the text is valid JSON
	return out.Bytes()
}
