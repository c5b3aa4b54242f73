package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// KeyMeta is the name in a request's _meta under which a server gets the stable
// key of a call. It is the same when the call is made again after a crash.
const KeyMeta = "treadle.dev/key"

// firstRequestID keeps the ids of a connection's own requests apart from those of
// mcp-go's client, which makes the handshake and counts from 1.
const firstRequestID = 1000

// wire is a transport that can tell how it ended.
type wire interface {
	transport.Interface
	Lost() <-chan struct{}
	Cause(ctx context.Context) error
	Abandon(reason string)
	Stderr() string
}

// connection is one initialised server. Lists and calls go past mcp-go's client,
// whose typed results lose what they do not know (a schema's other keywords) and
// refuse the whole answer for one odd part of it.
type connection struct {
	server       *Server
	wire         wire
	ids          atomic.Int64
	meta         map[string]any // what the negotiated protocol wants in every request
	capabilities mcp.ServerCapabilities
	progress     progressWatch
	redactor     *redactor
	log          *serverLog
}

// errStartLimit and errCallLimit tell a session's own limits from the caller's.
var (
	errStartLimit = errors.New("start timeout")
	errCallLimit  = errors.New("call timeout")
)

// connect makes a server ready for use within its StartTimeout. Its errors are a
// [*StartError] or the context's.
func connect(ctx context.Context, server *Server, w wire, redactor *redactor, onListChanged func()) (*connection, error) {
	limited, cancel := context.WithTimeoutCause(ctx, server.StartTimeout, errStartLimit)
	defer cancel()
	c := &connection{server: server, wire: w, redactor: redactor, log: &serverLog{logger: server.Logger, redactor: redactor}}
	c.ids.Store(firstRequestID)
	err := c.handshake(limited, onListChanged)
	if err == nil {
		return c, nil
	}

	failed := &StartError{Server: server.Name, Command: server.Command, URL: server.place(), Err: err}
	if broken, ok := errors.AsType[*transport.Error](err); ok && isHTTPError(broken.Err) {
		failed.Err = broken.Err // without mcp-go's words around it
	}
	switch {
	case lost(w):
		failed.Err = w.Cause(limited)
	case ctx.Err() != nil:
		failed.Err = context.Cause(ctx)
		w.Abandon("the start was canceled")
	case errors.Is(context.Cause(limited), errStartLimit):
		failed.Timeout = server.StartTimeout
		w.Abandon("it did not answer initialize in time")
	}
	failed.Stderr = w.Stderr()
	if err := w.Close(); err != nil {
		failed.Err = errors.Join(failed.Err, err)
	}
	return nil, failed
}

// handshake offers the protocol's initialize, which almost every server speaks,
// and asks in the newer way only a server that refuses it. The other order, which
// is mcp-go's own, costs five seconds with each server that ignores what it does
// not know.
func (c *connection) handshake(ctx context.Context, onListChanged func()) error {
	err := c.negotiate(ctx, mcp.LATEST_LEGACY_PROTOCOL_VERSION, onListChanged)
	var broken *transport.Error
	if err == nil || errors.As(err, &broken) || ctx.Err() != nil || lost(c.wire) {
		return err
	}
	if c.negotiate(ctx, mcp.LATEST_PROTOCOL_VERSION, onListChanged) == nil {
		return nil
	}
	return err
}

func (c *connection) negotiate(ctx context.Context, version string, onListChanged func()) error {
	cl := client.NewClient(c.wire, client.WithProtocolVersion(version))
	cl.OnNotification(func(n mcp.JSONRPCNotification) { c.notified(n, onListChanged) })
	if err := cl.Start(ctx); err != nil {
		return err
	}
	self := mcp.Implementation{Name: "treadle", Version: "1"}
	request := mcp.InitializeRequest{Params: mcp.InitializeParams{ClientInfo: self}}
	if _, err := cl.Initialize(ctx, request); err != nil {
		return err
	}
	c.capabilities = cl.GetServerCapabilities()
	c.meta = nil
	if negotiated := cl.ProtocolVersion(); mcp.IsModernProtocol(negotiated) {
		c.meta = map[string]any{
			mcp.MetaKeyProtocolVersion:    negotiated,
			mcp.MetaKeyClientCapabilities: mcp.ClientCapabilities{},
			mcp.MetaKeyClientInfo:         self,
		}
	}
	return nil
}

// outgoingRequest is a request of a connection's own.
type outgoingRequest struct {
	method string
	params map[string]any
	meta   map[string]any
	// onProgress is told what the server reports of the request; nil asks for no
	// reports.
	onProgress func(progressReport)
}

// request sends a request and returns the result of its answer. A request whose
// context ends is canceled on the server too; the connection lives on. Errors are
// a [*ServerError], a [*DiedError], or the context's with how far the request got.
func (c *connection) request(ctx context.Context, r outgoingRequest) (json.RawMessage, error) {
	method, params := r.method, r.params
	id := mcp.NewRequestId(c.ids.Add(1))
	meta := map[string]any{}
	maps.Copy(meta, c.meta)
	maps.Copy(meta, r.meta)
	if r.onProgress != nil {
		meta["progressToken"] = id
		defer c.progress.watch(requestKey(id), r.onProgress)()
	}
	if len(meta) > 0 {
		params["_meta"] = meta
	}
	response, err := c.wire.SendRequest(ctx, transport.JSONRPCRequest{
		JSONRPC: mcp.JSONRPC_VERSION, ID: id, Method: method, Params: params,
	})
	switch {
	case err == nil && response.Error != nil:
		return nil, c.refused(method, response.Error)
	case err == nil:
		return response.Result, nil
	case ctx.Err() != nil:
		if _, ok := errors.AsType[*unsentError](err); !ok {
			c.cancel(ctx, id)
		}
		return nil, err
	case lost(c.wire):
		if _, ok := errors.AsType[*unsentError](err); ok {
			return nil, &unsentError{c.wire.Cause(ctx)}
		}
		return nil, c.wire.Cause(ctx)
	case isHTTPError(err): // which names the server
		return nil, err
	}
	return nil, fmt.Errorf("mcp server %q: %s: %w", c.server.Name, method, err)
}

// cancel tells the server that nobody waits for a request any more. It is sent
// best effort: a server that does not read cannot be told.
func (c *connection) cancel(ctx context.Context, id mcp.RequestId) {
	_ = c.wire.SendNotification(context.WithoutCancel(ctx), mcp.JSONRPCNotification{
		JSONRPC: mcp.JSONRPC_VERSION,
		Notification: mcp.Notification{
			Method: string(mcp.MethodNotificationCancelled),
			Params: mcp.NotificationParams{
				AdditionalFields: map[string]any{"requestId": id, "reason": context.Cause(ctx).Error()},
			},
		},
	})
}

func (c *connection) refused(method string, details *mcp.JSONRPCErrorDetails) *ServerError {
	quote := func(text string) string { return clipped(c.redactor.text(text), maxErrorText) }
	refused := &ServerError{Server: c.server.Name, Method: method, Code: details.Code, Message: quote(details.Message)}
	if details.Data != nil {
		if data, err := json.Marshal(details.Data); err == nil {
			refused.Data = quote(string(data))
		}
	}
	return refused
}

// maxErrorText is how many bytes of each text of a server an error quotes.
const maxErrorText = 16 << 10

func lost(w wire) bool {
	select {
	case <-w.Lost():
		return true
	default:
		return false
	}
}
