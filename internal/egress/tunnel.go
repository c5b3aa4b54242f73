package egress

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
)

// tunnel joins two connections until both sides have said all, or one breaks.
func tunnel(w http.ResponseWriter, from *client, to *upstream, cancel context.CancelCauseFunc) {
	conn, buffer, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // closed while the host was dialed
	}
	defer conn.Close()
	if _, err := io.WriteString(from, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	var halves sync.WaitGroup
	// What was sent behind the request, without waiting for the answer, is in the buffer.
	// The rest is read from the connection itself: the server's reader takes the end of
	// the client's half for the end of all.
	in := buffer.Reader
	early, _ := in.Peek(in.Buffered())
	halves.Go(func() { half(to, io.MultiReader(bytes.NewReader(early), from), cancel) })
	halves.Go(func() { half(from, to, cancel) })
	halves.Wait()
}

// writeCloser is a connection of which one direction can end.
type writeCloser interface {
	io.Writer
	CloseWrite() error
}

// half copies one direction. When its source ends, the other direction goes on: a client
// may have sent all and still wait for the answer.
func half(to writeCloser, from io.Reader, cancel context.CancelCauseFunc) {
	_, err := io.Copy(to, from)
	if err == nil {
		err = to.CloseWrite()
	}
	if err != nil {
		cancel(err)
	}
}
