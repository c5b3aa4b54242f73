package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"
)

// event is one server-sent event.
type event struct {
	name string // "message" where the server names none
	data []byte
	id   string // its own; empty where the server gives it none
}

// eventReader reads server-sent events as the HTML standard has them, with lines
// and events of any length up to a limit.
type eventReader struct {
	in    *bufio.Reader
	limit int // bytes of one event's data

	retry    time.Duration
	hasRetry bool
	afterCR  bool // a newline now is the rest of the last line's end
	begun    bool // a byte order mark can no longer come
}

func newEventReader(body io.Reader, limit int) *eventReader {
	return &eventReader{in: bufio.NewReaderSize(body, 32<<10), limit: limit}
}

// next returns the next event. One that the connection's breaking cuts off is
// dropped, as the standard wants it, and comes again when the stream is resumed
// after the last whole one. At an orderly end a whole message is taken though its
// empty line is missing: some servers forget it.
func (r *eventReader) next() (event, error) {
	var e event
	var hasData, hasID bool
	for {
		line, err := r.line(len(e.data))
		switch {
		case errors.Is(err, io.EOF) && hasData && json.Valid(e.data):
		case err != nil:
			return event{}, err
		case len(line) > 0:
			field, value, _ := bytes.Cut(line, []byte(":"))
			value = bytes.TrimPrefix(value, []byte(" "))
			switch string(field) { // a comment has the empty field
			case "data":
				if hasData {
					e.data = append(e.data, '\n')
				}
				e.data = append(e.data, value...)
				hasData = true
			case "event":
				e.name = string(value)
			case "id":
				if len(value) <= maxEventID && sendable(string(value)) { // else it could not be sent back
					e.id, hasID = string(value), true
				}
			case "retry":
				r.setRetry(string(value))
			}
			continue
		case !hasData && !hasID:
			e.name = ""
			continue
		}
		if e.name == "" {
			e.name = "message"
		}
		return e, nil
	}
}

func (r *eventReader) setRetry(value string) {
	if value == "" || strings.Trim(value, "0123456789") != "" {
		return
	}
	if ms, err := strconv.ParseUint(value, 10, 31); err == nil {
		r.retry, r.hasRetry = time.Duration(ms)*time.Millisecond, true
	}
}

// line reads a line that ends in CR, LF or both. A lone CR ends it at once: the
// byte after it may be long in coming.
func (r *eventReader) line(already int) ([]byte, error) {
	var line []byte
	for {
		if r.in.Buffered() == 0 {
			if _, err := r.in.Peek(1); err != nil {
				if errors.Is(err, io.EOF) && len(line) > 0 {
					return line, nil // the end is reported next
				}
				return nil, err
			}
		}
		chunk, _ := r.in.Peek(r.in.Buffered())
		if r.afterCR {
			r.afterCR = false
			if chunk[0] == '\n' {
				_, _ = r.in.Discard(1)
				continue
			}
		}
		end, whole := len(chunk), false
		for _, mark := range []byte("\n\r") {
			if i := bytes.IndexByte(chunk[:end], mark); i >= 0 {
				end, whole = i, true
			}
		}
		if already+len(line)+end > r.limit {
			return nil, errTooLong
		}
		line = append(line, chunk[:end]...)
		if whole {
			r.afterCR = chunk[end] == '\r'
			end++
		}
		_, _ = r.in.Discard(end)
		if !whole {
			continue
		}
		if !r.begun {
			r.begun = true
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		return line, nil
	}
}

// eventStream is one stream of events over all the connections that it took. Each
// stream has its own ids: the protocol resumes streams one by one.
type eventStream struct {
	lastID string        // of the last event that had one, replays aside
	retry  time.Duration // what the server asks for between connections
	quiet  int           // short connections without an event, in a row

	seen    map[string]bool // ids that were handled, so that a replay handles none again
	order   []string
	resumed bool
}

const (
	// maxSeen is how many event ids a stream remembers.
	maxSeen = 1024
	// maxEventID is the length in bytes of the longest id that is used.
	maxEventID = 4 << 10
)

// Delays between the connections of one stream, where the server does not ask for
// others: the first is that of browsers.
const (
	firstRetry = time.Second
	maxRetry   = time.Minute
	minRetry   = 10 * time.Millisecond // a server that asks for none is not hammered
	limitRetry = 10 * time.Minute      // nor is one waited for that asks for weeks
)

// read handles events until the connection ends, and returns why: io.EOF for an
// orderly end.
func (s *eventStream) read(body io.Reader, handle func(e event, replayed bool)) error {
	in := newEventReader(body, maxMessage)
	s.quiet++
	began := time.Now()
	for {
		e, err := in.next()
		if in.hasRetry {
			s.retry = min(max(in.retry, minRetry), limitRetry)
		}
		if err != nil {
			if time.Since(began) > maxRetry {
				s.quiet = 0 // there was nothing to say, and the connection was good
			}
			return err
		}
		s.quiet = 0
		replayed := s.replayed(e.id)
		if e.id != "" && !replayed {
			s.lastID = e.id
		}
		handle(e, replayed)
	}
}

// replayed notes an event's id, and reports whether a connection that resumed the
// stream brought it once more. Ids that repeat on the first connection are a
// server's carelessness and no replay.
func (s *eventStream) replayed(id string) bool {
	if id == "" {
		return false
	}
	if s.seen[id] {
		return s.resumed
	}
	if s.seen == nil {
		s.seen = map[string]bool{}
	}
	if len(s.order) == maxSeen {
		delete(s.seen, s.order[0])
		s.order = s.order[1:]
	}
	s.seen[id] = true
	s.order = append(s.order, id)
	return false
}

// delay is how long to wait before the next connection. It is what the server
// asks for, and grows while connections fail or bring nothing.
func (s *eventStream) delay(failures int) time.Duration {
	base := s.retry
	if base == 0 {
		base = firstRetry
	}
	n := max(failures, s.quiet, 1) - 1
	return min(base<<min(n, 10), max(maxRetry, base))
}
