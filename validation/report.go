package validation

import "time"

// CheckType says what a check has asked.
type CheckType string

// The check types, as they stand in reports.
const (
	CheckMustExist   CheckType = "must_exist"
	CheckValueType   CheckType = "value_type"
	CheckLength      CheckType = "length"
	CheckValueRange  CheckType = "value_range"
	CheckPattern     CheckType = "pattern"
	CheckConsistency CheckType = "consistency"
	CheckPath        CheckType = "path_validation"
	CheckFile        CheckType = "file_check"
	CheckFileRead    CheckType = "file_read"
	CheckFileSize    CheckType = "file_size"
	CheckJSONParse   CheckType = "json_parse"
)

// Report is the outcome of one validation.
type Report struct {
	OverallPass  bool         `json:"overall_pass"`
	FilesChecked []FileResult `json:"files_checked"` // in the order of the schema
	Summary      Summary      `json:"summary"`
}

// FileResult is what was found about one file.
type FileResult struct {
	FileName string `json:"file_name"` // as the schema has it
	Exists   bool   `json:"exists"`
	// IsJSON is set when the file was read as JSON, which is done only where there
	// are checks of its content.
	IsJSON       bool   `json:"is_json"`
	ResolvedPath string `json:"resolved_path"` // name in the storage
	// AlternatePath is set when the file is missing and lies there instead.
	AlternatePath   string        `json:"alternate_path,omitempty"`
	AlternateExists bool          `json:"alternate_exists,omitempty"`
	JSONChecks      []CheckResult `json:"json_checks"`
}

func (f *FileResult) add(results ...CheckResult) { f.JSONChecks = append(f.JSONChecks, results...) }

// CheckResult is the answer to one question. The path is empty when the question
// was about the file as a whole.
type CheckResult struct {
	Path      string    `json:"path,omitempty"`
	Passed    bool      `json:"passed"`
	CheckType CheckType `json:"check_type"`
	Expected  string    `json:"expected,omitempty"`
	Actual    string    `json:"actual,omitempty"`
	ErrorMsg  string    `json:"error_msg,omitempty"`
}

// Summary counts the results of all files.
type Summary struct {
	Total  int       `json:"total"`
	Passed int       `json:"passed"`
	Failed int       `json:"failed"`
	Errors []Failure `json:"errors"`
	// SchemaWarnings are the notices of the schema's compilation, such as a
	// pattern that was repaired. Schema errors do not compile, so none is here.
	SchemaWarnings []string `json:"schema_warnings,omitempty"`
}

// Failure is one check that failed.
type Failure struct {
	File      string    `json:"file"` // as the schema has it
	Path      string    `json:"path,omitempty"`
	CheckType CheckType `json:"check_type"`
	Expected  string    `json:"expected,omitempty"`
	Actual    string    `json:"actual,omitempty"`
	Message   string    `json:"message"`
}

func newReport() *Report {
	return &Report{FilesChecked: []FileResult{}, Summary: Summary{Errors: []Failure{}}}
}

// close counts.
func (r *Report) close() *Report {
	for _, file := range r.FilesChecked {
		for _, check := range file.JSONChecks {
			r.Summary.Total++
			if check.Passed {
				r.Summary.Passed++
				continue
			}
			r.Summary.Failed++
			r.Summary.Errors = append(r.Summary.Errors, Failure{
				File: file.FileName, Path: check.Path, CheckType: check.CheckType,
				Expected: check.Expected, Actual: check.Actual, Message: check.ErrorMsg,
			})
		}
	}
	r.OverallPass = r.Summary.Failed == 0
	return r
}

// Log is the content of a step's pre_validation.json.
type Log struct {
	StepID       string       `json:"step_id"`
	StepPath     string       `json:"step_path"`
	Timestamp    time.Time    `json:"timestamp"`
	OverallPass  bool         `json:"overall_pass"`
	TotalChecks  int          `json:"total_checks"`
	PassedChecks int          `json:"passed_checks"`
	FailedChecks int          `json:"failed_checks"`
	Errors       []Failure    `json:"errors"`
	FilesChecked []FileResult `json:"files_checked"`
	SchemaUsed   *Schema      `json:"schema_used"`
}

// Log gives the report in the form of the log file. The time is written in UTC.
func (r *Report) Log(stepID, stepPath string, at time.Time, schema *Schema) *Log {
	return &Log{
		StepID: stepID, StepPath: stepPath, Timestamp: at.UTC(),
		OverallPass: r.OverallPass, TotalChecks: r.Summary.Total, PassedChecks: r.Summary.Passed, FailedChecks: r.Summary.Failed,
		Errors: r.Summary.Errors, FilesChecked: r.FilesChecked, SchemaUsed: schema,
	}
}
