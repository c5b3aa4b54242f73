package workflow

import (
	"encoding/json"
	"time"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/internal/journal"
)

// attemptTrace is what the logs tell of one attempt.
type attemptTrace struct {
	began     time.Time
	ended     time.Time
	llmCalls  []LLMCallLog
	toolCalls []ToolCallLog
}

// onReply takes a model call of the step's agent into the log and counts it.
func (r *regularVisit) onReply(turn int, reply *agent.Reply) {
	r.trace.llmCalls = append(r.trace.llmCalls, llmCallLog(turn, reply))
	r.sc.countReply(attemptKey(r.sc.leaf.key, r.sc.attempt), turn, reply)
}

func llmCallLog(turn int, reply *agent.Reply) LLMCallLog {
	return LLMCallLog{
		Turn: turn, Provider: reply.Provider, Model: reply.Model, StartedAt: reply.StartedAt,
		DurationMS: reply.DurationMS, FirstTokenMS: reply.FirstTokenMS,
		Finish: reply.Response.Finish, Usage: reply.Response.Usage,
	}
}

// countReply counts a reply of an agent whose records are below a key, for the
// ledger and the listeners.
func (sc *StepContext) countReply(below string, turn int, reply *agent.Reply) {
	for _, entry := range replyEntries(below+"/"+reply.Key, reply) {
		sc.run.spent.Add(entry)
	}
	sc.run.emit(RunEvent{
		Kind: ModelReplied, Step: sc.step.id, Visit: sc.leaf.visit, Attempt: sc.attempt, Turn: turn,
		Model: modelOf(reply), Usage: &reply.Response.Usage, Replayed: reply.Replayed,
	})
}

func (r *regularVisit) onRetry(turn int, failed *agent.FailedTry, wait time.Duration, again bool) {
	r.sc.countFailed(attemptKey(r.sc.leaf.key, r.sc.attempt), turn, failed, wait, again)
}

// countFailed records a failed model call that the provider may charge for, counts
// it, and tells listeners. What is recorded rides with the reply that follows, or
// with the failure of the step.
func (sc *StepContext) countFailed(below string, turn int, failed *agent.FailedTry, wait time.Duration, again bool) {
	if chargeable(failed) {
		key := failedKey(below, turn, failed)
		if data, err := json.Marshal(failed); err != nil {
			sc.Logger().Warn("record a failed model call", "error", err)
		} else if err := sc.run.journal.Note(journal.KindNote, key, data); err != nil {
			sc.Logger().Warn("record a failed model call", "error", sc.run.redactError(err))
		}
		sc.run.spent.Add(failedEntry(key, failed))
	}
	sc.run.emit(RunEvent{
		Kind: ModelFailed, Step: sc.step.id, Visit: sc.leaf.visit, Attempt: sc.attempt, Turn: turn,
		Model: failed.Model, Usage: &failed.Usage, Retrying: again, Error: sc.run.ctl.redactor.Text(failed.Error),
	})
	sc.Logger().Warn("model call failed", "turn", turn, "model", failed.Model, "retrying", again, "wait", wait,
		"error", sc.run.ctl.redactor.Text(failed.Error))
}

func (r *regularVisit) onTool(turn, index int, record *agent.ToolRecord) {
	sc := r.sc
	text := record.Result.Text()
	r.mu.Lock()
	r.trace.toolCalls = append(r.trace.toolCalls, ToolCallLog{
		Turn: turn, Index: index, Name: record.Name, StartedAt: record.StartedAt, DurationMS: record.DurationMS,
		ArgsBytes: len(record.Call.Arguments), ResultBytes: len(text),
		IsError: record.Result.IsError, InDoubt: record.InDoubt, Unwrapped: record.Unwrapped,
	})
	r.mu.Unlock()
	ev := RunEvent{
		Kind: ToolCalled, Step: sc.step.id, Visit: sc.leaf.visit, Attempt: sc.attempt, Turn: turn,
		Tool: record.Name, Replayed: record.Replayed,
	}
	if record.Result.IsError {
		ev.Error = oneLine(text, maxEarlierResult)
	}
	sc.run.emit(ev)
}

// attemptStart notes when an attempt begins, or recalls when it did.
func (sc *StepContext) attemptStart(scope *journal.Scope) (time.Time, error) {
	start := began{At: sc.run.ctl.config.Now().UTC()}
	data, ok, err := scope.Recorded("started")
	switch {
	case err != nil:
		return time.Time{}, err
	case ok:
		err := json.Unmarshal(data, &start)
		return start.At, err
	}
	if data, err = json.Marshal(start); err != nil {
		return time.Time{}, err
	}
	return start.At, scope.Note("started", data)
}

// began is the record of when a visit or an attempt began; nothing depends on it.
type began struct {
	At time.Time `json:"at"`
}

