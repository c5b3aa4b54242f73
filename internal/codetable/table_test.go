package codetable_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/treadle-dev/treadle/internal/codetable"
	"github.com/treadle-dev/treadle/workspace"
)

func TestAFindingTakesFromItsRowWhatItDoesNotKnowBetter(t *testing.T) {
	t.Parallel()
	table := codetable.Table{{Code: "a.b", Severity: codetable.Notice, Message: "It is so.", Hint: "change it"}}
	assert.Equal(t, workspace.Diagnostic{Code: "a.b", Severity: codetable.Notice, File: "f", Pointer: "/p", Message: "this is so", Hint: "change it"},
		table.Finding("a.b", "f", "/p", "this is so", ""))
	assert.Equal(t, "change this", table.Finding("a.b", "f", "", "m", "change this").Hint)
	assert.Equal(t, codetable.Error, table.Finding("a.c", "f", "", "m", "").Severity)
	assert.Equal(t, "It is so.", table[0].Message, "the table stays")
}

func TestAMisspelledWordIsTakenForTheNearestKnownOne(t *testing.T) {
	t.Parallel()
	known := []string{"description", "context_output", "next_step_id", "id", "title", "execution_max_turns"}
	for word, want := range map[string]string{
		"descriptioon": "description", "Description": "description", "contextOutput": "context_output", "context-output": "context_output",
		"nextStepID": "next_step_id", "tilte": "title", "titel": "title", "titles": "title", "excution_max_turn": "execution_max_turns",
		"colour": "", "": "", "description": "", "x": "", "di": "id", "success_criteria": "",
	} {
		assert.Equal(t, want, codetable.Nearest(word, known), word)
	}
	assert.Equal(t, `did you mean "title"?`, codetable.DidYouMean("titel", known))
	assert.Empty(t, codetable.DidYouMean("colour", known))
}

func FuzzNearest(f *testing.F) {
	f.Add("tilte", "title")
	f.Add("ä\xff", "")
	f.Fuzz(func(t *testing.T, word, known string) {
		if near := codetable.Nearest(word, []string{known}); near != "" && near != known {
			t.Fatal(near)
		}
	})
}
