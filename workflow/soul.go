package workflow

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/treadle-dev/treadle/internal/openjson"
	"github.com/treadle-dev/treadle/workspace"
)

// Soul is what a workflow is for, as soul/soul.md has it under the level 2 headings
// Objective, Success Criteria and Constraints. Each is Markdown; empty is none.
type Soul struct {
	Objective       string
	SuccessCriteria string
	Constraints     string // optional
}

// ReadSoul reads soul/soul.md and, for the objective and the success criteria that it
// lacks, the keys of that name in plans of the older form. The result is never nil when
// the error is; all that may be wrong are notices. The error is the storage's.
func ReadSoul(ctx context.Context, ws *workspace.Workspace) (*Soul, workspace.Diagnostics, error) {
	text, err := readIfExists(ctx, ws.Storage(), workspace.SoulFile)
	if err != nil {
		return nil, nil, err
	}
	plan, err := readIfExists(ctx, ws.Storage(), workspace.PlanFile)
	if err != nil {
		return nil, nil, err
	}
	soul, ds := parseSoul(text, plan)
	ds.Locate(workspace.PlanFile, plan)
	return soul, ds, nil
}

// parseSoul reads the texts of the two files; nil is a file that does not exist.
func parseSoul(text, plan []byte) (*Soul, workspace.Diagnostics) {
	r := &soulReader{findings: findings{file: workspace.SoulFile, table: soulCodes}, soul: &Soul{}, lines: map[string]int{}}
	r.sections(text)
	old := r.oldSections(plan)
	switch {
	case text != nil:
		r.complete(old)
	case len(old) == 0:
		r.add(codeSoulMissing, "", "there is no such file", "")
	}
	return r.soul, r.found
}

type soulReader struct {
	findings
	soul  *Soul
	lines map[string]int // of the headings, the first of each
}

// soulSections are the sections by heading.
func (s *Soul) soulSections() map[string]*string {
	return map[string]*string{"objective": &s.Objective, "success criteria": &s.SuccessCriteria, "constraints": &s.Constraints}
}

var (
	soulHeading = regexp.MustCompile(`^ {0,3}(#{1,2})(?:[ \t]+(.*))?$`)
	soulFence   = regexp.MustCompile("^ {0,3}(```+|~~~+)(.*)$")
	soulComment = regexp.MustCompile(`(?s)<!--.*?(?:-->|$)`)
)

// sections takes the text under each heading.
func (r *soulReader) sections(text []byte) {
	if !utf8.Valid(text) {
		r.add(codeSoulEncoding, "", "the file is not UTF-8", "")
	}
	lines := strings.ReplaceAll(strings.ToValidUTF8(string(bytes.TrimPrefix(text, []byte("\ufeff"))), "\ufffd"), "\r\n", "\n")
	sections := r.soul.soulSections()
	var into *string
	fence, opened := "", 0
	for i, line := range strings.Split(strings.ReplaceAll(lines, "\r", "\n"), "\n") {
		former := fence
		if fence = nextFence(fence, line); fence != "" && former == "" {
			opened = i + 1
		}
		if heading := soulHeading.FindStringSubmatch(line); heading != nil && fence == "" {
			into = nil
			if name := headingName(heading[2]); heading[1] == "##" && sections[name] != nil {
				into = sections[name]
				if first := r.lines[name]; first > 0 {
					r.add(codeSoulDuplicate, "", fmt.Sprintf("the section %q stands in line %d already", name, first), "").Line = i + 1
				} else {
					r.lines[name] = i + 1
				}
			}
			continue
		}
		if into != nil {
			*into += line + "\n"
		}
	}
	if fence != "" {
		r.add(codeSoulFence, "", "a block of code that starts with "+fence+" is not closed", "").Line = opened
	}
	for _, section := range sections {
		if strings.TrimSpace(soulComment.ReplaceAllString(*section, "")) == "" {
			*section = "" // also where only a comment says what belongs there
		}
		*section = strings.TrimSpace(*section)
	}
}

// nextFence is the fence of the block of code that a line is in or opens; empty for none.
func nextFence(fence, line string) string {
	found := soulFence.FindStringSubmatch(line)
	switch {
	case found == nil:
		return fence
	case fence == "":
		if found[1][0] == '`' && strings.Contains(found[2], "`") {
			return "" // code within a line
		}
		return found[1]
	case found[1][0] == fence[0] && len(found[1]) >= len(fence) && strings.TrimSpace(found[2]) == "":
		return ""
	}
	return fence
}

// headingName is a heading in lower case without what does not belong to its words.
func headingName(text string) string {
	text = strings.TrimRight(strings.TrimSpace(text), "#")
	text = strings.NewReplacer("_", " ", "-", " ", "*", "", ":", "").Replace(strings.ToLower(text))
	return strings.Join(strings.Fields(text), " ")
}

// oldSections are the keys of a plan that are of the older form, and takes those that
// the file has no text for.
func (r *soulReader) oldSections(plan []byte) map[string]bool {
	var keys struct {
		Objective       json.RawMessage `json:"objective"`
		SuccessCriteria json.RawMessage `json:"success_criteria"`
	}
	if plan == nil || json.Unmarshal(plan, &keys) != nil {
		return nil // what is wrong with the plan is told by who compiles it
	}
	taken := map[string]bool{}
	for _, old := range []struct {
		key, name string
		value     json.RawMessage
		into      *string
	}{
		{"objective", "objective", keys.Objective, &r.soul.Objective},
		{"success_criteria", "success criteria", keys.SuccessCriteria, &r.soul.SuccessCriteria},
	} {
		if old.value == nil || *old.into != "" {
			continue
		}
		text, ok := oldText(old.value)
		r.file = workspace.PlanFile
		switch {
		case !ok:
			r.add(codeSoulLegacyType, "/"+old.key, "must be a text, is "+openjson.KindOf(old.value), "")
		case text != "":
			r.add(codeSoulLegacy, "/"+old.key, "is read since "+workspace.SoulFile+" has no section "+old.name, "")
			*old.into, taken[old.name] = text, true
		}
		r.file = workspace.SoulFile
	}
	return taken
}

// oldText is a text, or a list of texts as a Markdown list.
func oldText(value json.RawMessage) (string, bool) {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return strings.TrimSpace(text), true
	}
	var items []string
	if json.Unmarshal(value, &items) != nil {
		return "", false
	}
	return list(items), true
}

// complete reports what the file lacks.
func (r *soulReader) complete(old map[string]bool) {
	sections := r.soul.soulSections()
	for _, section := range []struct{ name, title string }{{"objective", "Objective"}, {"success criteria", "Success Criteria"}, {"constraints", "Constraints"}} {
		switch {
		case *sections[section.name] != "" && !old[section.name]:
		case r.lines[section.name] > 0:
			r.add(codeSoulEmpty, "", fmt.Sprintf("the section %q has no text", section.title), "").Line = r.lines[section.name]
		case section.name != "constraints":
			r.add(codeSoulSection, "", fmt.Sprintf("there is no section %q", section.title), "")
		}
	}
}
