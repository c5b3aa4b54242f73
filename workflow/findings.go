package workflow

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/treadle-dev/treadle/internal/codetable"
	"github.com/treadle-dev/treadle/internal/jsonedit"
	"github.com/treadle-dev/treadle/internal/openjson"
	"github.com/treadle-dev/treadle/stepconfig"
	"github.com/treadle-dev/treadle/workspace"
)

// findings collects what is found in one file. Severity and, where none is given, the
// hint of a finding are those of its code's row.
type findings struct {
	file  string
	table codetable.Table
	found workspace.Diagnostics
}

func (f *findings) add(code, pointer, message, hint string) *workspace.Diagnostic {
	f.found = append(f.found, f.table.Finding(code, f.file, pointer, message, hint))
	return &f.found[len(f.found)-1]
}

// decode fills an object from the text of the file, and reports false where nothing
// could be read.
func (f *findings) decode(data []byte, into openObject, syntax, kind string) bool {
	if !json.Valid(data) {
		f.add(syntax, "", "not valid JSON: "+jsonedit.Problem(data), "")
		return false
	}
	if err := into.members().Decode(bytes.TrimSpace(data), into); err != nil {
		f.add(syntax, "", err.Error(), "")
		return false
	}
	if into.members().Whole() != nil {
		f.add(kind, "", "must be an object, is "+openjson.KindOf(data), "")
		return false
	}
	return true
}

// faultCodes are the codes of the faults that decoding finds.
type faultCodes struct{ wrongType, unknown, duplicate string }

// objects reports what decoding found in an object and in those in it. With wrong, what
// is of a wrong type is reported there.
func (f *findings) objects(pointer string, object any, codes faultCodes, wrong func(at string, owner openObject, fault openjson.Fault)) {
	eachObject(pointer, object, func(pointer string, object any) {
		if ref, ok := object.(*stepconfig.LLMRef); ok {
			f.found = append(f.found, ref.Check(f.file, pointer)...)
			return
		}
		owner, ok := object.(openObject)
		if !ok {
			return
		}
		for _, fault := range owner.members().Faults() {
			at := pointer
			if fault.Key != "" {
				at += "/" + workspace.PointerEscape(fault.Key)
			}
			switch fault.Kind {
			case openjson.UnknownKey:
				hint := ""
				if len(f.found) < maxGuesses {
					hint = codetable.DidYouMean(fault.Key, openjson.Keys(object))
				}
				f.add(codes.unknown, at, fmt.Sprintf("unknown key %q is kept and has no effect", fault.Key), hint)
			case openjson.DuplicateKey:
				f.add(codes.duplicate, at, fmt.Sprintf("key %q is given more than once, the last one counts", fault.Key), "")
			case openjson.WrongType:
				if wrong != nil {
					wrong(at, owner, fault)
					continue
				}
				f.add(codes.wrongType, at, fmt.Sprintf("must be %s, is %s", fault.Wants, fault.Found), "")
			}
		}
	})
}
