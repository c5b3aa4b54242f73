package workflow

import (
	"strings"
	"time"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/costs"
	"github.com/treadle-dev/treadle/internal/journal"
)

// entriesOf reads the cost entries of a record: a reply and the tries before it, or
// a failed try that may be charged for. Other records have none.
func entriesOf(rec *journal.Record) ([]costs.Entry, error) {
	switch {
	case rec.Kind == journal.KindResult && isReplyKey(rec.Key):
		var reply agent.Reply
		if err := decode(rec, &reply); err != nil {
			return nil, err
		}
		return replyEntries(rec.Key, &reply), nil
	case rec.Kind == journal.KindNote && isFailedKey(rec.Key):
		var failed agent.FailedTry
		if err := decode(rec, &failed); err != nil {
			return nil, err
		}
		return []costs.Entry{failedEntry(rec.Key, &failed)}, nil
	}
	return nil, nil
}

// replyEntries are the entries of a reply, by its key in the run.
func replyEntries(key string, reply *agent.Reply) []costs.Entry {
	turn := numberAfter(key, "/turn/")
	attempt, _, _ := strings.Cut(key, "/turn/")
	entries := []costs.Entry{entry(key, reply.Provider, modelOf(reply), reply.StartedAt, reply.DurationMS, reply.Response.Usage)}
	for i := range reply.Failed {
		if failed := &reply.Failed[i]; chargeable(failed) {
			entries = append(entries, failedEntry(failedKey(attempt, turn, failed), failed))
		}
	}
	return entries
}

// chargeable reports whether a provider may charge for a failed call.
func chargeable(failed *agent.FailedTry) bool {
	return failed.Billable || failed.Usage != (agent.Usage{})
}

func failedEntry(key string, failed *agent.FailedTry) costs.Entry {
	return entry(key, failed.Provider, failed.Model, failed.StartedAt, failed.DurationMS, failed.Usage)
}

func entry(key, provider, model string, started time.Time, ms int64, usage agent.Usage) costs.Entry {
	took := time.Duration(ms) * time.Millisecond
	return costs.Entry{
		Key: key, Time: started.Add(took), StepID: stepOf(key),
		Attempt: numberAfter(key, "/attempt/"), Turn: numberAfter(key, "/turn/"),
		Provider: provider, Model: model, Usage: usage, Duration: took,
	}
}

// spend counts the model calls of a record.
func (w *walk) spend(rec *journal.Record) error {
	entries, err := entriesOf(rec)
	for _, e := range entries {
		w.run.spent.Add(e)
	}
	return err
}

// writeLedger brings the daily files up to what the journal says of this run.
func (w *walk) writeLedger() {
	if w.run.spent.Len() == 0 {
		return
	}
	run := costs.Run{ID: w.run.id, Folder: w.run.folder, Group: groupOfFolder(w.run.folder)}
	ledger := costs.NewLedger(w.run.ws.Storage())
	if err := ledger.Write(w.run.grace, run, w.run.spent); err != nil {
		w.warn("write cost ledger", err)
	}
}
