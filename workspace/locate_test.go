package workspace_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/treadle-dev/treadle/workspace"
)

func TestFindingsAboutAFileGetTheLinesOfTheirPointers(t *testing.T) {
	t.Parallel()
	text := []byte("{\"steps\": [\n  {\"id\": \"a\"},\n\n  {\"type\": 1,\n   \"colour\": 2}\n]}")
	ds := workspace.Diagnostics{
		{File: "plan.json"},
		{File: "plan.json", Pointer: "/steps/1/colour"},
		{File: "plan.json", Pointer: "/steps/1/id"},
		{File: "plan.json", Pointer: "/steps/0/id", Line: 77},
		{File: "other.json", Pointer: "/steps/1/id"},
	}
	ds.Locate("plan.json", text)
	places := [][2]int{}
	for _, d := range ds {
		places = append(places, [2]int{d.Line, d.Column})
	}
	assert.Equal(t, [][2]int{{1, 1}, {5, 4}, {4, 3}, {77, 0}, {0, 0}}, places)
}

func TestAFindingAboutATextThatIsNoJSONStandsWhereItStopsBeingJSON(t *testing.T) {
	t.Parallel()
	ds := workspace.Diagnostics{{File: "x"}}
	ds.Locate("x", []byte("\xef\xbb\xbf{\n  oops"))
	assert.Equal(t, 2, ds[0].Line)
	assert.Equal(t, 3, ds[0].Column)
	ds = workspace.Diagnostics{{File: "x"}}
	ds.Locate("x", nil)
	assert.Zero(t, ds[0].Line, "there is no file")
	ds.Locate("x", []byte{})
	assert.Equal(t, 1, ds[0].Line)
}

func TestADiagnosticWithALineSaysIt(t *testing.T) {
	t.Parallel()
	d := migrated
	d.Line = 7
	assert.Equal(t, "planning/step_config.json:7: notice: legacy form migrated [stepconfig.legacy]", d.String())
	d.Pointer = "/steps/2"
	assert.Equal(t, "planning/step_config.json:7#/steps/2: notice: legacy form migrated [stepconfig.legacy]", d.String())
}
