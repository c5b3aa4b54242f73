package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// methodLog is what a server's own log lines come as.
const methodLog = "notifications/message"

// notified takes in what a server says unasked. It is called by the goroutine that
// reads from the server, and waits for nothing.
func (c *connection) notified(n mcp.JSONRPCNotification, onListChanged func()) {
	switch n.Method {
	case mcp.MethodNotificationToolsListChanged: // also from a server that did not declare that it sends it
		onListChanged()
	case "notifications/progress":
		c.progress.reported(n.Params.AdditionalFields)
	case methodLog:
		c.log.message(n.Params.AdditionalFields)
	}
}

// progressReport is what a server says of a call under way.
type progressReport struct {
	done, total float64 // total is 0 when it is not known
	message     string
}

// progressWatch leads reports of progress to the requests that they are about. Its
// zero value is ready for use.
type progressWatch struct {
	mu       sync.Mutex
	watchers map[string]func(progressReport) // by the key of the token
}

// watch calls fn with each report under a token until stop is called. The report
// that is being handed over may still arrive after that.
func (w *progressWatch) watch(token string, fn func(progressReport)) (stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watchers == nil {
		w.watchers = map[string]func(progressReport){}
	}
	w.watchers[token] = fn
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.watchers, token)
	}
}

// reported hands a report over. One for a request that has ended is dropped.
func (w *progressWatch) reported(fields map[string]any) {
	token := fields["progressToken"]
	if n, ok := token.(float64); ok && n == float64(int64(n)) {
		token = int64(n) // as the ids are written
	}
	w.mu.Lock()
	fn := w.watchers[fmt.Sprint(token)]
	w.mu.Unlock()
	if fn == nil {
		return
	}
	var report progressReport
	report.done, _ = fields["progress"].(float64)
	report.total, _ = fields["total"].(float64)
	report.message, _ = fields["message"].(string)
	fn(report)
}

// Bounds of what a server may write to the host's log.
const (
	maxLogMessage = 2 << 10 // bytes of one message
	maxLogRate    = 20      // messages a second
)

// serverLog passes a server's own log lines on, bounded and without secrets.
type serverLog struct {
	logger   *slog.Logger
	redactor *redactor

	mu      sync.Mutex
	second  time.Time // when the count began
	count   int
	dropped int
}

// message logs one notifications/message.
func (l *serverLog) message(fields map[string]any) {
	word, _ := fields["level"].(string)
	level := logLevel(word)
	if !l.logger.Enabled(context.Background(), level) {
		return
	}
	admitted, dropped := l.admit(time.Now())
	if dropped > 0 {
		l.logger.Warn("the server logs too fast; messages were dropped", "dropped", dropped)
	}
	if !admitted {
		return
	}
	text, isText := fields["data"].(string)
	if !isText {
		data, err := json.Marshal(fields["data"])
		if err != nil {
			return // it came out of JSON, so it goes back
		}
		text = string(data)
	}
	text = clipped(l.redactor.text(text), maxLogMessage)
	source, _ := fields["logger"].(string)
	l.logger.Log(context.Background(), level, "the server says", "message", text, "source", clipped(l.redactor.text(source), 100))
}

// admit counts a message, and says how many were dropped before it since the last
// that was admitted.
func (l *serverLog) admit(now time.Time) (admitted bool, dropped int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.second) >= time.Second {
		l.second, l.count = now, 0
	}
	if l.count++; l.count > maxLogRate {
		l.dropped++
		return false, 0
	}
	dropped, l.dropped = l.dropped, 0
	return true, dropped
}

// logLevel maps the protocol's levels, which are those of syslog. One that is not
// known counts as info.
func logLevel(word string) slog.Level {
	levels := map[string]slog.Level{
		"debug": slog.LevelDebug, "warning": slog.LevelWarn,
		"error": slog.LevelError, "critical": slog.LevelError, "alert": slog.LevelError, "emergency": slog.LevelError,
	}
	return levels[word] // slog.LevelInfo is the zero
}

// clipped cuts a text to a number of bytes, at a whole character, and says so.
func clipped(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := limit
	for end > 0 && text[end]&0xC0 == 0x80 {
		end--
	}
	return fmt.Sprintf("%s… (%d bytes in all)", text[:end], len(text))
}
