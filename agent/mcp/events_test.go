package mcp

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func readEvents(body io.Reader, limit int) ([]event, error) {
	r := newEventReader(body, limit)
	var all []event
	for {
		e, err := r.next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, e)
	}
}

func TestEventsAreReadAsTheStandardHasThem(t *testing.T) {
	t.Parallel()
	message := func(id, data string) event { return event{name: "message", id: id, data: []byte(data)} }
	for text, want := range map[string][]event{
		"":                                    nil,
		"data: a\n\n":                         {message("", "a")},
		"data:a\r\rdata: b\r\n\r\n":           {message("", "a"), message("", "b")},
		"\xef\xbb\xbfdata: a\n\n":             {message("", "a")},
		": a comment\n\n:\n\ndata: a\n\n":     {message("", "a")},
		"data: a\ndata:\ndata:  b\n\n":        {message("", "a\n\n b")},
		"event: ping\n\ndata: a\n\n":          {message("", "a")},
		"event: endpoint\ndata: /x\n\n":       {{name: "endpoint", data: []byte("/x")}},
		"id: 1\ndata: a\n\ndata: b\n\n":       {message("1", "a"), message("", "b")},
		"id: 1\ndata: a\n\nid\ndata: b\n\n":   {message("1", "a"), message("", "b")},
		"id: 1\n\n":                           {{name: "message", id: "1"}},
		"id: a\x00b\ndata: a\n\n":             {message("", "a")},
		"unknown: 1\ndata: a\nx\n\n":          {message("", "a")},
		"id: 1\ndata: a\n\nid: 2\ndata: cut ": {message("1", "a")},
		"id: 1\ndata: {\"a\":1}":              {message("1", `{"a":1}`)},
		"id: 1\ndata: {\"a\":1}\n":            {message("1", `{"a":1}`)},
	} {
		for _, chunked := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text))} {
			got, err := readEvents(chunked, 1<<10)
			require.NoError(t, err, "%q", text)
			require.Len(t, got, len(want), "%q", text)
			for i := range want {
				assert.Equal(t, want[i].name, got[i].name, "%q", text)
				assert.Equal(t, string(want[i].data), string(got[i].data), "%q", text)
				assert.Equal(t, want[i].id, got[i].id, "%q", text)
			}
		}
	}
}

func TestAnEventThatABrokenConnectionCutsOffIsDropped(t *testing.T) {
	t.Parallel()
	broken := io.MultiReader(strings.NewReader("id: 1\ndata: 1\n\nid: 2\ndata: 2\n"), iotest.ErrReader(io.ErrUnexpectedEOF))
	got, err := readEvents(broken, 1<<10)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Len(t, got, 1)
	assert.Equal(t, "1", got[0].id)
}

func TestALineEndsWithACarriageReturnThatNothingFollows(t *testing.T) {
	t.Parallel()
	reader, writer := io.Pipe()
	go func() { _, _ = io.WriteString(writer, "data: a\r\r") }() // and the stream stays open
	e, err := newEventReader(reader, 1<<10).next()
	require.NoError(t, err)
	assert.Equal(t, "a", string(e.data))
}

func TestAnEventIsReadWholeUpToTheLimit(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_000)
	got, err := readEvents(strings.NewReader("data: "+long+"\ndata: "+long+"\n\n"), 300_000)
	require.NoError(t, err)
	assert.Len(t, got[0].data, 200_001)
	_, err = readEvents(strings.NewReader("data: "+long+"\ndata: "+long+"\n\n"), 150_000)
	require.ErrorIs(t, err, errTooLong)
	_, err = readEvents(strings.NewReader(strings.Repeat("data: x\n", 100_000)+"\n"), 50_000)
	require.ErrorIs(t, err, errTooLong)
}

func TestTheTimeToWaitIsTheServersAndGrows(t *testing.T) {
	t.Parallel()
	var s eventStream
	assert.Equal(t, firstRetry, s.delay(1))
	assert.Equal(t, 4*firstRetry, s.delay(3))
	assert.Equal(t, maxRetry, s.delay(100))
	for text, want := range map[string]time.Duration{
		"retry: 1500\n": 1500 * time.Millisecond, "retry: 0\n": minRetry, "retry: 99999999\n": limitRetry,
		"retry: soon\n": firstRetry, "retry: -1\n": firstRetry, "retry:\n": firstRetry, "retry: 99999999999999\n": firstRetry,
	} {
		s = eventStream{}
		require.ErrorIs(t, s.read(strings.NewReader(text+"id: 1\n\n"), func(event, bool) {}), io.EOF)
		assert.Equal(t, want, s.delay(1), text)
	}
}

func TestAReplayedEventIsKnownAgain(t *testing.T) {
	t.Parallel()
	var s eventStream
	assert.False(t, s.replayed("1"))
	assert.False(t, s.replayed("1"), "on the first connection the server is only careless")
	s.resumed = true
	assert.True(t, s.replayed("1"))
	assert.False(t, s.replayed(""))
	assert.False(t, s.replayed("2"))
	for range maxSeen {
		s.replayed(time.Now().String() + string(rune(len(s.order))))
	}
	assert.LessOrEqual(t, len(s.seen), maxSeen)
	assert.Len(t, s.order, len(s.seen))
}

func TestEveryEventIsHandledOnceHoweverOftenTheStreamBreaks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.IntRange(1, 40).Draw(t, "events")
		var s eventStream
		var handled []string
		for connection := 0; s.lastID != strconv.Itoa(total); connection++ {
			require.Less(t, connection, 1000)
			last, _ := strconv.Atoi(s.lastID)
			from := max(1, last+1-rapid.IntRange(0, 3).Draw(t, "sent again"))
			var body strings.Builder
			for n := from; n <= total; n++ {
				fmt.Fprintf(&body, "id: %d\ndata: {}\n\n", n)
			}
			end := rapid.IntRange(0, body.Len()).Draw(t, "cut")
			broken := io.MultiReader(strings.NewReader(body.String()[:end]), iotest.ErrReader(io.ErrUnexpectedEOF))
			require.ErrorIs(t, s.read(broken, func(e event, replayed bool) {
				if !replayed {
					handled = append(handled, e.id)
				}
			}), io.ErrUnexpectedEOF)
			s.resumed = true
		}
		require.Len(t, handled, total)
		for i, id := range handled {
			require.Equal(t, strconv.Itoa(i+1), id)
		}
	})
}

func FuzzEventReader(f *testing.F) {
	f.Add("id: 1\nevent: message\ndata: {}\n\nretry: 5\n\n")
	f.Add("\xef\xbb\xbfdata: a\r\rdata: b\r\n\r\n:\n")
	f.Fuzz(func(t *testing.T, text string) {
		whole, wholeErr := readEvents(strings.NewReader(text), 64)
		bytewise, bytewiseErr := readEvents(iotest.OneByteReader(strings.NewReader(text)), 64)
		require.Equal(t, wholeErr, bytewiseErr)
		require.Equal(t, whole, bytewise)
	})
}

func TestAnIDThatCannotBeSentBackIsNone(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"a\x01b", "a\x7f", "\x00", strings.Repeat("i", maxEventID+1)} {
		in := newEventReader(strings.NewReader("id: "+id+"\ndata: 1\n\n"), maxMessage)
		e, err := in.next()
		require.NoError(t, err)
		assert.Empty(t, e.id)
		assert.Equal(t, "1", string(e.data))
	}
}
