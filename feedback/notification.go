package feedback

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Notifier carries a message to people. Notify returns soon after it has handed the
// message over; it does not wait for an answer. It is safe for concurrent use, keeps the
// notification unchanged, and honours the end of the context. A receipt with an error is
// not looked at; one without a status is [Delivered].
//
// A notification may come twice with the same Key, after a crash; a notifier that can
// tell sends it once.
type Notifier interface {
	Notify(ctx context.Context, n *Notification) (Receipt, error)
}

// Source is where answers come from: a terminal, Slack, a web page. Run gives them to
// the inbox until the context ends, which it answers with the context's error, or until
// there can be no more, which is nil. It leaves nothing running behind.
type Source interface {
	Run(ctx context.Context, in *Inbox) error
}

// NoticeKind says what a notification is about.
type NoticeKind string

// The kinds of notifications. One of a question is sent by the library only.
const (
	NoticeQuestion NoticeKind = "question"
	NoticeGeneral  NoticeKind = "general"
	NoticeRun      NoticeKind = "run_summary"
	NoticePulse    NoticeKind = "pulse_summary"
)

// Color sets the tone of a notification.
type Color string

// The tones of a notification.
const (
	Neutral Color = "neutral"
	Success Color = "success"
	Warning Color = "warning"
	Danger  Color = "danger"
)

// Limits of a notification.
const (
	MaxFields   = 10
	MaxSections = 12
)

// Notification is a message to people. It is plain data.
type Notification struct {
	// Key is the same when the notification is sent again: the id of a question, or run
	// id and key of the call that sends it.
	Key  string     `json:"key"`
	Kind NoticeKind `json:"kind"`
	// Question is set when the kind is [NoticeQuestion].
	Question *Question `json:"question,omitempty"`
	RunID    string    `json:"run_id,omitempty"`
	Run      string    `json:"run,omitempty"`
	Group    string    `json:"group,omitempty"`
	Step     string    `json:"step,omitempty"`

	Title    string    `json:"title,omitempty"`
	Text     string    `json:"text"`
	Color    Color     `json:"color,omitempty"` // empty is neutral
	Fields   []Field   `json:"fields,omitempty"`
	Sections []Section `json:"sections,omitempty"`
	Footer   string    `json:"footer,omitempty"`
	// Email is for channels that send mail; nil lets them make one of the rest.
	Email *Email `json:"email,omitempty"`

	// ExcludeChannels names channels that must not be used.
	ExcludeChannels []string `json:"exclude_channels,omitempty"`
	// BlockRecipients names people, as the channels know them, who must not get it.
	BlockRecipients []string `json:"block_recipients,omitempty"`
}

// Field is a short fact with its name.
type Field struct {
	Title string `json:"title"`
	Value string `json:"value"`
}

// Section is a passage with a heading, which may be empty.
type Section struct {
	Title string `json:"title,omitempty"`
	Text  string `json:"text"`
}

// Email is what a mail says.
type Email struct {
	Subject string `json:"subject,omitempty"`
	Body    string `json:"body,omitempty"`
	HTML    string `json:"html,omitempty"`
}

// check says why the notification cannot be sent; nil when it can.
func (n *Notification) check() error {
	refuse := func(field, reason string) error { return &InvalidError{Field: field, Reason: reason} }
	switch {
	case n.Key == "":
		return refuse("key", "is empty")
	case strings.TrimSpace(n.Text) == "":
		return refuse("text", "is empty; say what people should know")
	case len(n.Text) > MaxText || len(n.Title) > MaxTitle || len(n.Footer) > MaxTitle:
		return refuse("text, title or footer", fmt.Sprintf("is too long: a text may have %d bytes, the others %d", MaxText, MaxTitle))
	case len(n.Fields) > MaxFields:
		return refuse("fields", fmt.Sprintf("are %d; at most %d are shown", len(n.Fields), MaxFields))
	case len(n.Sections) > MaxSections:
		return refuse("sections", fmt.Sprintf("are %d; at most %d are shown", len(n.Sections), MaxSections))
	}
	switch n.Kind {
	case NoticeQuestion, NoticeGeneral, NoticeRun, NoticePulse:
	default:
		return refuse("kind", fmt.Sprintf("is %q; it is one of %s, %s, %s", n.Kind, NoticeGeneral, NoticeRun, NoticePulse))
	}
	switch n.Color {
	case "", Neutral, Success, Warning, Danger:
		return nil
	}
	return refuse("color", fmt.Sprintf("is %q; it is one of %s, %s, %s, %s", n.Color, Neutral, Success, Warning, Danger))
}

// redacted is a copy whose texts are cleaned.
func (n *Notification) redacted(redact func(string) string) *Notification {
	clean := func(text *string) { *text = redact(strings.ToValidUTF8(*text, string(utf8.RuneError))) }
	c := *n
	clean(&c.Title)
	clean(&c.Text)
	clean(&c.Footer)
	c.Fields = append([]Field(nil), n.Fields...)
	for i := range c.Fields {
		clean(&c.Fields[i].Title)
		clean(&c.Fields[i].Value)
	}
	c.Sections = append([]Section(nil), n.Sections...)
	for i := range c.Sections {
		clean(&c.Sections[i].Title)
		clean(&c.Sections[i].Text)
	}
	if n.Email != nil {
		email := *n.Email
		clean(&email.Subject)
		clean(&email.Body)
		clean(&email.HTML)
		c.Email = &email
	}
	return &c
}

// Status says what became of a notification.
type Status string

// What may become of a notification. Partial is delivered on some channels, NoRecipient
// says that no channel that may be used reaches anybody.
const (
	Delivered   Status = "delivered"
	Partial     Status = "partial"
	Failed      Status = "failed"
	NoRecipient Status = "no_recipient"
	NoChannels  Status = "no_channels_configured"
	// InDoubt is of one channel: its process died while it was sending, or the notifier
	// was left because it did not return.
	InDoubt Status = "in_doubt"
)

// Receipt says what became of a notification, on one channel or on all of them.
type Receipt struct {
	Status  Status `json:"status"`
	Channel string `json:"channel,omitempty"`
	// Reference is what the channel calls the message, such as a thread in which
	// people may answer.
	Reference string    `json:"reference,omitempty"`
	Detail    string    `json:"detail,omitempty"` // such as why it failed
	At        time.Time `json:"at,omitzero"`
	// Channels are the receipts of the channels, where there are several.
	Channels []Receipt `json:"channels,omitempty"`
}

// redacted is a copy whose texts are cleaned, and cut to what a file should hold.
func (r Receipt) redacted(redact func(string) string) Receipt {
	r.Reference, r.Detail = clip(redact(r.Reference)), clip(redact(r.Detail))
	r.Channels = slices.Clone(r.Channels)
	for i := range r.Channels {
		r.Channels[i] = r.Channels[i].redacted(redact)
	}
	return r
}

// clip cuts a text from outside that nobody has bounded, such as an error.
func clip(text string) string {
	if len(text) <= MaxTitle {
		return text
	}
	return strings.ToValidUTF8(text[:MaxTitle], "") + " …"
}
