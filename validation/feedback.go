package validation

import (
	_ "embed"
	"strings"
	"text/template"
)

//go:embed feedback.tmpl
var feedbackText string

// maxFeedback is how many failures a model is told of at once.
const maxFeedback = 50

// feedbackData is what the template is filled with.
type feedbackData struct {
	Failed, Total int
	Files         []feedbackFile
	Queries       []feedbackQuery
	Unfinished    string // why the checks were stopped
	More          int    // failures that are not listed
}

type feedbackFile struct {
	Name, Path string
	Failures   []CheckResult
}

type feedbackQuery struct {
	Name, SQL string
	Failures  []CheckResult
}

// Feedback is what a model is told after a failed attempt: every failed check
// with its file, what was expected and what was found, up to 50 of them. It is
// empty for a report that passed.
func (r *Report) Feedback() string {
	if r == nil || r.OverallPass {
		return ""
	}
	var out strings.Builder
	parsed := template.Must(template.New("feedback").Parse(feedbackText))
	if err := parsed.Execute(&out, r.feedbackData()); err != nil {
		return err.Error() // a strings.Builder does not fail, and the data has the template's shape
	}
	return strings.TrimSpace(out.String())
}

func (r *Report) feedbackData() feedbackData {
	data := feedbackData{Failed: r.Summary.Failed, Total: r.Summary.Total}
	for _, failure := range r.Summary.Errors {
		if failure.CheckType == CheckUnfinished {
			data.Unfinished = failure.Message
		}
	}
	listed := 0
	failures := func(checks []CheckResult) []CheckResult {
		var some []CheckResult
		for _, check := range checks {
			switch {
			case check.Passed:
			case listed == maxFeedback:
				data.More++
			default:
				listed++
				some = append(some, check)
			}
		}
		return some
	}
	for _, file := range r.FilesChecked {
		if some := failures(file.JSONChecks); some != nil {
			data.Files = append(data.Files, feedbackFile{Name: file.FileName, Path: file.ResolvedPath, Failures: some})
		}
	}
	for _, query := range r.DBChecked {
		if some := failures(query.Checks); some != nil {
			data.Queries = append(data.Queries, feedbackQuery{Name: query.Name, SQL: query.SQL, Failures: some})
		}
	}
	return data
}
