package feedback

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Kind says what answers a question takes.
type Kind string

const (
	// KindText takes any text. It is the default.
	KindText Kind = "text"
	// KindYesNo takes yes or no.
	KindYesNo Kind = "yesno"
	// KindChoice takes one of the options.
	KindChoice Kind = "choice"
	// KindSecret takes a text that is written nowhere, such as a one-time code.
	KindSecret Kind = "secret"
)

// Limits of a question, in bytes where not said otherwise.
const (
	MaxText    = 32 << 10 // of text and context, each
	MaxTitle   = 1 << 10  // of title, alias, step and group, each; of who answers and by which way
	MaxKey     = 2 << 10
	MaxOptions = 100 // their number
	MaxOption  = 1 << 10
	MaxAnswer  = 64 << 10
)

// Question is something that a person is asked. It is plain data.
type Question struct {
	// ID is RunID, "/" and Key. [Inbox.Ask] sets it.
	ID string `json:"id"`
	// Alias is another name of the question inside its run, such as the id that a model
	// has made up. It need not be unique: a step that is visited again, or a sub-agent
	// beside it, may make up the same. A name that fits several open questions answers
	// none of them; see [Inbox.Resolve].
	Alias string `json:"alias,omitempty"`
	// RunID is the immutable id of the run, Run its folder below runs, such as
	// iteration-3 or iteration-3/production.
	RunID string `json:"run_id"`
	Run   string `json:"run"`
	Group string `json:"group,omitempty"`
	Step  string `json:"step,omitempty"`
	// Key is the stable position in the run at which the question is asked; it is the
	// same after a resume.
	Key  string `json:"key"`
	Kind Kind   `json:"kind"`
	// Title is a short heading and may be empty; Text is the question.
	Title string `json:"title,omitempty"`
	Text  string `json:"text"`
	// Context is what helps to decide.
	Context string `json:"context,omitempty"`
	// Options are what may be chosen. A yes/no question may have two, as labels for yes
	// and no, in this order.
	Options []string `json:"options,omitempty"`
	// Default is the answer that an empty answer stands for. It is not taken when the
	// deadline passes. Empty means that there is none.
	Default string `json:"default,omitempty"`
	// AskedAt is when the question was first asked. Ask sets it.
	AskedAt time.Time `json:"asked_at"`
	// Deadline ends the time to answer; it keeps running while no process does. Zero
	// means no end. Ask sets it from Timeout where it is zero.
	Deadline time.Time `json:"deadline,omitzero"`
	// Timeout is counted from the first time that the question is asked.
	Timeout time.Duration `json:"-"`
}

// normalized is the question as it is stored, or why it cannot be.
func (q *Question) normalized(now time.Time, redact func(string) string) (*Question, error) {
	n := *q
	n.ID = n.RunID + "/" + n.Key
	if n.Kind == "" {
		n.Kind = KindText
	}
	n.Options = slices.Clone(q.Options)
	for i := range n.Options {
		n.Options[i] = redact(trim(n.Options[i]))
	}
	for _, text := range []*string{&n.Title, &n.Text, &n.Context, &n.Default, &n.Alias} {
		*text = redact(strings.ToValidUTF8(*text, "\uFFFD"))
	}
	if n.AskedAt = now; n.Deadline.IsZero() && n.Timeout > 0 {
		n.Deadline = now.Add(n.Timeout)
	}
	n.Deadline, n.Timeout = stamp(n.Deadline), 0
	return &n, n.check()
}

