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
	CheckDBQuery     CheckType = "db_query"
	CheckDBRows      CheckType = "db_rows"
	// CheckUnfinished is a validation that was stopped by its time limit.
	CheckUnfinished CheckType = "pre_validation_error"
)

// Report is the outcome of one validation.
type Report struct {
	OverallPass  bool         `json:"overall_pass"`
	FilesChecked []FileResult `json:"files_checked"`        // in the order of the schema
	DBChecked    []DBResult   `json:"db_checked,omitempty"` // in the order of the schema
	Summary      Summary      `json:"summary"`

	unfinished string // why the checks were stopped; empty when they were not
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

// DBResult is what was found about one query of the database.
type DBResult struct {
	Name string `json:"name"` // as the schema has it, or db[0] where it has none
	SQL  string `json:"sql"`
	Rows int    `json:"rows"`
	// AtLeast says that there may be more rows, which were not asked for.
	AtLeast bool `json:"at_least,omitempty"`
	// Checks are of the query, of the number of its rows, and with a path of its
	// first row.
	Checks []CheckResult `json:"checks"`
}

func (d *DBResult) add(results ...CheckResult) { d.Checks = append(d.Checks, results...) }

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

// Summary counts the results of all files and queries.
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
	File      string    `json:"file,omitempty"`     // as the schema has it; empty for a query
	DBCheck   string    `json:"db_check,omitempty"` // the name of the query; empty for a file
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
			r.Summary.count(check, Failure{File: file.FileName})
		}
	}
	for _, query := range r.DBChecked {
		for _, check := range query.Checks {
			r.Summary.count(check, Failure{DBCheck: query.Name})
		}
	}
	if r.unfinished != "" {
		r.Summary.count(CheckResult{
			CheckType: CheckUnfinished, Expected: "all checks done", Actual: "stopped", ErrorMsg: r.unfinished,
		}, Failure{})
	}
	r.OverallPass = r.Summary.Failed == 0
	return r
}

// count takes in the result of one check; the failure says what it was about.
func (s *Summary) count(check CheckResult, failure Failure) {
	s.Total++
	if check.Passed {
		s.Passed++
		return
	}
	s.Failed++
	failure.Path, failure.CheckType = check.Path, check.CheckType
	failure.Expected, failure.Actual, failure.Message = check.Expected, check.Actual, check.ErrorMsg
	s.Errors = append(s.Errors, failure)
}

// Log is the content of a step's pre_validation.json.
type Log struct {
	StepID   string `json:"step_id"`
	StepPath string `json:"step_path"`
	// Attempt and Iteration number the attempt of the visit and the visit of the
	// step, from 1; Final says that no attempt of the visit follows. They are for
	// whoever writes the log to set.
	Attempt      int          `json:"attempt,omitempty"`
	Iteration    int          `json:"iteration,omitempty"`
	Final        bool         `json:"final,omitempty"`
	Timestamp    time.Time    `json:"timestamp"`
	OverallPass  bool         `json:"overall_pass"`
	TotalChecks  int          `json:"total_checks"`
	PassedChecks int          `json:"passed_checks"`
	FailedChecks int          `json:"failed_checks"`
	Errors       []Failure    `json:"errors"`
	FilesChecked []FileResult `json:"files_checked"`
	DBChecked    []DBResult   `json:"db_checked,omitempty"`
	// SchemaWarnings are the notices of the schema's compilation.
	SchemaWarnings []string `json:"schema_warnings,omitempty"`
	SchemaUsed     *Schema  `json:"schema_used"`
}

// Log gives the report in the form of the log file. The time is written in UTC.
func (r *Report) Log(stepID, stepPath string, at time.Time, schema *Schema) *Log {
	return &Log{
		StepID: stepID, StepPath: stepPath, Timestamp: at.UTC(),
		OverallPass: r.OverallPass, TotalChecks: r.Summary.Total, PassedChecks: r.Summary.Passed, FailedChecks: r.Summary.Failed,
		Errors: r.Summary.Errors, FilesChecked: r.FilesChecked, DBChecked: r.DBChecked,
		SchemaWarnings: r.Summary.SchemaWarnings, SchemaUsed: schema,
	}
}
