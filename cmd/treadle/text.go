package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/treadle-dev/treadle/costs"
	"github.com/treadle-dev/treadle/internal/redact"
)

// redactingWriter redacts what is written to it, a whole line at a time.
type redactingWriter struct {
	redactor *redact.Redactor
	w        io.Writer
}

func (w *redactingWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.w, w.redactor.Text(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// printJSON prints a value as one line.
func (c *command) printJSON(value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = c.stdout.Write(append(c.redactor.JSON(data), '\n'))
	return err
}

// cleanLines keeps text that others wrote from steering the terminal.
func cleanLines(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return '\uFFFD'
		}
		return r
	}, text)
}

// clean is cleanLines for what has one line only.
func clean(text string) string {
	return cleanLines(strings.Join(strings.Fields(text), " "))
}

// cut shortens a line to at most limit runes.
func cut(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return string(runes[:limit-1]) + "…"
}

// atLeast marks a number that is a lower bound.
func atLeast(text string, bound bool) string {
	if bound {
		return "at least " + text
	}
	return text
}

// tokensText tells the tokens of some calls, all of them and by direction.
func tokensText(a *costs.Amount) string {
	if a.Calls == 0 {
		return "0, no model call"
	}
	u := &a.Usage
	sent := sum(u.Input, u.CacheRead, u.CacheWrite)
	return fmt.Sprintf("%s (%d in, %d out) in %s", atLeast(fmt.Sprint(a.Tokens()), a.TokensAtLeast()), sent, sum(u.Output), count(int(a.Calls), "model call"))
}

func sum(counts ...*int64) (total int64) {
	for _, n := range counts {
		if n != nil {
			total += *n
		}
	}
	return total
}

// costText is empty when the cost is not known at all.
func costText(a *costs.Amount) string {
	if a.Cost.Total == nil {
		return ""
	}
	return atLeast("$"+a.Cost.Total.String(), a.CostAtLeast())
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// tookText rounds a duration to what a person wants to know of it.
func tookText(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format(time.DateTime)
}

// shellWord quotes a word for a shell where that is needed.
func shellWord(word string) string {
	plain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("/._-+:,@%", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// resumeCommand is what a person types to take a run up again.
func (c *command) resumeCommand(run string) string {
	text := "treadle resume --run " + run
	if c.dir != "." {
		text += " -C " + shellWord(c.dir)
	}
	return text
}
