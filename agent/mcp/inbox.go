package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// inbox hands what a server sends to those who wait for it, whichever stream it
// comes on. It is safe for concurrent use.
type inbox struct {
	reply     func(id mcp.RequestId, method string) // answers a request of the server
	onStray   func()                                // called once, when there is what is no message
	strayOnce sync.Once
	logger    *slog.Logger
	redactor  *redactor

	mu      sync.Mutex
	pending map[string]chan *transport.JSONRPCResponse
	notify  func(mcp.JSONRPCNotification)
}

func newInbox(server *Server, redactor *redactor, reply func(mcp.RequestId, string), onStray func()) *inbox {
	return &inbox{
		reply: reply, onStray: onStray, logger: server.Logger, redactor: redactor,
		pending: map[string]chan *transport.JSONRPCResponse{},
	}
}

// expect returns where the answer to a request will be. It has room for the one
// answer; a late or a second one finds nobody and is dropped.
func (in *inbox) expect(id mcp.RequestId) (answer <-chan *transport.JSONRPCResponse, forget func()) {
	key := requestKey(id)
	ch := make(chan *transport.JSONRPCResponse, 1)
	in.mu.Lock()
	defer in.mu.Unlock()
	in.pending[key] = ch
	return ch, func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		delete(in.pending, key)
	}
}

// waits reports whether the answer to a request is still to come.
func (in *inbox) waits(id mcp.RequestId) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	_, ok := in.pending[requestKey(id)]
	return ok
}

func (in *inbox) deliver(response *transport.JSONRPCResponse) {
	key := requestKey(response.ID)
	in.mu.Lock()
	answer := in.pending[key]
	delete(in.pending, key)
	in.mu.Unlock()
	if answer != nil {
		answer <- response
	}
}

// receive takes a message, or a batch of them, which the protocol had in its
// revision 2025-03-26, and reports whether it is one. Of a replayed one only
// answers count: they go to those who still wait, and to nobody twice. An error
// without an id is the answer to the request that own names, if it names one: a
// server that could not read a request does not know its id.
func (in *inbox) receive(data []byte, replayed bool, own *mcp.RequestId) bool {
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return false // an event that only sets an id
	}
	if !utf8.Valid(data) { // JSON is UTF-8: what is not would end up in files and requests as it is
		data = bytes.ToValidUTF8(data, []byte("�"))
	}
	var batch []json.RawMessage
	if data[0] == '[' && json.Unmarshal(data, &batch) == nil {
		for _, message := range batch {
			in.receiveOne(message, replayed, own)
		}
		return true
	}
	return in.receiveOne(data, replayed, own)
}

func (in *inbox) receiveOne(data []byte, replayed bool, own *mcp.RequestId) bool {
	var message incoming
	if len(data) == 0 || data[0] != '{' || json.Unmarshal(data, &message) != nil {
		in.stray(data)
		return false
	}
	if message.ID == nil && message.Method == "" && !isNull(message.Error) {
		message.ID = own
	}
	switch {
	case message.Method == "" && message.ID != nil:
		in.deliver(&transport.JSONRPCResponse{
			JSONRPC: mcp.JSONRPC_VERSION, ID: *message.ID, Result: message.Result, Error: errorDetails(message.Error),
		})
	case message.Method == "":
		in.stray(data)
		return false
	case replayed:
	case message.ID != nil:
		in.reply(*message.ID, message.Method)
	default:
		var notification mcp.JSONRPCNotification
		if json.Unmarshal(data, &notification) == nil {
			in.tell(notification)
		}
	}
	return true
}

// maxStray is how many bytes of what is no message are logged.
const maxStray = 200

func (in *inbox) stray(data []byte) {
	in.strayOnce.Do(in.onStray)
	if in.logger.Enabled(context.Background(), slog.LevelDebug) {
		in.logger.Debug("what is not of the protocol is passed over", "received", oneLine(in.redactor.text(string(data)), maxStray))
	}
}

func (in *inbox) setNotify(notify func(mcp.JSONRPCNotification)) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.notify = notify
}

func (in *inbox) tell(notification mcp.JSONRPCNotification) {
	in.mu.Lock()
	notify := in.notify
	in.mu.Unlock()
	if notify != nil {
		notify(notification)
	}
}
