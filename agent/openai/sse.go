package openai

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// event is one server-sent event.
type event struct {
	name   string
	data   []byte
	closed bool // a blank line ended it
}

// eventReader reads server-sent events as the WHATWG HTML standard describes
// them: lines end in LF, CR or CRLF, comments are skipped, the data lines of one
// event are joined by a newline. Two lines that the standard skips hold the errors
// of some servers, and are data here: a field "error", and a bare JSON object.
type eventReader struct {
	r       *bufio.Reader
	skipLF  bool // the last line ended in CR: a following LF belongs to it
	started bool
	spoke   bool // a line was one of an event stream
}

func newEventReader(r io.Reader) *eventReader { return &eventReader{r: bufio.NewReader(r)} }

// next returns the next event that has data. At the end of the input it returns
// io.EOF. An event that no blank line closed is still returned, because servers
// leave out the last one; its data may be cut.
func (e *eventReader) next() (event, error) {
	var ev event
	hasData := false
	for {
		line, err := e.line()
		if err != nil && len(line) == 0 {
			if hasData && errors.Is(err, io.EOF) {
				return ev, nil
			}
			return event{}, err
		}
		if len(line) == 0 {
			if hasData {
				ev.closed = true
				return ev, nil
			}
			ev = event{}
			continue
		}
		field, value := splitLine(line)
		switch field {
		case "", "id", "retry":
			e.spoke = true
		case "event":
			e.spoke = true
			ev.name = string(value)
		case "error", "data":
			e.spoke = true
			if field == "error" {
				ev.name = field
			}
			if hasData {
				ev.data = append(ev.data, '\n')
			}
			ev.data = append(ev.data, value...)
			hasData = true
		}
	}
}

func splitLine(line []byte) (field string, value []byte) {
	if line[0] == '{' {
		return "data", line
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	return string(name), bytes.TrimPrefix(value, []byte(" "))
}

// line returns the next line without its end. With an error it returns what came
// before.
func (e *eventReader) line() ([]byte, error) {
	var line []byte
	for {
		b, err := e.r.ReadByte()
		if err != nil {
			return line, err
		}
		if e.skipLF {
			e.skipLF = false
			if b == '\n' {
				continue
			}
		}
		switch b {
		case '\r':
			e.skipLF = true
			return e.firstLine(line), nil
		case '\n':
			return e.firstLine(line), nil
		}
		line = append(line, b)
	}
}

// firstLine drops the byte order mark that may open a stream.
func (e *eventReader) firstLine(line []byte) []byte {
	if e.started {
		return line
	}
	e.started = true
	return bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
}
