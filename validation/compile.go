package validation

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/treadle-dev/treadle/internal/openjson"
	"github.com/treadle-dev/treadle/workspace"
)

// Compile checks the whole schema without touching a file and finds every fault
// at once. The file and the JSON pointer of the schema in it go into the
// diagnostics.
//
// A nil schema, one that was decoded from null, and [None] give a nil checker, which
// passes; whether a step may go without a schema is for the caller to say. A schema with an error gives a
// checker that refuses to check, so that a caller who overlooks the diagnostics
// does not pass what nobody has looked at. The schema itself is not changed.
func (s *Schema) Compile(file, pointer string) (*Checker, workspace.Diagnostics) {
	if s == nil || s.IsNone() || openjson.KindOf(s.rest.Whole()) == "null" {
		return nil, nil
	}
	c := &compiler{file: file}
	checker := c.schema(s, pointer)
	checker.refused = c.found.Err()
	for _, d := range c.found {
		if d.Severity == workspace.SeverityNotice {
			checker.warnings = append(checker.warnings, d.Message)
		}
	}
	return checker, c.found
}

type compiler struct {
	file  string
	found workspace.Diagnostics
}

// report adds a finding. Its severity is that of the code's row, and so is the hint
// where none is given.
func (c *compiler) report(code, pointer, message, hint string) {
	c.found = append(c.found, codes.Finding(code, c.file, pointer, message, hint))
}

// faults reports what decoding found in one object. It is false when the value is
// no object at all, so that there is nothing else to say about it.
func (c *compiler) faults(m *openjson.Members, pointer string, owner any) bool {
	for _, f := range m.Faults() {
		at := pointer
		if f.Key != "" {
			at += "/" + workspace.PointerEscape(f.Key)
		}
		switch f.Kind {
		case openjson.WrongType:
			c.report(codeFieldType, at, fmt.Sprintf("must be %s, is %s", f.Wants, f.Found), "write "+f.Wants+", or leave it out")
		case openjson.UnknownKey:
			c.report(codeKeyUnknown, at, fmt.Sprintf("unknown key %q checks nothing", f.Key),
				"known here: "+strings.Join(openjson.Keys(owner), ", "))
		case openjson.DuplicateKey:
			c.report(codeKeyDuplicate, at, fmt.Sprintf("key %q is given more than once, the last one counts", f.Key),
				"keep one of them")
		}
	}
	return m.Whole() == nil
}

func (c *compiler) schema(s *Schema, pointer string) *Checker {
	checker := &Checker{}
	if !c.faults(&s.rest, pointer, s) {
		return checker
	}
	if len(s.Files) == 0 && len(s.DB) == 0 && !c.found.HasErrors() {
		c.report(codeSchemaEmpty, pointer, "the schema is empty and checks nothing",
			`list the files that the step must produce, or say "none" when there is nothing to check`)
	}
	if len(s.Files) > MaxFiles {
		c.report(codeFilesLimit, pointer+"/files",
			fmt.Sprintf("has %d files, at most %d are allowed", len(s.Files), MaxFiles), "split the step")
	}
	for i := range s.Files {
		if compiled := c.fileCheck(&s.Files[i], pointer+"/files/"+strconv.Itoa(i)); compiled != nil {
			checker.files = append(checker.files, compiled)
		}
	}
	checker.db = c.dbChecks(s.DB, pointer+"/db")
	return checker
}

func (c *compiler) fileCheck(f *FileCheck, pointer string) *fileCheck {
	if !c.faults(&f.rest, pointer, f) {
		return nil
	}
	compiled := &fileCheck{label: f.FileName, required: f.MustExist == nil || *f.MustExist}
	compiled.name = c.fileName(f.FileName, pointer+"/file_name")
	if !compiled.required && len(f.JSONChecks) == 0 {
		c.report(codeCheckVacuous, pointer, "the check of an optional file without JSON checks can never fail",
			"set must_exist to true, add json_checks, or drop the entry")
	}
	compiled.checks = c.jsonChecks(f.JSONChecks, pointer+"/json_checks")
	return compiled
}

// fileName returns the cleaned name.
func (c *compiler) fileName(name, pointer string) string {
	const hint = "name a file of the step's folder, such as result.json, or one of the workflow, such as db/orders.json"
	clean := path.Clean(name)
	switch {
	case strings.TrimSpace(name) == "":
		c.report(codeFileNameMissing, pointer, "the file has no name", hint)
	case path.IsAbs(name):
		c.report(codeFileNameAbsolute, pointer, fmt.Sprintf("the file name %q is absolute", openjson.Excerpt(name, 100)), hint)
	case slices.Contains(strings.Split(name, "/"), ".."):
		c.report(codeFileNameOutside, pointer, fmt.Sprintf("the file name %q contains ..", openjson.Excerpt(name, 100)), hint)
	case clean == ".", strings.ContainsFunc(name, unicode.IsControl), !utf8.ValidString(name), slices.ContainsFunc(strings.Split(clean, "/"), notStored):
		c.report(codeFileNameInvalid, pointer, fmt.Sprintf("%q is no file name", openjson.Excerpt(name, 100)), hint)
	case strings.Contains(name, `\`):
		c.report(codeFileNameInvalid, pointer, fmt.Sprintf("the file name %q contains a backslash", openjson.Excerpt(name, 100)),
			"folders are parted by /")
	case strings.ContainsAny(name, "*?"):
		c.report(codeFileNameLiteral, pointer, fmt.Sprintf("the file name %q is taken as it stands: * and ? have no meaning in it", openjson.Excerpt(name, 100)),
			"name one file; a file that lists the others can be checked with wildcards in JSON paths")
	}
	return clean
}

// notStored reports whether no storage keeps a file or folder of that name.
func notStored(element string) bool {
	return len(element) > 255 || strings.HasPrefix(element, ".treadle-tmp-")
}

func (c *compiler) jsonChecks(checks []JSONCheck, pointer string) []*jsonCheck {
	if len(checks) > MaxChecksPerFile {
		c.report(codeChecksLimit, pointer,
			fmt.Sprintf("has %d checks, at most %d are allowed", len(checks), MaxChecksPerFile), "use wildcard paths")
	}
	var compiled []*jsonCheck
	for i := range checks {
		if check := c.jsonCheck(&checks[i], pointer+"/"+strconv.Itoa(i)); check != nil {
			compiled = append(compiled, check)
		}
	}
	return compiled
}

// bounds reports a pair of counts that cannot hold.
func (c *compiler) bounds(low, high *int, pointer, lowKey, highKey string) {
	if low != nil && *low < 0 {
		c.report(codeLimitNegative, pointer+"/"+lowKey, fmt.Sprintf("%s is %d, which is below 0", lowKey, *low), "write 0 or more, or leave it out")
	}
	if high != nil && *high < 0 {
		c.report(codeLimitNegative, pointer+"/"+highKey, fmt.Sprintf("%s is %d, which is below 0", highKey, *high), "write 0 or more, or leave it out")
	}
	if low != nil && high != nil && *low > *high {
		c.report(codeLimitContradiction, pointer+"/"+lowKey,
			fmt.Sprintf("%s %d is above %s %d, so nothing passes", lowKey, *low, highKey, *high), "exchange them, or leave one out")
	}
}
