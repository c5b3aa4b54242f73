package workflow

import (
	"fmt"
	"strings"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/costs"
	"github.com/treadle-dev/treadle/internal/journal"
)

// attemptKey is the position of an attempt of a visit.
func attemptKey(visit string, attempt int) string {
	return fmt.Sprintf("%s/attempt/%d", visit, attempt)
}

// replayReply counts a model call that an earlier process recorded.
func (w *walk) replayReply(rec *journal.Record) error {
	entry, ok, err := entryOf(rec)
	if ok {
		w.run.spent.Add(entry)
	}
	return err
}

// entryOf reads the cost entry of a recorded model call; ok is false for other
// records.
func entryOf(rec *journal.Record) (entry costs.Entry, ok bool, err error) {
	if rec.Kind != journal.KindResult || !isReplyKey(rec.Key) {
		return entry, false, nil
	}
	var reply agent.Reply
	if err := decode(rec, &reply); err != nil {
		return entry, false, err
	}
	attempt, turn := numberAfter(rec.Key, "/attempt/"), numberAfter(rec.Key, "/turn/")
	return replyEntry(rec.Key, stepOf(rec.Key), attempt, turn, &reply), true, nil
}

// numberAfter reads the number that follows a part of a key; 0 when there is none.
func numberAfter(key, part string) (n int) {
	_, rest, _ := strings.Cut(key, part)
	digits, _, _ := strings.Cut(rest, "/")
	_, _ = fmt.Sscanf(digits, "%d", &n)
	return n
}

// writeLedger brings the daily files up to what the journal says of this run.
func (w *walk) writeLedger() {
	if w.run.spent.Len() == 0 {
		return
	}
	run := costs.Run{ID: w.run.id, Folder: w.run.folder}
	ledger := costs.NewLedger(w.run.ws.Storage())
	if err := ledger.Write(w.run.grace, run, w.run.spent); err != nil {
		w.warn("write cost ledger", err)
	}
}
