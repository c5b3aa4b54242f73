package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

// runTools runs the calls of one reply side by side and appends their results to
// the conversation in the order of the calls. When a tool suspends or the
// context ends, the calls under way finish and are recorded first.
func (l *Loop) runTools(ctx context.Context, conv *Conversation, tools *toolbox, turn int, calls []ToolCall) error {
	type outcome struct {
		record *ToolRecord
		data   []byte
		err    error
	}
	outcomes := make([]outcome, len(calls))
	run := func(i int) {
		o := &outcomes[i]
		o.record, o.data, o.err = l.runTool(ctx, tools, turn, i+1, calls[i])
	}
	if len(calls) == 1 {
		run(0)
	} else {
		slots := make(chan struct{}, l.parallelTools())
		var wg sync.WaitGroup
		for i := range calls {
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				run(i)
			})
		}
		wg.Wait()
	}
	for i := range outcomes {
		if err := outcomes[i].err; err != nil {
			return err
		}
	}
	for i, o := range outcomes {
		conv.appendRecorded(Message{
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
	switch {
	case l.Request.SerialTools:
		return 1
	case l.MaxParallelTools > 0:
		return l.MaxParallelTools
	}
	return DefaultMaxParallelTools
}

// runTool makes one call, or takes its result from the journal.
func (l *Loop) runTool(ctx context.Context, tools *toolbox, turn, index int, call ToolCall) (*ToolRecord, []byte, error) {
	key := fmt.Sprintf("turn/%d/tool/%d", turn, index)
	call.Key = l.KeyPrefix + key
	input := call.Name + "\n" + string(call.Arguments)
	tool := tools.byName[call.Name]
	args, problem := objectArguments(call.Arguments)
	callable := tool != nil && problem == nil

	inDoubt := false
	if callable && l.Journal != nil && tool.Spec().Effect == Unsafe {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		var err error
		if inDoubt, err = l.Journal.Begin(ctx, key, input); err != nil {
			return nil, nil, err
		}
	}
	live := false
	data, err := do(ctx, l.Journal, key, input, func(ctx context.Context) ([]byte, error) {
		live = true
		record := &ToolRecord{Name: call.Name, StartedAt: time.Now().UTC(), InDoubt: inDoubt}
		var result *ToolResult
		var err error
		switch {
		case tool == nil:
			result = tools.unknown(call.Name)
		case problem != nil:
			result = ErrorResult(fmt.Sprintf("The arguments of %s are not a JSON object: %v. Call it again with valid JSON.", call.Name, problem))
		case inDoubt:
			result = inDoubtResult(call.Name)
		default:
			inner := call
			inner.Arguments = args
			result, err = invoke(ctx, tool, &inner)
		}
		if err != nil {
			return nil, err
		}
		record.Result = *result
		record.DurationMS = time.Since(record.StartedAt).Milliseconds()
		return json.Marshal(record)
	})
	if err != nil {
		return nil, nil, err
	}
	record := &ToolRecord{}
	if err := json.Unmarshal(data, record); err != nil {
		return nil, nil, fmt.Errorf("record %s: %w", key, err)
	}
	record.Call, record.Replayed = call, !live
	if l.OnTool != nil {
		l.OnTool(turn, index, record)
	}
	return record, data, nil
}

// invoke calls the tool and turns its error into a failed result, except for what
// must leave the loop: the end of the context and a suspension.
func invoke(ctx context.Context, tool Tool, call *ToolCall) (result *ToolResult, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	defer func() {
		if p := recover(); p != nil {
			result, err = ErrorResult(fmt.Sprintf("the tool %s panicked: %v", call.Name, p)), nil
		}
	}()
	result, err = tool.Call(ctx, call)
	if suspend := (*SuspendError)(nil); errors.As(err, &suspend) {
		if tool.Spec().Effect == Reentrant {
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

// objectArguments takes what models send for "no arguments" as an empty object.
func objectArguments(raw json.RawMessage) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" || string(raw) == `""` {
		return json.RawMessage("{}"), nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, err
	}
	return raw, nil
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
