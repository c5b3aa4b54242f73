package mcp

import (
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

// replyTo is the answer to a request of a server. None but ping is served: the
// session declares no roots, sampling or elicitation.
func replyTo(id mcp.RequestId, method string) any {
	if method == string(mcp.MethodPing) {
		return transport.NewJSONRPCResultResponse(id, json.RawMessage(`{}`))
	}
	return transport.NewJSONRPCErrorResponse(id, mcp.METHOD_NOT_FOUND, "this client does not serve "+method, nil)
}
