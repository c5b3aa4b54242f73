package workflow

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/treadle-dev/treadle/internal/journal"
)

// Kinds of records that the walk writes, beside those of the journal itself.
const (
	recordRun     journal.Kind = "run"     // what the run was started with
	recordStarted journal.Kind = "started" // a visit began; nothing depends on it
	recordOutcome journal.Kind = "outcome" // a visit completed: the commit point
	recordFailure journal.Kind = "failure" // a visit failed
	recordReopen  journal.Kind = "reopen"  // a failed or lost step is taken up again
	recordEnd     journal.Kind = "end"     // the run stopped, finished or not
)

// decode reads the payload of a record.
func decode(rec *journal.Record, into any) error {
	if err := json.Unmarshal(rec.Data, into); err != nil {
		return fmt.Errorf("record %d (%s %s): %w", rec.Seq, rec.Kind, rec.Key, err)
	}
	return nil
}

// runRecord is what a run was started with. A resume uses it and not what its
// caller says.
type runRecord struct {
	RunID     string    `json:"run_id"`
	Folder    string    `json:"folder"`
	Group     string    `json:"group,omitempty"`
	Revision  string    `json:"plan_revision"`
	Variables Variables `json:"variables,omitempty"`
}

// Artifact is something that a step published.
type Artifact struct {
	Name string `json:"name"` // relative to the step's execution folder
	// Size, in bytes, and Hash are of files.
	Size int64  `json:"size"`
	Hash string `json:"sha256,omitempty"`
	// Kind is empty for files; what is no file, such as a symbolic link, is moved
	// with the folder and not looked into.
	Kind string `json:"kind,omitempty"`
}

// outcomeRecord is how a visit completed.
type outcomeRecord struct {
	StartedAt time.Time       `json:"started_at"`
	Attempts  int             `json:"attempts,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	// Published says that the visit had a work folder, with Artifacts in it.
	Published bool       `json:"published,omitempty"`
	Artifacts []Artifact `json:"artifacts,omitempty"`
}

// failureRecord is how a visit failed. Exhausted means that going on in the same
// visit could only fail again.
type failureRecord struct {
	StartedAt time.Time `json:"started_at"`
	Error     string    `json:"error"`
	Attempts  int       `json:"attempts,omitempty"`
	Exhausted bool      `json:"exhausted,omitempty"`
}

// reopenRecord says why a step is taken up again.
type reopenRecord struct {
	Step   string `json:"step"`
	Reason string `json:"reason"` // "failed" or "lost"
}

// endRecord is how the run stopped.
type endRecord struct {
	Status Status `json:"status"`
	Error  string `json:"error,omitempty"`
}

// Status is the state of a run.
type Status string

// The states of a run. All but StatusCompleted can be resumed.
const (
	StatusRunning   Status = "running"
	StatusWaiting   Status = "waiting" // for a person
	StatusCompleted Status = "completed"
	StatusFailed    Status = "failed"
	StatusCanceled  Status = "canceled"
	StatusStopped   Status = "stopped" // by a limit
)

// append encodes an outcome. It is written by hand because every step of every
// run passes here.
func (o *outcomeRecord) append(b []byte, clock *clockText) ([]byte, error) {
	b = append(b, `{"started_at":"`...)
	b = clock.append(b, o.StartedAt)
	b = append(b, '"')
	if o.Attempts > 0 {
		b = strconv.AppendInt(append(b, `,"attempts":`...), int64(o.Attempts), 10)
	}
	if len(o.Result) > 0 {
		b = append(append(b, `,"result":`...), o.Result...)
	}
	if o.Published {
		b = append(b, `,"published":true`...)
	}
	if len(o.Artifacts) > 0 {
		list, err := json.Marshal(o.Artifacts)
		if err != nil {
			return nil, err
		}
		b = append(append(b, `,"artifacts":`...), list...)
	}
	return append(b, '}'), nil
}

// clockText writes times in UTC with milliseconds. It keeps the text of the
// present second: formatting a time costs as much as the rest of a small record.
type clockText struct {
	second int64
	text   []byte
}

func (c *clockText) append(b []byte, t time.Time) []byte {
	if second := t.Unix(); second != c.second || c.text == nil {
		c.second, c.text = second, t.UTC().AppendFormat(c.text[:0], "2006-01-02T15:04:05.")
	}
	b = append(b, c.text...)
	ms := t.Nanosecond() / int(time.Millisecond)
	return append(b, byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10), 'Z')
}
