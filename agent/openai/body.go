package openai

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/treadle-dev/treadle/agent"
)

// readReply reads a response body into the merge. What the body is decides how it
// is read, since servers answer either form whatever was asked for.
func readReply(source *replySource, merge *replyMerge, watch *watch) *agent.ModelError {
	first, err := source.firstByte()
	switch {
	case err != nil && errors.Is(err, io.EOF):
		return cut("the response body is empty")
	case err != nil:
		return watch.brokenReply(err)
	case strings.ContainsRune(`{["<`, rune(first)):
		return readWhole(source, merge, watch)
	}
	return readStream(source, merge, watch)
}

func readWhole(source *replySource, merge *replyMerge, watch *watch) *agent.ModelError {
	data, err := io.ReadAll(source)
	values, rest := jsonValues(data)
	switch {
	case len(values) == 1 && len(rest) == 0:
		return readOne(values[0], merge)
	case len(values) > 1:
		// A stream without the form of one: a chunk on each line.
		merge.done = isDone(rest)
		if failure := merge.addAll(values); failure != nil || merge.finished() {
			return failure
		}
	}
	switch {
	case err != nil:
		return watch.brokenReply(err)
	case len(data) > 0 && data[0] == '{':
		return cut("the response body ends inside its JSON")
	}
	return unreadable(data)
}

// readOne reads a body of one value: a whole reply or, from servers that stream
// without the form of it, a chunk, which must be the last.
func readOne(value []byte, merge *replyMerge) *agent.ModelError {
	merge.whole = true
	failure := merge.add(value)
	if first := merge.first(); failure == nil && first != nil && first.deltas && !merge.finished() {
		merge.whole = false
		return cut("the stream ended without a finish reason")
	}
	return failure
}

func isDone(data []byte) bool { return string(data) == "[DONE]" }

func readStream(source *replySource, merge *replyMerge, watch *watch) *agent.ModelError {
	events := newEventReader(source)
	for {
		ev, err := events.next()
		if err != nil {
			return endOfStream(err, events.spoke, source, merge, watch)
		}
		data := bytes.TrimSpace(ev.data)
		failure := readEvent(&ev, data, merge)
		switch {
		case failure != nil:
			failure.Retryable = failure.Retryable || len(merge.choices) > 0 && errors.Is(failure, errNotAReply)
			failure.Body = clip(string(data), maxErrorBody)
			return failure
		case merge.done:
			watch.drain(source)
			return nil
		}
	}
}

// readEvent takes one event. Its data is a chunk, or several where a server left
// out the lines between them.
func readEvent(ev *event, data []byte, merge *replyMerge) *agent.ModelError {
	if ev.name == "error" && len(data) > 0 {
		return parseErrorBody(data).inReply()
	}
	values, rest := jsonValues(data)
	if failure := merge.addAll(values); failure != nil {
		return failure
	}
	switch {
	case isDone(rest):
		merge.done = true
	case len(rest) > 0 && ev.closed:
		return unreadable(rest)
	}
	// What is left of an event that nothing closed was cut with the stream; the next
	// read says so.
	return nil
}

// endOfStream judges a stream that ended without [DONE]. Many servers never send
// it, so a finish reason is enough: asking again would pay twice for a reply that
// is there.
func endOfStream(err error, spoke bool, source *replySource, merge *replyMerge, watch *watch) *agent.ModelError {
	switch {
	case watch.callerLeft():
		return watch.brokenReply(err)
	case merge.finished():
		return nil
	case !errors.Is(err, io.EOF):
		return watch.brokenReply(err)
	case !spoke:
		return unreadable(source.head)
	}
	return cut("the stream ended without a finish reason")
}

func cut(message string) *agent.ModelError {
	return &agent.ModelError{Message: message, Retryable: true, Err: agent.ErrReplyCut}
}

// maxErrorBody is how much of a response is kept for an error.
const maxErrorBody = 64 << 10

// replySource reads a response body up to a limit and keeps its head for errors.
type replySource struct {
	r      io.Reader
	left   int64
	head   []byte
	peeked []byte
}

func (s *replySource) Read(p []byte) (int, error) {
	if len(s.peeked) > 0 {
		n := copy(p, s.peeked)
		s.peeked = s.peeked[n:]
		return n, nil
	}
	if s.left <= 0 {
		return 0, agent.ErrReplyTooLarge
	}
	if int64(len(p)) > s.left {
		p = p[:s.left]
	}
	n, err := s.r.Read(p)
	s.left -= int64(n)
	if room := maxErrorBody - len(s.head); room > 0 {
		s.head = append(s.head, p[:min(n, room)]...)
	}
	return n, err
}

// firstByte skips leading white space and returns the first byte after it, which
// stays to be read.
func (s *replySource) firstByte() (byte, error) {
	var buf [1]byte
	for {
		if _, err := io.ReadFull(s, buf[:]); err != nil {
			return 0, err
		}
		switch buf[0] {
		case ' ', '\t', '\r', '\n', 0xEF, 0xBB, 0xBF: // the last three are a byte order mark
			continue
		}
		s.peeked = []byte{buf[0]}
		return buf[0], nil
	}
}