func (q *Question) check() error {
	if err := q.checkPlace(); err != nil {
		return err
	}
	refuse := func(field, reason string) error { return &InvalidError{Field: field, Reason: reason} }
	switch {
	case trim(q.Text) == "":
		return refuse("text", "is empty; say what is asked")
	case len(q.Text) > MaxText, len(q.Context) > MaxText:
		return refuse("text or context", fmt.Sprintf("is longer than %d bytes; put the rest in a file and name it", MaxText))
	case len(q.Title) > MaxTitle, len(q.Alias) > MaxTitle, len(q.Step) > MaxTitle, len(q.Group) > MaxTitle:
		return refuse("title, alias, step or group", fmt.Sprintf("is longer than %d bytes", MaxTitle))
	case q.Kind == KindText || q.Kind == KindSecret:
		if len(q.Options) > 0 {
			return refuse("options", fmt.Sprintf("belong to a question of kind %s, not %s", KindChoice, q.Kind))
		}
	case q.Kind == KindYesNo:
		if len(q.Options) != 0 && len(q.Options) != 2 {
			return refuse("options", "of a yes/no question are two, the labels for yes and no, or none")
		}
		if len(q.Options) == 2 && (slices.Contains(noWords, strings.ToLower(q.Options[0])) || slices.Contains(yesWords, strings.ToLower(q.Options[1]))) {
			return refuse("options", "of a yes/no question are the label for yes first; these mean the opposite")
		}
	case q.Kind != KindChoice:
		return refuse("kind", fmt.Sprintf("is %q; it is one of %s, %s, %s, %s", q.Kind, KindText, KindYesNo, KindChoice, KindSecret))
	case len(q.Options) == 0 || len(q.Options) > MaxOptions:
		return refuse("options", fmt.Sprintf("of a choice are 1 to %d", MaxOptions))
	}
	if err := q.checkOptions(); err != nil {
		return err
	}
	if q.Default == "" {
		return nil
	}
	if q.Kind == KindSecret {
		return refuse("default", "cannot be of a secret question: it would be written down")
	}
	if _, err := q.read(q.Default); err != nil {
		return refuse("default", err.Error())
	}
	return nil
}

func (q *Question) checkPlace() error {
	switch {
	case q.RunID == "" || strings.Contains(q.RunID, "/") || !utf8.ValidString(q.RunID):
		return &InvalidError{Field: "run id", Reason: "is empty, has a slash, or is not UTF-8"}
	case !fs.ValidPath(q.Run) || q.Run == "." || strings.Count(q.Run, "/") > 1:
		return &InvalidError{Field: "run", Reason: "is not the folder of a run, such as iteration-3 or iteration-3/production"}
	case q.Key == "" || len(q.Key) > MaxKey || !utf8.ValidString(q.Key):
		return &InvalidError{Field: "key", Reason: fmt.Sprintf("is empty, longer than %d bytes, or not UTF-8", MaxKey)}
	}
	return nil
}

func (q *Question) checkOptions() error {
	seen := map[string]bool{}
	for _, option := range q.Options {
		folded := strings.ToLower(option)
		switch {
		case option == "" || len(option) > MaxOption:
			return &InvalidError{Field: "options", Reason: fmt.Sprintf("has one that is empty or longer than %d bytes", MaxOption)}
		case strings.ContainsFunc(option, unicode.IsControl):
			return &InvalidError{Field: "options", Reason: fmt.Sprintf("has %q; an option is one line, without control characters", option)}
		case seen[folded]:
			return &InvalidError{Field: "options", Reason: fmt.Sprintf("has %q twice", option)}
		}
		seen[folded] = true
	}
	return nil
}

// differs names the first part in which another question under the same id differs.
// The context, the alias and the deadline may: what counts is what a person is asked.
func (q *Question) differs(other *Question) string {
	switch {
	case q.Kind != other.Kind:
		return "kind"
	case q.Title != other.Title:
		return "title"
	case q.Text != other.Text:
		return "text"
	case !slices.Equal(q.Options, other.Options):
		return "options"
	}
	return ""
}

// due reports whether the deadline has passed.
func (q *Question) due(now time.Time) bool {
	return !q.Deadline.IsZero() && !now.Before(q.Deadline)
}

// fileName is the name of the file that belongs to an id.
func fileName(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}

// stamp is a time as files carry it: in UTC, without a monotonic part.
func stamp(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Round(0)
}
