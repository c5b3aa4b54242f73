package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Bounds of how often a task is asked for.
const (
	minPoll        = 50 * time.Millisecond
	maxPoll        = 5 * time.Second
	taskCancelTime = 2 * time.Second
)

// wireTask is the state of a call that the server runs on its own and is asked for:
// a task of the protocol's revision 2025-11-25. Some tools can be called in no other
// way.
type wireTask struct {
	ID      string  `json:"taskId"`
	Status  string  `json:"status"`
	Message string  `json:"statusMessage"`
	PollMS  float64 `json:"pollInterval"`
}

// runsAsTask reports whether a tool insists on being called as a task.
func (t *wireTool) runsAsTask() bool {
	execution, err := parseObject(t.Execution)
	if err != nil {
		return false
	}
	support, _ := execution.get("taskSupport")
	return textOf(support) == "required"
}

// createdTask reads the task that a server made of a call.
func createdTask(raw json.RawMessage) (wireTask, bool) {
	var created struct {
		Task wireTask `json:"task"`
	}
	err := json.Unmarshal(raw, &created)
	return created.Task, err == nil && created.Task.ID != ""
}

// awaitTask follows a task to its end and returns the result of the call. Each sign
// of life counts as progress.
func (t *tool) awaitTask(ctx context.Context, clock *callClock, conn *connection, raw json.RawMessage) (json.RawMessage, error) {
	task, ok := createdTask(raw)
	if !ok {
		return raw, nil // it answered at once
	}
	ask := func(method string) (json.RawMessage, error) {
		return conn.request(ctx, outgoingRequest{method: method, params: map[string]any{"taskId": task.ID}})
	}
	for {
		switch task.Status {
		case "completed", "failed":
			return ask("tasks/result")
		case "cancelled":
			return nil, fmt.Errorf("mcp server %q: %s: the server canceled the task", t.session.server.Name, t.spec.Origin)
		case "input_required":
			t.cancelTask(conn, task.ID)
			return nil, fmt.Errorf("mcp server %q: %s asks for input in the middle of its task, which is not supported; give it all it needs in the call", t.session.server.Name, t.spec.Origin)
		}
		clock.wind()
		t.logProgress(ctx, progressReport{message: task.Message})
		if err := pause(ctx, task.interval()); err != nil {
			t.cancelTask(conn, task.ID)
			return nil, err
		}
		raw, err := ask("tasks/get")
		if err != nil {
			if ctx.Err() != nil {
				t.cancelTask(conn, task.ID)
			}
			return nil, err
		}
		id := task.ID
		if err := json.Unmarshal(raw, &task); err != nil {
			return nil, fmt.Errorf("mcp server %q: %s: the state of its task: %w", t.session.server.Name, t.spec.Origin, err)
		}
		task.ID = id
	}
}

func (t *wireTask) interval() time.Duration {
	return min(max(time.Duration(t.PollMS*float64(time.Millisecond)), minPoll), maxPoll)
}

// cancelTask tells the server that nobody waits for a task, without waiting for its
// answer: a request may be left, a task runs on.
func (t *tool) cancelTask(conn *connection, id string) {
	s := t.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return // the server ends anyway
	}
	s.work.Go(func() {
		ctx, cancel := context.WithTimeout(s.life, taskCancelTime)
		defer cancel()
		_, err := conn.request(ctx, outgoingRequest{method: "tasks/cancel", params: map[string]any{"taskId": id}})
		if err != nil {
			s.server.Logger.Debug("a task could not be canceled", "tool", t.spec.Origin, "error", err)
		}
	})
}
