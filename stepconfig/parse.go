package stepconfig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/treadle-dev/treadle/internal/codetable"
	"github.com/treadle-dev/treadle/internal/jsonedit"
	"github.com/treadle-dev/treadle/internal/openjson"
	"github.com/treadle-dev/treadle/workspace"
)

// Parse reads the content of a step_config.json. The name of the file goes into
// the diagnostics, which hold every fault at once.
//
// The file is nil only when the content is not JSON or has the wrong shape as a
// whole. Duplicate ids are repaired with a notice: the last entry counts. [Codes]
// lists what may be found.
func Parse(file string, data []byte) (*File, workspace.Diagnostics) {
	r := &reader{file: file}
	parsed := r.read(data)
	if data == nil {
		data = []byte{} // an empty file, which is no JSON
	}
	r.found.Locate(file, data)
	return parsed, r.found
}

type reader struct {
	file  string
	found workspace.Diagnostics
}

// report adds a diagnostic; severity and hint are those of the code's row.
func (r *reader) report(code, pointer, message string) {
	r.advise(code, pointer, message, "")
}

// advise is report with a hint of its own.
func (r *reader) advise(code, pointer, message, hint string) {
	r.found = append(r.found, codes.Finding(code, r.file, pointer, message, hint))
}

func (r *reader) read(data []byte) *File {
	if !json.Valid(data) {
		r.report(codeJSONInvalid, "", "not valid JSON: "+jsonedit.Problem(data))
		return nil
	}
	parsed, prefix := &File{name: r.file}, "/steps"
	switch trimmed := bytes.TrimSpace(data); trimmed[0] {
	case '[':
		r.report(codeFormatLegacy, "", "the file is a bare list, the legacy form")
		if err := json.Unmarshal(trimmed, &parsed.Steps); err != nil {
			r.report(codeJSONInvalid, "", err.Error())
			return nil
		}
		prefix, parsed.legacy = "", true
	default:
		if err := json.Unmarshal(trimmed, parsed); err != nil || parsed.rest.Whole() != nil {
			r.report(codeFormatInvalid, "", "must be an object with a list steps, is "+openjson.KindOf(trimmed))
			return nil
		}
		r.root(parsed)
	}
	r.steps(parsed.Steps, prefix)
	return parsed
}

func (r *reader) root(parsed *File) {
	r.faults(&parsed.rest, "", parsed)
	if parsed.Steps == nil && parsed.rest.Kept("steps") == nil {
		r.report(codeStepsMissing, "", "the file has no list steps")
	}
}

func (r *reader) steps(steps []StepConfig, prefix string) {
	first := map[string]int{}
	for i := range steps {
		step, pointer := &steps[i], prefix+"/"+strconv.Itoa(i)
		if !r.faults(&step.rest, pointer, step) {
			continue
		}
		r.id(step, i, pointer, first)
		if step.AgentConfigs != nil {
			r.agentConfigs(step.AgentConfigs, pointer+"/agent_configs")
		}
	}
}

func (r *reader) id(step *StepConfig, index int, pointer string, first map[string]int) {
	if strings.TrimSpace(step.ID) == "" {
		if step.rest.Kept("id") == nil { // else its type has been reported
			r.report(codeIDMissing, pointer+"/id", "the entry has no id")
		}
		return
	}
	if earlier, ok := first[step.ID]; ok {
		r.report(codeIDDuplicate, pointer+"/id",
			fmt.Sprintf("id %q stands at entry %d already; the last entry counts", step.ID, earlier+1))
		return
	}
	first[step.ID] = index
}

// faults reports what decoding found in one object, and whether it is one.
func (r *reader) faults(m *openjson.Members, pointer string, owner any) bool {
	for _, f := range m.Faults() {
		at := pointer
		if f.Key != "" {
			at += "/" + workspace.PointerEscape(f.Key)
		}
		switch f.Kind {
		case openjson.WrongType:
			r.report(codeFieldType, at, fmt.Sprintf("must be %s, is %s", f.Wants, f.Found))
		case openjson.UnknownKey:
			r.unknown(f.Key, at, owner)
		case openjson.DuplicateKey:
			r.report(codeKeyDuplicate, at, fmt.Sprintf("key %q is given more than once, the last one counts", f.Key))
		}
	}
	return m.Whole() == nil
}

// maxGuesses is for how many findings it is guessed what was meant: guesses take time.
const maxGuesses = 100

func (r *reader) unknown(key, pointer string, owner any) {
	if advice, retired := retiredKeys()[key]; retired {
		if _, ok := owner.(*AgentConfigs); ok {
			r.advise(codeKeyRetired, pointer, fmt.Sprintf("key %q is retired and has no effect", key), advice)
			return
		}
	}
	hint := ""
	if len(r.found) < maxGuesses {
		hint = codetable.DidYouMean(key, openjson.Keys(owner))
	}
	r.advise(codeKeyUnknown, pointer, fmt.Sprintf("unknown key %q is kept and has no effect", key), hint)
}
