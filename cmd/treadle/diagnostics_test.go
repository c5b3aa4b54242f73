package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent/mcp"
	"github.com/treadle-dev/treadle/stepconfig"
	"github.com/treadle-dev/treadle/validation"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

const referencePage = "../../docs/diagnostics.md"

// chapter is a part of the reference page: the codes that begin with a word.
type chapter struct{ word, title, about string }

func chapters() []chapter {
	return []chapter{
		{"plan", "The plan", "Of `planning/plan.json`. Those about ids are also of `evaluation/evaluation_plan.json`."},
		{"stepconfig", "Step configuration", "Of `planning/step_config.json`, and of the one that a run keeps for itself. Those about models are also of `workflow.json`."},
		{"validation", "Validation", "Of a `validation_schema` in the plan or in the step configuration."},
		{"settings", "Settings", "Of `workflow.json`."},
		{"variables", "Variables", "Of `variables/variables.json`, and of the texts that use variables."},
		{"soul", "Objective", "Of `soul/soul.md`."},
		{"evaluation", "Evaluation", "Of `evaluation/evaluation_plan.json`."},
		{"file", "Files", "Of any file of the workflow."},
		{"learning", "Learnings", "Of what is kept about learnings below `learnings/`."},
		{"mcp", "Servers", "Of `.mcp.json`."},
		{"selection", "Selections", "Of what steps select and the host does not have. Reported at the selection."},
		{"model", "Models", "Of what the host has to serve the steps with."},
		{"database", "Database", "Of what the host has to check with."},
		{"preflight", "Preflight", "Of what is found when servers are started. Not with `--offline`."},
		{"environment", "Environment", "Of the command line's own surroundings. Not with `--offline`."},
	}
}

// codedPackages are the folders of the packages that report diagnostics.
func codedPackages() map[string][]workspace.Diagnostic {
	return map[string][]workspace.Diagnostic{
		"../../workflow": workflow.Codes(), "../../stepconfig": stepconfig.Codes(), "../../validation": validation.Codes(),
		"../../agent/mcp": mcp.Codes(), ".": codes,
	}
}

func allCodes(t *testing.T) []workspace.Diagnostic {
	t.Helper()
	var all []workspace.Diagnostic
	for _, list := range codedPackages() {
		all = append(all, list...)
	}
	slices.SortFunc(all, func(a, b workspace.Diagnostic) int { return strings.Compare(a.Code, b.Code) })
	require.Greater(t, len(all), 100)
	return all
}

func TestEveryCodeHasOneMeaningAndSaysWhatToDo(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, d := range allCodes(t) {
		assert.False(t, seen[d.Code], "%s has two rows", d.Code)
		seen[d.Code] = true
		assert.Regexp(t, `^[a-z]+(\.[a-z_]+)+$`, d.Code)
		assert.Contains(t, []workspace.Severity{workspace.SeverityError, workspace.SeverityNotice}, d.Severity, d.Code)
		assert.Regexp(t, `^[A-Z].*\.$`, d.Message, d.Code)
		assert.NotEmpty(t, d.Hint, d.Code)
		assert.Empty(t, d.File+d.Pointer, d.Code)
	}
}

// A code is written once, in a table of its package, and reported in some test.
func TestEveryCodeIsInATableAndTested(t *testing.T) {
	t.Parallel()
	var words []string
	for _, c := range chapters() {
		words = append(words, c.word)
	}
	literal := regexp.MustCompile(`"((?:` + strings.Join(words, "|") + `)(?:\.[a-z_]+)+)"`)
	tests := readAll(t, "testdata/*/*.txtar")
	for folder, list := range codedPackages() {
		rows := map[string]bool{}
		for _, d := range list {
			rows[d.Code] = true
		}
		names, err := filepath.Glob(folder + "/*.go")
		require.NoError(t, err)
		for _, name := range names {
			text := readAll(t, name)
			if strings.HasSuffix(name, "_test.go") {
				tests += text
				continue
			}
			for _, found := range literal.FindAllStringSubmatch(text, -1) {
				if strings.HasSuffix(found[1], ".json") || strings.HasSuffix(found[1], ".md") {
					continue
				}
				assert.True(t, strings.HasSuffix(name, "codes.go"), "%s: %s is written outside of the tables", name, found[1])
				assert.True(t, rows[found[1]], "%s: %s has no row", name, found[1])
			}
		}
	}
	for _, d := range allCodes(t) {
		// Tests of one package alone leave its name out.
		_, short, _ := strings.Cut(d.Code, ".")
		reported := regexp.MustCompile(regexp.QuoteMeta(d.Code) + `\b|"(error|notice) ` + regexp.QuoteMeta(short) + ` `)
		assert.True(t, reported.MatchString(tests), "%s is reported by no test", d.Code)
	}
}

func readAll(t *testing.T, pattern string) string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	require.NoError(t, err)
	var b strings.Builder
	for _, name := range names {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		b.Write(data)
	}
	return b.String()
}

func TestTheReferencePageOfDiagnosticsIsUpToDate(t *testing.T) {
	t.Parallel()
	page := reference(allCodes(t))
	if *update {
		require.NoError(t, os.WriteFile(referencePage, []byte(page), 0o644))
	}
	data, err := os.ReadFile(referencePage)
	require.NoError(t, err)
	assert.Equal(t, page, string(data), "codes have changed; run go test ./cmd/treadle -run TheReferencePage -update")
}

func reference(all []workspace.Diagnostic) string {
	var b strings.Builder
	b.WriteString(`# Diagnostics

<!-- Written by go test ./cmd/treadle -run TheReferencePage -update from the tables of the packages. -->

What ` + "`treadle validate`" + ` and the library find in a workflow's files. A finding reads

    file:line#/pointer: severity: message [code] (what to do)

The line is left out where it is not known, and the pointer (RFC 6901) where the finding is about the whole file.
An **error** stops: the workflow does not run. A **notice** tells: an older form was read, a key has no effect.
Codes are stable: scripts may rely on them. Messages are not.
`)
	for _, c := range chapters() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| code | severity | meaning | what to do |\n|---|---|---|---|\n", c.title, c.about)
		for _, d := range all {
			if word, _, _ := strings.Cut(d.Code, "."); word == c.word {
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", d.Code, d.Severity, cell(d.Message), cell(d.Hint))
			}
		}
	}
	return b.String()
}

// cell is a text in a table of Markdown.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", `\<`, "*", `\*`, "_", `\_`).Replace(text)
}
