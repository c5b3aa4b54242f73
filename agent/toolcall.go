package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// runTools runs the calls of one reply side by side and appends their results to
// the conversation in the order of the calls. When a tool suspends or the
// context ends, the calls under way finish and are recorded first.
func (r *run) runTools(ctx context.Context, turn int, calls []ToolCall) error {
	outcomes := make([]toolOutcome, len(calls))
	if len(calls) == 1 {
		outcomes[0] = r.runTool(ctx, turn, 1, calls[0])
	} else {
		slots := make(chan struct{}, r.parallelTools())
		var wg sync.WaitGroup
		for i := range calls {
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				outcomes[i] = r.runTool(ctx, turn, i+1, calls[i])
			})
		}
		wg.Wait()
	}
	for i := range outcomes {
		if err := outcomes[i].err; err != nil {
			return err
		}
	}
	for i := range outcomes {
		o := &outcomes[i]
		if o.record.Invalid {
			r.result.InvalidCalls++
		}
		r.conv.appendRecorded(Message{
			Role:       RoleTool,
			Content:    o.record.Result.shown(),
			ToolCallID: calls[i].ID,
			ToolName:   calls[i].Name,
			IsError:    o.record.Result.IsError,
		}, o.data)
	}
	return nil
}

func (l *Loop) parallelTools() int {
	if l.Request.SerialTools {
		return 1
	}
	return orDefault(l.MaxParallelTools, DefaultMaxParallelTools)
}

// toolOutcome is the record of a call as a value and as stored.
type toolOutcome struct {
	record *ToolRecord
	data   []byte
	err    error
}

// runTool makes one call, or takes its result from the journal.
func (r *run) runTool(ctx context.Context, turn, index int, call ToolCall) toolOutcome {
	key := "turn/" + strconv.Itoa(turn) + "/tool/" + strconv.Itoa(index)
	call.Key = r.KeyPrefix + key
	input := call.Name + "\n" + string(call.Arguments)
	p := r.prepare(index, call)
	if p.refusal == nil && p.tool.spec.Effect == Unsafe && r.Journal != nil {
		if err := ctx.Err(); err != nil {
			return toolOutcome{err: err}
		}
		inDoubt, err := r.Journal.Begin(ctx, key, input)
		if err != nil {
			return toolOutcome{err: err}
		}
		if inDoubt {
			p.refusal, p.inDoubt = inDoubtResult(call.Name), true
		}
	}
	var m made[ToolRecord]
	data, err := do(ctx, r.Journal, key, input, func(ctx context.Context) ([]byte, error) {
		var err error
		if m.value, err = r.perform(ctx, p); err != nil {
			return nil, err
		}
		m.data, m.same = m.value.encode()
		return m.data, nil
	})
	if err != nil {
		return toolOutcome{err: err}
	}
	record, err := recorded(key, data, m)
	if err != nil {
		return toolOutcome{err: err}
	}
	record.Replayed = m.value == nil
	record.Call = call
	if r.OnTool != nil {
		r.OnTool(turn, index, record)
	}
	return toolOutcome{record: record, data: data}
}

// preparedCall is a call that is about to be made, or why it is not.
type preparedCall struct {
	tool    *boxedTool
	call    ToolCall
	refusal *ToolResult // what the model is told instead
	invalid bool        // the arguments are the reason
	inDoubt bool        // an interruption is

	unwrapped []string // see ToolRecord
}

// prepare checks whether a call may be made.
func (r *run) prepare(index int, call ToolCall) preparedCall {
	p := preparedCall{call: call, tool: r.tools.byName[call.Name]}
	limit := orDefault(r.MaxToolCalls, DefaultMaxToolCalls)
	switch {
	case index > limit:
		p.refusal = ErrorResult(fmt.Sprintf("too_many_calls: a reply may make %d calls; this one was not made. Make it again in your next reply.", limit))
		return p
	case p.tool == nil:
		p.refusal = r.tools.unknown(call.Name)
		return p
	case call.Invalid != "":
		p.invalid, p.refusal = true, invalidResult(call.Name, "are not a JSON object", call.Invalid)
		return p
	}
	arguments, err := objectArguments(call.Arguments)
	if err != nil {
		p.invalid, p.refusal = true, invalidResult(call.Name, "are not a JSON object", err.Error())
		return p
	}
	checked := p.tool.input.check(arguments)
	if checked.problem != "" {
		p.invalid, p.refusal = true, invalidResult(call.Name, "do not fit its input schema", checked.problem)
		return p
	}
	p.call.Arguments, p.unwrapped = checked.arguments, checked.unwrapped
	return p
}

// perform makes a call and returns its record.
func (r *run) perform(ctx context.Context, p preparedCall) (*ToolRecord, error) {
	began := time.Now()
	record := &ToolRecord{Name: p.call.Name, StartedAt: began.UTC().Round(0), InDoubt: p.inDoubt, Invalid: p.invalid, Unwrapped: p.unwrapped}
	result := p.refusal
	if result == nil {
		var err error
		if result, err = invoke(ctx, p.tool, &p.call); err != nil {
			return nil, err
		}
	}
	record.DurationMS = time.Since(began).Milliseconds()
	if r.Offload != nil && p.refusal == nil {
		var err error
		// What the tool did is done: it is kept although the context has ended.
		kept, stop := context.WithTimeout(context.WithoutCancel(ctx), offloadGrace)
		defer stop()
		if result, err = r.Offload.Result(kept, p.call.Key, result); err != nil {
			return nil, fmt.Errorf("offload the result of %s: %w", p.call.Name, err)
		}
	}
	record.Result = *result
	return record, nil
}

// offloadGrace is how long a storage may take to keep a result.
const offloadGrace = 10 * time.Second

// invoke calls the tool and turns its error into a failed result, except for what
// must leave the loop: the end of the context and a suspension.
func invoke(ctx context.Context, tool *boxedTool, call *ToolCall) (result *ToolResult, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	defer func() {
		if p := recover(); p != nil {
			result, err = ErrorResult(fmt.Sprintf("the tool %s panicked: %v", call.Name, p)), nil
		}
	}()
	result, err = tool.tool.Call(ctx, call)
	if suspend := (*SuspendError)(nil); errors.As(err, &suspend) {
		if tool.spec.Effect == Reentrant {
			return nil, err
		}
		return ErrorResult(fmt.Sprintf("%s may not suspend: only a reentrant tool can", call.Name)), nil
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return ErrorResult(err.Error()), nil
	case result == nil:
		return &ToolResult{}, nil
	}
	return result, nil
}

// objectArguments takes what models send for "no arguments" as an empty object;
// a tool that needs some says so when they are checked. What is recorded is JSON
// or absent.
func objectArguments(raw json.RawMessage) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}"), nil
	}
	if raw[0] == '{' {
		return raw, nil
	}
	var object map[string]json.RawMessage
	return raw, json.Unmarshal(raw, &object)
}

func invalidResult(name, what, problem string) *ToolResult {
	return ErrorResult(fmt.Sprintf("invalid_arguments: the arguments of %s %s, so it was not run:\n%s\nCall it again with arguments that are right.", name, what, problem))
}

func inDoubtResult(name string) *ToolResult {
	return ErrorResult("in_doubt: this call of " + name + " was started before an interruption and its result was lost. " +
		"It may or may not have taken effect, and it was not repeated. Look at the present state first; call again only if it did not.")
}

// shown is the content that the model sees: without any, the structured result.
func (r *ToolResult) shown() []Part {
	if len(r.Content) == 0 && len(r.Structured) > 0 {
		return Text(string(r.Structured))
	}
	return r.Content
}
