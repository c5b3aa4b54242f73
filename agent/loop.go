package agent

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// Defaults of a [Loop].
const (
	DefaultMaxTurns         = 100
	DefaultMaxDuration      = 24 * time.Hour
	DefaultMaxParallelTools = 8
	DefaultMaxToolCalls     = 64
	DefaultMaxCutReplies    = 3
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
// A call is run when its arguments are a JSON object that fits the tool's input
// schema; otherwise the model is told what is wrong, in the parser's or the
// validator's words. Absent arguments and null count as an empty object. A string
// that holds an object, where the schema asks for that object, counts as the
// object; [ToolRecord].Unwrapped says so.
//
// A model call that fails is repeated as Retry says and then given to the
// fallbacks. A reply that is cut by the output limit is continued when it is text
// and asked for again when it calls tools: cut calls are neither run nor sent
// back. Each of these is bounded.
//
// The fields are read only; one Loop may serve several conversations at a time,
// unless it has a Steering.
type Loop struct {
	// LLM is the model backend. Required.
	LLM LLM
	// Provider is the provider's name for records. It does not choose the LLM.
	Provider string
	// Request holds what every call sends, except Messages and Tools.
	Request Request
	// Fallbacks are tried in order when a call fails for good. The one that
	// replies serves the rest of the run.
	Fallbacks []Fallback
	// Retry decides whether a failed call is repeated. Nil is [DefaultRetry];
	// [NoRetry] turns it off.
	Retry Retry
	// Tools are what the model may call. Their names are unique.
	Tools []Tool
	// Live, when set, takes the place of Tools.
	Live *LiveTools
	// Offload puts large tool output into files. Nil shows it whole. Its tool is
	// to be among Tools.
	Offload *Offload
	// Condenser keeps the conversation within the model's window. Nil lets it grow.
	Condenser *Condenser
	// Output asks for an answer that is a value of a schema. An answer that is none
	// gets one repair turn. Nil takes any text.
	Output *Output
	// Journal makes the loop durable. Nil records nothing.
	Journal Journal
	// KeyPrefix, when set, stands before the positions in [ToolCall.Key] and
	// [MeteredCall.Key], so that keys are unique outside this loop's journal too.
	KeyPrefix string

	// MaxTurns bounds the replies of one Run. 0 is [DefaultMaxTurns].
	MaxTurns int
	// MaxDuration bounds the wall clock of one Run; a Run that resumes starts
	// anew. It ends model calls and tool calls under way. 0 is
	// [DefaultMaxDuration].
	MaxDuration time.Duration
	// MaxTokens bounds the tokens of all model calls of one Run, those from the
	// journal with it; see [TokenMeter]. 0 is no limit.
	MaxTokens int64
	// Meter limits the model calls of this loop and of whatever shares it. Nil is
	// no limit.
	Meter Meter
	// MaxParallelTools bounds the tool calls at one time. 0 is
	// [DefaultMaxParallelTools]; Request.SerialTools makes it 1.
	MaxParallelTools int
	// MaxToolCalls bounds the tool calls of one reply; those above are refused,
	// which the model is told. 0 is [DefaultMaxToolCalls].
	MaxToolCalls int
	// MaxCutReplies bounds the replies in a row that the output limit cuts. 0 is
	// [DefaultMaxCutReplies]; below 0 the first one is an error.
	MaxCutReplies int

	// Steering queues messages to the loop while it runs. It may be nil.
	Steering *Steering

	// Sink gets the replies while they arrive. It may be nil.
	Sink Sink
	// OnReply and OnTool are told of every reply and tool result, in order of
	// arrival, also of those that come from the journal, and OnReply of summaries
	// for the Condenser, whose Key tells. OnTool may be called
	// from several goroutines at once. They may be nil.
	OnReply func(turn int, reply *Reply)
	OnTool  func(turn, index int, record *ToolRecord)
	// OnRetry is told of every failed model call of this process; again says
	// whether another one follows, after the wait. It may be nil.
	OnRetry func(turn int, failed *FailedTry, wait time.Duration, again bool)
	// OnSteer is told of messages that have entered from Steering. It may be nil.
	OnSteer func(turn int, messages []Message, replayed bool)
	// OnUnchecked is told, once a Run, of a tool whose input schema does not
	// compile, when a call of it comes; its calls are run without a check. It may be called from several
	// goroutines at once, and may be nil.
	OnUnchecked func(tool string, err error)
}

// Fallback is another model that a loop may use.
type Fallback struct {
	LLM      LLM    // required
	Provider string // for records
	Model    string // the backend's own model id; empty is the backend's default
	// Options take the place of those in the loop's request.
	Options map[string]json.RawMessage
}

// Result is how a [Loop] ended, or how far it had come.
type Result struct {
	// Final is the reply without tool calls; of an answer that was continued, all
	// pieces.
	Final     Message
	Finish    FinishReason
	Turns     int // replies, with those from the journal
	ToolCalls int
	// InvalidCalls counts tool calls whose arguments could not be used.
	InvalidCalls int
	// Output is the value that the Loop's Output asked for; nil without it.
	Output json.RawMessage
	// Condensed counts how often the conversation was condensed.
	Condensed int
	// Steered counts the messages that entered from a [Steering].
	Steered int
	// FailedTries counts the model calls that gave no reply.
	FailedTries int
	// Usage is the sum of what all replies and failed tries reported. UnknownUsage
	// counts those that may be charged for and did not report both directions:
	// with any, Usage is a floor.
	Usage        Usage
	UnknownUsage int
}

// Run walks the turns until a reply asks for no tool, and appends everything said
// to the conversation. With an error the result tells what was done until then.
//
// The error is a [*ModelError] when a model call failed, inside a [*TriesError]
// when it was tried more than once; a [*ReplyError] when the model refused, was
// filtered, or was cut too often; an [*OutputError] when the answer is not the Output
// asked for; a [*TurnLimitError], [*TimeLimitError],
// [*TokenLimitError] or [*BudgetError] at a limit; a [*SuspendError] when a tool
// suspends; the context's error; or an error of the journal.
func (l *Loop) Run(ctx context.Context, conv *Conversation) (*Result, error) {
	given := l.Tools
	if l.Live != nil {
		given = l.Live.given
	}
	tools, err := newToolbox(given, l.OnUnchecked)
	if err != nil {
		return &Result{}, err
	}
	if l.Steering != nil {
		if err := l.Steering.start(); err != nil {
			return &Result{}, err
		}
		defer l.Steering.stop()
	}
	limit := &TimeLimitError{Limit: orDefault(l.MaxDuration, DefaultMaxDuration)}
	ctx, stop := context.WithTimeoutCause(ctx, limit.Limit, limit)
	defer stop()

	r := &run{Loop: l, conv: conv, tools: tools, result: &Result{}, meters: l.meters()}
	err = r.turns(ctx)
	if ended(err) && errors.Is(context.Cause(ctx), limit) {
		err = limit
	}
	return r.result, withResult(err, r.result)
}

// ended reports whether an error says that a context has ended.
func ended(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// run is one Run of a loop.
type run struct {
	*Loop
	conv    *Conversation
	tools   *toolbox
	result  *Result
	meters  []Meter
	bounds  bounds
	backend int      // the number of the one in use; see at
	live    bool     // this process made a model call
	cut     int      // replies in a row that the output limit cut
	pieces  []string // of an answer that is being continued

	repaired  bool              // a structured output was asked for again
	lastInput int64             // tokens that the last reply was sent; 0 is unknown
	described map[int]ModelInfo // by the number of the backend
}

func (r *run) turns(ctx context.Context) error {
	limit := orDefault(r.MaxTurns, DefaultMaxTurns)
	for turn := 1; turn <= limit; turn++ {
		reply, err := r.reply(ctx, turn)
		if err != nil {
			return err
		}
		done, err := r.follow(ctx, turn, reply)
		if done || err != nil {
			return err
		}
	}
	return &TurnLimitError{Limit: limit}
}

func orDefault[N int | int64 | time.Duration](n, otherwise N) N {
	if n > 0 {
		return n
	}
	return otherwise
}

func do(ctx context.Context, j Journal, key, input string, fn func(context.Context) ([]byte, error)) ([]byte, error) {
	if j == nil {
		return fn(ctx)
	}
	return j.Do(ctx, key, input, fn)
}