// begin starts the trace of an attempt, or takes up that of an earlier process, and
// logs what the agent is told.
func (r *regularVisit) begin(scope *journal.Scope, attempt int) error {
	sc := r.sc
	at := sc.started.UTC() // of the first attempt, recorded with the visit
	if attempt > 1 {
		var err error
		if at, err = sc.attemptStart(scope); err != nil {
			return err
		}
	}
	r.trace = attemptTrace{began: at}
	messages := r.conv.Messages()
	log := PromptsLog{Provider: r.loop.Provider, Model: r.loop.Request.Model, Tools: []string{}}
	if attempt == 1 && messages[0].Role == agent.RoleSystem {
		log.SystemPrompt = messages[0].ContentText()
	}
	log.UserMessage = messages[len(messages)-1].ContentText()
	for _, spec := range r.given.Tools {
		log.Tools = append(log.Tools, spec.Name)
	}
	sc.writeLog(sc.run.layout.AttemptLog(sc.step.id, attempt, sc.leaf.visit, "prompts"), log)
	return nil
}

// settleTimes gives an attempt that an earlier process ended its own time.
func (r *regularVisit) settleTimes() {
	r.trace.ended = r.sc.run.ctl.config.Now().UTC()
	if r.report != nil {
		r.trace.ended = r.report.At
	}
}

// log writes what there is to tell of an attempt that has ended.
func (r *regularVisit) log(attempt int, result *agent.Result, cause error) {
	sc := r.sc
	r.settleTimes()
	log := AttemptLog{
		StepIndex: int(sc.step.index), StepID: sc.step.id, StepPath: sc.leaf.key, RunID: sc.run.id,
		RetryAttempt: attempt, LoopIteration: sc.leaf.visit,
		ExecutionResult: result.Final.ContentText(), Error: errorText(cause),
		Provider: r.loop.Provider, Model: r.loop.Request.Model,
		StartedAt: r.trace.began, CompletedAt: r.trace.ended, DurationMS: r.trace.ended.Sub(r.trace.began).Milliseconds(),
		LLMCallCount: len(r.trace.llmCalls), ToolCallCount: len(r.trace.toolCalls),
		TotalInputTokens: sent(result.Usage), TotalOutputTokens: result.Usage.Output,
	}
	for _, c := range r.trace.llmCalls {
		log.LLMDurationMS += c.DurationMS
		if log.Model == "" {
			log.Model = c.Model
		}
	}
	if len(r.trace.llmCalls) > 0 {
		log.LLMTimeToFirstResponse = r.trace.llmCalls[0].FirstTokenMS
	}
	for _, c := range r.trace.toolCalls {
		log.ToolDurationMS += c.DurationMS
		log.ToolArgsBytes += c.ArgsBytes
		log.ToolResultBytes += c.ResultBytes
	}
	switch {
	case cause != nil:
		log.Status = "interrupted"
	case r.report.Passed:
		log.Status = "passed"
	default:
		log.Status = "failed"
	}
	layout, step, visit := sc.run.layout, sc.step.id, sc.leaf.visit
	sc.writeLog(layout.AttemptLog(step, attempt, visit, ""), log)
	history := r.conv.Messages()
	if result.Condensed > 0 {
		r.shown = 0 // what earlier logs hold is not what this conversation starts with
	}
	sc.writeLog(layout.AttemptLog(step, attempt, visit, "conversation"), ConversationLog{
		FirstMessage: r.shown, History: history[r.shown:], LLMCalls: r.trace.llmCalls, ToolCalls: r.trace.toolCalls,
	})
	if cause != nil {
		return
	}
	r.shown = len(history)
	if r.report.Report != nil {
		entry := r.report.Report.Log(step, sc.leaf.key, r.trace.ended, sc.step.schema)
		entry.Attempt, entry.Iteration = attempt, visit
		entry.Final = r.report.Passed || attempt >= sc.run.ctl.config.Attempts
		sc.writeLog(layout.PreValidationLog(step), entry)
		sc.writeLog(layout.AttemptValidationLog(step, attempt, visit), entry)
	}
	if r.report.Passed {
		sc.writeLog(layout.FinalSummaryLog(step), FinalSummaryLog{
			SchemaVersion: 1, StepID: step, StepPath: sc.leaf.key, RunFolder: sc.run.folder, RunID: sc.run.id,
			Status: string(StatusCompleted), Attempts: attempt, Iteration: visit,
			ExecutionResult: log.ExecutionResult, CompletedAt: r.trace.ended,
		})
	}
}

// writeLog writes a log; a log that cannot be written is reported and fails
// nothing.
func (sc *StepContext) writeLog(name string, value any) {
	if err := sc.run.writeJSON(sc.run.grace, name, value); err != nil {
		sc.Logger().Warn("write log", "file", name, "error", sc.run.redactError(err))
	}
}

// sent is the sum of the reported tokens that were sent, cached or not; nil when
// none was reported.
func sent(u agent.Usage) *int64 {
	if u.Input == nil && u.CacheRead == nil && u.CacheWrite == nil {
		return nil
	}
	total := agent.Usage{Input: u.Input, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}.Total()
	return &total
}

// modelOf is the model of a reply: as asked for, else as the provider says.
func modelOf(reply *agent.Reply) string {
	if reply.Model != "" {
		return reply.Model
	}
	return reply.Response.Model
}
