package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Defaults of a [Loop].
const (
	DefaultMaxTurns         = 100
	DefaultMaxParallelTools = 8
)

// Loop runs one agent: it calls the model, runs the tools that the reply asks
// for, gives their results back, and so on until a reply asks for none.
//
// Every reply and every tool result goes through the journal, so a loop that is
// run again over the same journal continues where it stopped: what is recorded
// is neither paid nor done a second time. A call of an [Unsafe] tool that was
// started and has no result is not repeated; the model is told that its outcome
// is in doubt.
//
// The fields are read only; one Loop may serve several conversations at a time.
type Loop struct {
	// LLM is the model backend. Required.
	LLM LLM
	// Provider is the provider's name for records. It does not choose the LLM.
	Provider string
	// Request holds what every call sends, except Messages and Tools.
	Request Request
	// Tools are what the model may call. Their names are unique.
	Tools []Tool
	// Journal makes the loop durable. Nil records nothing.
	Journal Journal
	// KeyPrefix, when set, stands before the positions in [ToolCall.Key], so that
	// keys are unique outside this loop's journal too.
	KeyPrefix string
	// MaxTurns bounds the model calls of one Run. 0 is [DefaultMaxTurns].
	MaxTurns int
	// MaxParallelTools bounds the tool calls at one time. 0 is
	// [DefaultMaxParallelTools]; Request.SerialTools makes it 1.
	MaxParallelTools int
	// Sink gets the replies while they arrive. It may be nil.
	Sink Sink
	// OnReply and OnTool are told of every reply and tool result, in order of
	// arrival, also of those that come from the journal. OnTool may be called
	// from several goroutines at once. They may be nil.
	OnReply func(turn int, reply *Reply)
	OnTool  func(turn, index int, record *ToolRecord)
}

// ToolRecord is the journal's record of a tool call.
type ToolRecord struct {
	Name       string     `json:"name"`
	Result     ToolResult `json:"result"`
	StartedAt  time.Time  `json:"started_at"`
	DurationMS int64      `json:"duration_ms"`
	// InDoubt says that an interrupted call was not repeated.
	InDoubt bool `json:"in_doubt,omitempty"`

	Call     ToolCall `json:"-"`
	Replayed bool     `json:"-"`
}

// Result is how a [Loop] ended.
type Result struct {
	Final     Message // the reply without tool calls
	Finish    FinishReason
	Turns     int // model calls, with those from the journal
	ToolCalls int
	Usage     Usage // of all turns
}

// Run walks the turns until a reply asks for no tool, and appends everything said
// to the conversation. With an error the result tells what was done until then.
//
// The error is a [*ModelError] when a model call failed, a [*TurnLimitError] at
// the limit, a [*SuspendError] when a tool suspends, the context's error, or an
// error of the journal.
func (l *Loop) Run(ctx context.Context, conv *Conversation) (*Result, error) {
	tools, err := newToolbox(l.Tools)
	if err != nil {
		return &Result{}, err
	}
	result := &Result{}
	for turn := 1; turn <= l.maxTurns(); turn++ {
		reply, err := l.reply(ctx, conv, tools, turn)
		if err != nil {
			return result, err
		}
		result.add(reply)
		if len(reply.Response.Message.ToolCalls) == 0 {
			result.Final = reply.Response.Message
			return result, nil
		}
		if err := l.runTools(ctx, conv, tools, turn, reply.Response.Message.ToolCalls); err != nil {
			return result, err
		}
	}
	return result, &TurnLimitError{Limit: l.maxTurns()}
}

func (r *Result) add(reply *Reply) {
	r.Turns++
	r.ToolCalls += len(reply.Response.Message.ToolCalls)
	r.Finish = reply.Response.Finish
	r.Usage = r.Usage.Add(reply.Response.Usage)
}

func (l *Loop) maxTurns() int {
	if l.MaxTurns > 0 {
		return l.MaxTurns
	}
	return DefaultMaxTurns
}

// reply makes the model call of a turn, or takes it from the journal, and appends
// it to the conversation.
func (l *Loop) reply(ctx context.Context, conv *Conversation, tools *toolbox, turn int) (*Reply, error) {
	key := fmt.Sprintf("turn/%d/reply", turn)
	var live *Reply
	record, err := do(ctx, l.Journal, key, conv.Digest(), func(ctx context.Context) ([]byte, error) {
		var err error
		if live, err = l.generate(ctx, conv, tools); err != nil {
			return nil, err
		}
		return json.Marshal(live)
	})
	if err != nil {
		return nil, err
	}
	// What counts is the record: a journal may have redacted it.
	reply := &Reply{}
	if err := json.Unmarshal(record, reply); err != nil {
		return nil, fmt.Errorf("record %s: %w", key, err)
	}
	reply.Key, reply.Replayed = key, live == nil
	conv.appendRecorded(reply.Response.Message, record)
	if l.OnReply != nil {
		l.OnReply(turn, reply)
	}
	return reply, nil
}

func (l *Loop) generate(ctx context.Context, conv *Conversation, tools *toolbox) (*Reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	req := l.Request
	req.Messages = conv.Messages()
	req.Tools = tools.specs
	reply := &Reply{Provider: l.Provider, Model: req.Model, StartedAt: time.Now().UTC()}
	response, err := l.LLM.Generate(ctx, &req, l.timed(reply))
	if err != nil {
		return nil, err
	}
	reply.DurationMS = time.Since(reply.StartedAt).Milliseconds()
	reply.Response = *response
	return reply, nil
}

// timed passes deltas on to the loop's sink and notes when the first one came.
func (l *Loop) timed(reply *Reply) Sink {
	if l.Sink == nil {
		return nil
	}
	first := true
	return func(d Delta) {
		if first {
			first = false
			reply.FirstTokenMS = max(1, time.Since(reply.StartedAt).Milliseconds())
		}
		l.Sink(d)
	}
}

func do(ctx context.Context, j Journal, key, input string, fn func(context.Context) ([]byte, error)) ([]byte, error) {
	if j == nil {
		return fn(ctx)
	}
	return j.Do(ctx, key, input, fn)
}
