package validation_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/validation"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}

const invoiceSchema = `{"files":[
  {"file_name":"invoices.json","json_checks":[
    {"path":"$.invoices","value_type":"array","min_length":1},
    {"path":"$.invoices[*].number","value_type":"string","pattern":"^INV-\\\\d+$"},
    {"path":"$.invoices[*].total","value_type":"number","min_value":0},
    {"path":"$.count","consistency_check":{"type":"array_length","compare_with_path":"$.invoices"}}]},
  {"file_name":"db/ledger.json","json_checks":[{"path":"$"}]},
  {"file_name":"summary.md"},
  {"file_name":"notes.json","json_checks":[{"path":"$"}]}]}`

func invoiceReport(t *testing.T) *validation.Report {
	t.Helper()
	return check(t, invoiceSchema, map[string]string{
		"invoices.json":  `{"invoices":[{"number":"INV-1","total":10},{"number":"2","total":-1},{"total":"ten"}],"count":2}`,
		"notes.json":     "{\"a\":}",
		"./summary.md":   "# Summary",
		"db/ledger.json": "[]",
	})
}

func TestFeedbackTellsEveryFailureWithItsFile(t *testing.T) {
	t.Parallel()
	golden(t, "feedback.txt", invoiceReport(t).Feedback()+"\n")
}

func TestTheReportIsWrittenWithSnakeCaseKeys(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.FixedZone("", 3600))
	log := invoiceReport(t).Log("normalise", "step-2", at, decode(t, invoiceSchema))
	written, err := json.MarshalIndent(log, "", "  ")
	require.NoError(t, err)
	golden(t, "pre_validation.json", string(written)+"\n")
}

func TestAReportCountsEveryQuestionOnce(t *testing.T) {
	t.Parallel()
	report := invoiceReport(t)
	assert.Equal(t, report.Summary.Total, report.Summary.Passed+report.Summary.Failed)
	assert.Len(t, report.Summary.Errors, report.Summary.Failed)
	assert.Len(t, report.Summary.SchemaWarnings, 1)
}

func TestFeedbackStopsAt50Failures(t *testing.T) {
	t.Parallel()
	checks := strings.TrimSuffix(strings.Repeat(`{"path":"$.a"},`, 60), ",")
	feedback := check(t, oneCheck(checks), map[string]string{"out.json": "{}"}).Feedback()
	assert.Equal(t, 50, strings.Count(feedback, "expected:"))
	assert.Contains(t, feedback, "10 more checks failed")
}

func TestLongValuesAreCutInReports(t *testing.T) {
	t.Parallel()
	report := check(t, oneCheck(`{"path":"$.a","max_length":3},{"path":"$.a","pattern":"^x$"}`),
		map[string]string{"out.json": `{"a":"` + strings.Repeat("ä", 5000) + `"}`})
	for _, failure := range report.Summary.Errors {
		assert.Less(t, len(failure.Actual), 200)
	}
}
