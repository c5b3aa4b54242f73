package feedback

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Answer is what a person said.
type Answer struct {
	// Value is the text; yes or no; or the option as the question has it. Of a secret
	// question it is empty: the value is held by the [Inbox] that asked.
	Value string `json:"value,omitempty"`
	// Option is the number of the chosen option, from 1; 0 for other kinds.
	Option int `json:"option,omitempty"`
	// By names the person, as the source knows them.
	By string `json:"by,omitempty"`
	// At is when the answer was given; [Inbox.Answer] sets it when it is zero.
	At time.Time `json:"at"`
	// Source says by which way it came, such as terminal or slack.
	Source string `json:"source,omitempty"`
}

// yesWords and noWords are what counts as yes and no, in lower case.
var (
	yesWords = []string{"yes", "y", "true", "ok", "okay", "approve", "approved", "1"}
	noWords  = []string{"no", "n", "false", "reject", "rejected", "deny", "denied", "0"}
)

// read turns what a person wrote into an answer, or says what would be one.
func (q *Question) read(text string) (Answer, error) {
	trimmed := trim(text)
	if trimmed == "" && q.Default != "" {
		trimmed = q.Default
	}
	switch {
	case len(text) > MaxAnswer:
		return Answer{}, &AnswerError{ID: q.ID, Reason: fmt.Sprintf("it is longer than %d bytes", MaxAnswer)}
	case trimmed == "":
		return Answer{}, &AnswerError{ID: q.ID, Reason: "it is empty", Choices: q.choices()}
	case q.Kind == KindYesNo:
		return q.readYesNo(trimmed)
	case q.Kind == KindChoice:
		return q.readChoice(trimmed)
	case q.Kind == KindSecret:
		return Answer{Value: strings.TrimSpace(text)}, nil
	}
	return Answer{Value: strings.ToValidUTF8(trimmed, "\uFFFD")}, nil
}

func (q *Question) readYesNo(text string) (Answer, error) {
	word := strings.ToLower(text)
	for i, shown := range q.choices() {
		if strings.EqualFold(shown, text) || len(q.Options) > 0 && strings.EqualFold(q.Options[i], text) {
			return Answer{Value: [...]string{"yes", "no"}[i]}, nil
		}
	}
	switch {
	case slices.Contains(yesWords, word):
		return Answer{Value: "yes"}, nil
	case slices.Contains(noWords, word):
		return Answer{Value: "no"}, nil
	}
	return Answer{}, &AnswerError{ID: q.ID, Reason: "it is neither yes nor no", Choices: q.choices()}
}

// readChoice takes the name of an option before its number: a name may be a number.
func (q *Question) readChoice(text string) (Answer, error) {
	chosen := slices.Index(q.Options, text)
	if chosen < 0 {
		chosen = slices.IndexFunc(q.Options, func(option string) bool { return strings.EqualFold(option, text) })
	}
	if chosen < 0 {
		chosen = slices.IndexFunc(q.choices(), func(shown string) bool { return strings.EqualFold(shown, text) })
	}
	if chosen < 0 {
		chosen = optionNumber(text) - 1
	}
	if chosen < 0 || chosen >= len(q.Options) {
		return Answer{}, &AnswerError{ID: q.ID, Reason: "it is none of the options", Choices: q.choices()}
	}
	return Answer{Value: q.Options[chosen], Option: chosen + 1}, nil
}

// optionNumber reads an option's number as people write it, such as 2, "2." or
// "Option 2"; 0 when it is none. A sign makes it none: +1 is how people agree.
func optionNumber(text string) int {
	if len(text) > len("option") && strings.EqualFold(text[:len("option")], "option") {
		text = strings.TrimSpace(text[len("option"):])
	}
	n, err := strconv.ParseUint(strings.TrimRight(text, ".)"), 10, 16)
	if err != nil {
		return 0
	}
	return int(n)
}

// trim takes away what cannot be seen at both ends: space, control characters, and
// marks such as those of writing direction that a copied text brings along.
func trim(text string) string {
	return strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.In(r, unicode.Cc, unicode.Cf) })
}

// choices are what may be answered, as people are shown them; nil when anything may.
func (q *Question) choices() []string {
	switch q.Kind {
	case KindYesNo:
		if len(q.Options) == 2 {
			return []string{"yes (" + q.Options[0] + ")", "no (" + q.Options[1] + ")"}
		}
		return []string{"yes", "no"}
	case KindChoice:
		list := make([]string, len(q.Options))
		for i, option := range q.Options {
			list[i] = strconv.Itoa(i+1) + ": " + option
		}
		return list
	}
	return nil
}
