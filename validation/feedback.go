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
	More          int // failures that are not listed
}

type feedbackFile struct {
	Name, Path string
	Failures   []CheckResult
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
	listed := 0
	for _, file := range r.FilesChecked {
		group := feedbackFile{Name: file.FileName, Path: file.ResolvedPath}
		for _, check := range file.JSONChecks {
			switch {
			case check.Passed:
			case listed == maxFeedback:
				data.More++
			default:
				listed++
				group.Failures = append(group.Failures, check)
			}
		}
		if len(group.Failures) > 0 {
			data.Files = append(data.Files, group)
		}
	}
	return data
}
