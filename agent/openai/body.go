package openai

import (
	"bytes"
	"encoding/json"
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
	merge.whole = true
	data, err := io.ReadAll(source)
	switch {
	case json.Valid(data):
		return merge.add(data)
	case err != nil:
		return watch.brokenReply(err)
	case len(data) > 0 && data[0] == '{':
		return cut("the response body ends inside its JSON")
	}
	return unreadable(data)
}

func readStream(source *replySource, merge *replyMerge, watch *watch) *agent.ModelError {
	events := newEventReader(source)
	seen := false
	for {
		ev, err := events.next()
		if err != nil {
			return endOfStream(err, seen, source, merge, watch)
		}
		data := bytes.TrimSpace(ev.data)
		switch {
		case len(data) == 0:
			continue
		case string(data) == "[DONE]":
			merge.done = true
			watch.drain(source)
			return nil
		case !json.Valid(data) && !ev.closed:
			// The event was cut with the stream; the next read says so.
			continue
		case !json.Valid(data):
			failure := unreadable(data)
			failure.Retryable, failure.Body = seen, clip(string(data), maxErrorBody)
			return failure
		}
		seen = true
		failure := merge.add(data)
		if ev.name == "error" {
			failure = parseErrorBody(data).inReply()
		}
		if failure != nil {
			failure.Body = clip(string(data), maxErrorBody)
			return failure
		}
	}
}

// endOfStream judges a stream that ended without [DONE]. Many servers never send
// it, so a finish reason is enough: asking again would pay twice for a reply that
// is there.
func endOfStream(err error, seen bool, source *replySource, merge *replyMerge, watch *watch) *agent.ModelError {
	switch {
	case watch.callerLeft():
		return watch.brokenReply(err)
	case merge.finished():
		return nil
	case !errors.Is(err, io.EOF):
		return watch.brokenReply(err)
	case !seen && len(bytes.TrimSpace(source.head)) > 0 && !bytes.Contains(source.head, []byte("data:")):
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
