package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestALineIsReadWholeUpToTheLimit(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 15, 16, 17, 1000, 4095} {
		in := bufio.NewReaderSize(strings.NewReader(strings.Repeat("x", size)+"\nrest"), 16)
		line, err := readLine(in, 4096)
		require.NoError(t, err)
		assert.Len(t, line, size+1)
		line, err = readLine(in, 4096)
		require.ErrorIs(t, err, io.EOF, "the last line lacks its newline")
		assert.Equal(t, "rest", string(line))
	}
	_, err := readLine(bufio.NewReaderSize(strings.NewReader(strings.Repeat("x", 5000)), 16), 4096)
	require.ErrorIs(t, err, errTooLong)
}

func TestTheEndOfStderrIsKept(t *testing.T) {
	t.Parallel()
	kept := &tail{keep: 10}
	for range 100 {
		_, err := kept.Write([]byte("noise "))
		require.NoError(t, err)
	}
	_, err := kept.Write([]byte("last words"))
	require.NoError(t, err)
	assert.Equal(t, "last words", kept.String())
}

func TestSecretsAreMaskedTheLongestFirst(t *testing.T) {
	t.Parallel()
	r := newRedactor([]string{"abcd", "abcdefgh", "x1", ""})
	assert.Equal(t, "[secret] [secret]! x1", r.text("abcdefgh abcd! x1"))
}

func TestRestartsWaitLongerAndLonger(t *testing.T) {
	t.Parallel()
	assert.Zero(t, backoff(0))
	assert.Zero(t, backoff(1))
	assert.Equal(t, 500*time.Millisecond, backoff(2))
	assert.Equal(t, time.Second, backoff(3))
	assert.Equal(t, 30*time.Second, backoff(9))
	assert.Equal(t, 30*time.Second, backoff(1_000_000))
}

func TestAMessageIsTakenBackUnlessItsWritingHasBegun(t *testing.T) {
	t.Parallel()
	out := newOutbox()
	reader, writer := io.Pipe() // holds nothing: a write waits for its reader
	var work sync.WaitGroup
	work.Go(func() { assert.NoError(t, out.run(writer)) })
	first, err := out.send([]byte("first\n"))
	require.NoError(t, err)
	second, err := out.send([]byte("second\n"))
	require.NoError(t, err)
	third, err := out.send([]byte("third\n"))
	require.NoError(t, err)

	start := make([]byte, 1)
	_, err = reader.Read(start)
	require.NoError(t, err)
	assert.Equal(t, partial, out.withdraw(first))
	assert.Equal(t, unsent, out.withdraw(second))
	rest := make([]byte, len("irst\nthird\n"))
	_, err = io.ReadFull(reader, rest)
	require.NoError(t, err)
	assert.Equal(t, "irst\nthird\n", string(rest))
	out.close()
	work.Wait()
	assert.Equal(t, sent, out.withdraw(third))
	_, err = out.send(nil)
	require.ErrorIs(t, err, errOutboxClosed)
}

func TestTheQueueForAServerThatDoesNotReadIsBounded(t *testing.T) {
	t.Parallel()
	out := newOutbox()
	_, err := out.send(bytes.Repeat([]byte("x"), maxQueued+1))
	require.NoError(t, err, "one message may be of any size")
	_, err = out.send([]byte("y"))
	require.ErrorIs(t, err, errQueueFull)
}

func TestAnswersToAServerThatDoesNotReadTakeNoRoomOfItsCalls(t *testing.T) {
	t.Parallel()
	out := newOutbox()
	answer := bytes.Repeat([]byte("x"), 1<<10)
	for range 100_000 {
		out.offer(answer)
	}
	assert.LessOrEqual(t, out.queued, maxOffered+len(answer))
	_, err := out.send([]byte("a call"))
	require.NoError(t, err)
}

func TestACallWhoseTimeIsUpWhenItIsSentDoesNotMakeTheServerOneThatDoesNotRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStdio(Server{Logger: slog.New(slog.DiscardHandler)}, "", newRedactor(nil), func() {})
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		request := transport.JSONRPCRequest{ID: mcp.NewRequestId(int64(7)), Method: "tools/call"}
		_, err := s.SendRequest(ctx, request) // nobody has come to write it yet
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, errUnread)

		r, w := io.Pipe() // a server that does not read
		go func() { _ = s.outbox.run(w) }()
		_, err = s.outbox.send([]byte("stuck"))
		require.NoError(t, err)
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = s.SendRequest(ctx, request)
		require.ErrorIs(t, err, errUnread)
		_, isUnsent := errors.AsType[*unsentError](err)
		assert.True(t, isUnsent, "it waited behind another")
		_ = r.Close()
		synctest.Wait()
	})
}
