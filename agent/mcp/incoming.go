package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// incoming is any message of the protocol.
type incoming struct {
	ID     *mcp.RequestId  `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// receive handles one line. What is not a message is passed over: many servers
// print banners and debug output.
func (s *stdio) receive(line []byte) {
	line = bytes.TrimSpace(line)
	if line[0] == '[' { // a batch, which the protocol had in its revision 2025-03-26
		var batch []json.RawMessage
		if json.Unmarshal(line, &batch) == nil {
			for _, message := range batch {
				s.receiveOne(message)
			}
			return
		}
	}
	s.receiveOne(line)
}

func (s *stdio) receiveOne(line []byte) {
	var message incoming
	if len(line) == 0 || line[0] != '{' || json.Unmarshal(line, &message) != nil {
		s.stray(line)
		return
	}
	switch {
	case message.Method != "" && message.ID != nil:
		s.answer(*message.ID, message.Method)
	case message.Method != "":
		var notification mcp.JSONRPCNotification
		if json.Unmarshal(line, &notification) == nil {
			s.mu.Lock()
			notify := s.notify
			s.mu.Unlock()
			if notify != nil {
				notify(notification)
			}
		}
	case message.ID != nil:
		s.deliver(&transport.JSONRPCResponse{
			JSONRPC: mcp.JSONRPC_VERSION, ID: *message.ID, Result: message.Result, Error: errorDetails(message.Error),
		})
	default:
		s.stray(line)
	}
}

func (s *stdio) stray(line []byte) {
	s.strayOnce.Do(s.onStray)
	s.server.Logger.Debug("output that is not the protocol's", "line", s.redactor.text(string(line[:min(len(line), 200)])))
}

func (s *stdio) deliver(response *transport.JSONRPCResponse) {
	key := requestKey(response.ID)
	s.mu.Lock()
	answer := s.pending[key]
	delete(s.pending, key) // a second answer to the same request is dropped
	s.mu.Unlock()
	if answer != nil {
		answer <- response // it has room for the one answer
	}
}

// answer replies to a request of the server. None but ping is served: the session
// declares no roots, sampling or elicitation.
func (s *stdio) answer(id mcp.RequestId, method string) {
	var reply any = transport.NewJSONRPCResultResponse(id, json.RawMessage(`{}`))
	if method != string(mcp.MethodPing) {
		reply = transport.NewJSONRPCErrorResponse(id, mcp.METHOD_NOT_FOUND, "this client does not serve "+method, nil)
	}
	line, err := encodeLine(reply)
	if err != nil {
		return // an id that does not encode cannot have been decoded
	}
	_, _ = s.outbox.send(line) // a connection that is ending needs no answer
}

// errorDetails reads the error of an answer. One that is not as the protocol has
// it is still an error: it is quoted, so that the call does not wait for another.
func errorDetails(raw json.RawMessage) *mcp.JSONRPCErrorDetails {
	if isNull(raw) {
		return nil
	}
	var details mcp.JSONRPCErrorDetails
	if json.Unmarshal(raw, &details) != nil {
		return &mcp.JSONRPCErrorDetails{Code: mcp.INTERNAL_ERROR, Message: string(raw)}
	}
	return &details
}

// requestKey is an id as text: some servers give a number back as a string.
func requestKey(id mcp.RequestId) string { return fmt.Sprint(id.Value()) }
