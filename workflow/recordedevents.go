package workflow

import (
	"context"
	"iter"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/internal/journal"
	"github.com/treadle-dev/treadle/workspace"
)

// RecordedEvents tells what has happened in a run, of whatever process, as its
// journal has it, after a position: [FromStart] or the Seq of an event seen before.
// Seq counts the records of the journal, so it grows with gaps and is another than
// that of [Run.Events]. It ends with what is recorded now and does not follow; call
// it again with the last Seq. An event may come later than it happened: what
// nothing depends on is recorded with what comes after it.
//
// The error, the last thing yielded, matches [ErrRunName] or [ErrRunNotFound], or
// says what is damaged, or is the storage's or the context's.
func RecordedEvents(ctx context.Context, ws *workspace.Workspace, folder string, after int64) iter.Seq2[RunEvent, error] {
	return func(yield func(RunEvent, error) bool) {
		if err := knownRun(ctx, ws.Storage(), folder); err != nil {
			yield(RunEvent{}, err)
			return
		}
		r := recorded{}
		for rec, err := range journalRecords(ctx, ws.Storage(), folder) {
			var ev *RunEvent
			if err == nil {
				ev, err = r.event(rec)
			}
			if err != nil {
				yield(RunEvent{}, &RunError{Run: folder, Err: err})
				return
			}
			if ev == nil || rec.Seq <= after {
				continue
			}
			ev.Seq, ev.Time, ev.RunID = rec.Seq, rec.Time, r.id
			if !yield(*ev, nil) {
				return
			}
		}
	}
}

func knownRun(ctx context.Context, st workspace.Storage, folder string) error {
	if err := checkRunFolder(folder); err != nil {
		return err
	}
	there, err := exists(ctx, st, workspace.RunLayout(folder).Journal())
	if err == nil && !there {
		err = noRun(ctx, st, folder)
	}
	return err
}

// recorded turns records into events.
type recorded struct {
	id        string
	completed bool
}

// event returns nil for records that tell nobody anything.
func (r *recorded) event(rec *journal.Record) (*RunEvent, error) {
	ev := &RunEvent{
		Step: stepOf(rec.Key), Visit: numberAfter(rec.Key, "/visit/"),
		Attempt: numberAfter(rec.Key, "/attempt/"), Turn: numberAfter(rec.Key, "/turn/"),
	}
	switch rec.Kind {
	case recordRun:
		var record runRecord
		err := decode(rec, &record)
		r.id, ev.Kind = record.RunID, RunStarted
		return ev, err
	case journal.KindOwner:
		if r.id == "" || r.completed {
			return nil, nil // the first owner starts the run, and one after its completion is refused
		}
		ev.Kind = RunResumed
	case recordStarted:
		ev.Kind = StepStarted
	case recordOutcome:
		var record outcomeRecord
		err := decode(rec, &record)
		ev.Kind, ev.Attempt = StepCompleted, record.Attempts
		return ev, err
	case recordFailure:
		var record failureRecord
		err := decode(rec, &record)
		ev.Kind, ev.Attempt, ev.Error = StepFailed, record.Attempts, record.Error
		return ev, err
	case recordEnd:
		var record endRecord
		err := decode(rec, &record)
		ev.Kind, ev.Status, ev.Error = RunEnded, record.Status, record.Error
		r.completed = record.Status == StatusCompleted
		return ev, err
	case journal.KindNote:
		return noted(ev, rec)
	case journal.KindResult:
		return answered(ev, rec)
	default:
		return nil, nil
	}
	return ev, nil
}

// noted tells of a validation that was not passed, or a model call that failed.
func noted(ev *RunEvent, rec *journal.Record) (*RunEvent, error) {
	if isFailedKey(rec.Key) {
		var failed agent.FailedTry
		err := decode(rec, &failed)
		ev.Kind, ev.Model, ev.Usage, ev.Error = ModelFailed, failed.Model, &failed.Usage, failed.Error
		return ev, err
	}
	if !isValidationKey(rec.Key) {
		return nil, nil
	}
	var result checked
	if err := decode(rec, &result); err != nil || result.Passed {
		return nil, err
	}
	ev.Kind, ev.Error = AttemptFailed, result.Feedback
	return ev, nil
}

// answered tells of a model's reply or a tool's result.
func answered(ev *RunEvent, rec *journal.Record) (*RunEvent, error) {
	switch {
	case isReplyKey(rec.Key):
		var reply agent.Reply
		err := decode(rec, &reply)
		ev.Kind, ev.Model, ev.Usage = ModelReplied, modelOf(&reply), &reply.Response.Usage
		return ev, err
	case isToolKey(rec.Key):
		var record agent.ToolRecord
		err := decode(rec, &record)
		ev.Kind, ev.Tool = ToolCalled, record.Name
		if record.Result.IsError {
			ev.Error = oneLine(record.Result.Text(), maxEarlierResult)
		}
		return ev, err
	}
	return nil, nil
}
