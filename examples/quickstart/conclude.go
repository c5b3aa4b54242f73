package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

// conclude says where the report is, what it cost, and what to look at next.
func conclude(out io.Writer, dir string, model chosenModel, result *workflow.Result) error {
	layout := workspace.RunLayout(result.Folder)
	published := filepath.Join(dir, filepath.FromSlash(layout.Execution("report")))
	findings, err := countsOf(filepath.Join(published, "report.json"))
	if err != nil {
		return err
	}
	line := func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }
	line("\nResult:  %s", findings)
	line("Report:  %s", filepath.Join(published, "report.md"))
	line("Figures: %s", filepath.Join(published, "report.json"))
	line("Cost:    %s", costOf(model, result))

	treadle := "  go run ./cmd/treadle -C " + shellWord(dir)
	line("\nLook next at")
	line("%s runs", treadle)
	line("%s costs --by step", treadle)
	line("%s logs --run %s --step normalise", treadle, result.Folder)
	line("the first attempt that validation refused, if there was one:")
	line("  cat %s", shellWord(filepath.Join(dir, filepath.FromSlash(layout.AttemptValidationLog("normalise", 1, 1)))))
	line("and run the workflow once more, as iteration after this one:")
	line("  go run ./examples/quickstart -dir %s", shellWord(dir))
	return nil
}

// countsOf reads the findings of the report in the order of their names here.
func countsOf(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	var report struct {
		Counts map[string]int `json:"counts"`
	}
	if err := json.Unmarshal(data, &report); err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	var parts []string
	for _, status := range []string{"matched", "amount_differs", "missing_in_ledger", "missing_invoice", "duplicate"} {
		parts = append(parts, fmt.Sprintf("%s %d", strings.ReplaceAll(status, "_", " "), report.Counts[status]))
	}
	return strings.Join(parts, ", "), nil
}

// costOf tells tokens, and money only where it is known.
func costOf(model chosenModel, result *workflow.Result) string {
	t := result.Totals
	text := fmt.Sprintf("%d tokens in %d model calls", t.Tokens(), t.Calls)
	if t.TokensAtLeast() {
		text = "at least " + text
	}
	switch {
	case model.counting != "":
		return text + "; " + model.counting
	case t.Cost.Total == nil:
		return text + "; the money is unknown, since no price list is configured"
	case t.CostAtLeast():
		return text + "; at least USD " + t.Cost.Total.String()
	default:
		return text + "; USD " + t.Cost.Total.String()
	}
}

// shellWord quotes a path for the commands that are shown.
func shellWord(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return !strings.ContainsRune("/._-+:@%", r) && !isWord(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func isWord(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}
