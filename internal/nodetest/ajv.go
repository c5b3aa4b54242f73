package nodetest

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Question asks whether a schema, by its $id, takes a document.
type Question struct {
	ID       string          `json:"id"`
	Document json.RawMessage `json:"document"`
}

// Ajv answers questions about schemas by ajv, which is strict about the schemas and
// asserts formats. Where Node or ajv is absent it skips the test, as [Bin] does.
func Ajv(t testing.TB, schemas []json.RawMessage, questions []Question) []bool {
	t.Helper()
	node, _ := Bin(t, "ajv", "dist/2020.js")
	Bin(t, "ajv-formats", "dist/index.js")
	var input bytes.Buffer
	encoder := json.NewEncoder(&input)
	for _, schema := range schemas {
		if err := encoder.Encode(map[string]json.RawMessage{"schema": schema}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range questions {
		if err := encoder.Encode(&questions[i]); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), node, filepath.Join(Folder(t), "ajv.js"))
	cmd.Stdin = &input
	var faults bytes.Buffer
	cmd.Stderr = &faults
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("ajv: %v\n%s", err, faults.String())
	}
	lines := strings.Fields(string(output))
	if len(lines) != len(questions) {
		t.Fatalf("ajv gave %d answers to %d questions\n%s", len(lines), len(questions), faults.String())
	}
	answers := make([]bool, len(lines))
	for i, line := range lines {
		answers[i] = line == "true"
	}
	return answers
}
