package journal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/treadle-dev/treadle/internal/journal"
	"github.com/treadle-dev/treadle/workspace"
	"github.com/treadle-dev/treadle/workspace/workspacetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// agentJournal has the methods of agent.Journal, which a package of the cellar
// cannot import.
type agentJournal interface {
	Do(ctx context.Context, key, input string, fn func(context.Context) ([]byte, error)) ([]byte, error)
	Begin(ctx context.Context, key, input string) (inDoubt bool, err error)
}

var _ agentJournal = (*journal.Scope)(nil)

const (
	file    = "runs/iteration-1/journal.jsonl"
	folder  = "runs/iteration-1/journal-blobs"
	outcome = journal.Kind("outcome")
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)

func open(t require.TestingT, st workspace.Storage, opts journal.Options) *journal.Journal {
	if opts.Now == nil {
		opts.Now = func() time.Time { return noon }
	}
	j, err := journal.Open(context.Background(), st, file, opts)
	require.NoError(t, err)
	return j
}

func reopen(t require.TestingT, st workspace.Storage, j *journal.Journal, opts journal.Options) *journal.Journal {
	require.NoError(t, j.Close())
	return open(t, st, opts)
}

func text(t require.TestingT, st workspace.Storage, name string) []byte {
	data, err := st.ReadFile(context.Background(), name)
	require.NoError(t, err)
	return data
}

func records(t require.TestingT, st workspace.Storage) []*journal.Record {
	var all []*journal.Record
	for r, err := range journal.Read(context.Background(), st, file, journal.Options{}) {
		require.NoError(t, err)
		all = append(all, r)
	}
	return all
}

func returns(data string) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) { return []byte(data), nil }
}

func never(t require.TestingT) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) {
		require.Fail(t, "the work ran again")
		return nil, nil
	}
}

func TestALineIsReadableJSON(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	j := open(t, st, journal.Options{Holder: "host 17"})
	seq, at, err := j.AppendNow(outcome, "fetch/visit/1", []byte(`{ "ok": true }`))
	require.NoError(t, err)
	assert.EqualValues(t, 3, seq)
	assert.Equal(t, noon.Truncate(time.Millisecond), at)
	require.NoError(t, j.Append("mark", "", nil))

	lines := strings.Split(string(text(t, st, file)), "\n")
	require.Len(t, lines, 5)
	for i, want := range []string{
		`{"seq":1,"time":"2026-03-01T12:00:00.123Z","kind":"journal","data":{"format":"treadle-journal","version":1},"hash":"`,
		`{"seq":2,"time":"2026-03-01T12:00:00.123Z","kind":"owner","data":{"holder":"host 17"},"hash":"`,
		`{"seq":3,"time":"2026-03-01T12:00:00.123Z","kind":"outcome","key":"fetch/visit/1","data":{"ok":true},"hash":"`,
		`{"seq":4,"time":"2026-03-01T12:00:00.123Z","kind":"mark","hash":"`,
	} {
		assert.True(t, strings.HasPrefix(lines[i], want), lines[i])
		assert.True(t, json.Valid([]byte(lines[i])), lines[i])
	}
}

func TestWorkRunsOnceAndReturnsTheSameBytes(t *testing.T) {
	t.Parallel()
	ctx, st := context.Background(), workspace.NewMem()
	j := open(t, st, journal.Options{})
	first, err := j.Under("fetch/visit/1").Do(ctx, "turn/1", "prompt", returns(` { "a" : [ 1, "x y" ] } `))
	require.NoError(t, err)
	assert.Equal(t, `{"a":[1,"x y"]}`, string(first))
	first[0] = '!' // the caller owns it

	again, err := j.Under("fetch/visit/1/turn").Do(ctx, "1", "prompt", never(t))
	require.NoError(t, err)
	assert.Equal(t, `{"a":[1,"x y"]}`, string(again))

	j = reopen(t, st, j, journal.Options{})
	again, err = j.Under("fetch").Under("visit/1").Do(ctx, "turn/1", "prompt", never(t))
	require.NoError(t, err)
	assert.Equal(t, `{"a":[1,"x y"]}`, string(again))
}

func TestAnotherInputIsAMismatch(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := open(t, workspace.NewMem(), journal.Options{}).Under("s")
	_, err := s.Do(ctx, "k", "one", returns(`1`))
	require.NoError(t, err)
	for _, input := range []string{"two", ""} {
		_, err = s.Do(ctx, "k", input, never(t))
		var mismatch *journal.MismatchError
		require.ErrorAs(t, err, &mismatch)
		require.ErrorIs(t, err, journal.ErrMismatch)
		assert.Equal(t, "s/k", mismatch.Key)
		_, err = s.Begin(ctx, "k", input)
		require.ErrorIs(t, err, journal.ErrMismatch)
	}
}

func TestAFailureIsReturnedAndNotRecorded(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := open(t, workspace.NewMem(), journal.Options{}).Under("")
	failure := errors.New("model is down")
	_, err := s.Do(ctx, "k", "", func(context.Context) ([]byte, error) { return []byte("1"), failure })
	require.Equal(t, failure, err)
	_, ok, err := s.Recorded("k")
	require.NoError(t, err)
	assert.False(t, ok)
	got, err := s.Do(ctx, "k", "", returns(`2`))
	require.NoError(t, err)
	assert.Equal(t, "2", string(got))
}

func TestAPanicGoesOnAndLeavesTheKeyFree(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := open(t, workspace.NewMem(), journal.Options{}).Under("s")
	assert.PanicsWithValue(t, "boom", func() {
		_, _ = s.Do(ctx, "k", "", func(context.Context) ([]byte, error) { panic("boom") })
	})
	got, err := s.Do(ctx, "k", "", returns(`2`))
	require.NoError(t, err)
	assert.Equal(t, "2", string(got))
}

func TestTwoLiveCallsOfOneKeyAreRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := open(t, workspace.NewMem(), journal.Options{}).Under("s")
	_, err := s.Do(ctx, "k", "", func(ctx context.Context) ([]byte, error) {
		_, err := s.Do(ctx, "k", "", never(t))
		require.ErrorIs(t, err, journal.ErrBusy)
		_, err = s.Begin(ctx, "k", "")
		require.ErrorIs(t, err, journal.ErrBusy)
		return s.Do(ctx, "k/inner", "", returns(`1`))
	})
	require.NoError(t, err)
}

func TestBegunWorkWithoutAResultIsInDoubt(t *testing.T) {
	t.Parallel()
	ctx, st := context.Background(), workspace.NewMem()
	j := open(t, st, journal.Options{})
	inDoubt, err := j.Under("s").Begin(ctx, "tool", "rm")
	require.NoError(t, err)
	assert.False(t, inDoubt)
	inDoubt, err = j.Under("s").Begin(ctx, "tool", "rm")
	require.NoError(t, err)
	assert.True(t, inDoubt, "in the same process")

	j = reopen(t, st, j, journal.Options{})
	before := len(records(t, st))
	inDoubt, err = j.Under("s").Begin(ctx, "tool", "rm")
	require.NoError(t, err)
	assert.True(t, inDoubt)
	_, err = j.Under("s").Begin(ctx, "tool", "ls")
	require.ErrorIs(t, err, journal.ErrMismatch)
	assert.Len(t, records(t, st), before, "nothing is written")

	_, err = j.Under("s").Do(ctx, "tool", "rm", returns(`"looked"`))
	require.NoError(t, err)
	inDoubt, err = j.Under("s").Begin(ctx, "tool", "rm")
	require.NoError(t, err)
	assert.False(t, inDoubt, "it has a result")
}

func TestAReceivedReplyIsRecordedAlthoughTheCallerIsCancelled(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	ctx, cancel := context.WithCancel(context.Background())
	j := open(t, st, journal.Options{})
	_, err := j.Under("").Do(ctx, "k", "", func(context.Context) ([]byte, error) {
		cancel()
		return []byte(`1`), nil
	})
	require.NoError(t, err)
	_, err = j.Under("").Do(ctx, "other", "", never(t))
	require.ErrorIs(t, err, context.Canceled)
	_, err = j.Under("").Begin(ctx, "other", "")
	require.ErrorIs(t, err, context.Canceled)
	got, err := j.Under("").Do(ctx, "k", "", never(t))
	require.NoError(t, err, "what is recorded needs no context")
	assert.Equal(t, `1`, string(got))
}

func TestNotesRideWithTheNextDurableRecord(t *testing.T) {
	t.Parallel()
	count := workspacetest.NewCounting(workspace.NewMem())
	j := open(t, count.Storage(), journal.Options{})
	before := count.Syncs()
	require.NoError(t, j.Note("started", "a", []byte(`1`)))
	require.NoError(t, j.Under("a").Note("b", []byte(`2`)))
	assert.Equal(t, before, count.Syncs())
	got, ok, err := j.Recorded("a")
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Equal(t, "1", string(got))
	require.NoError(t, j.Append(outcome, "c", nil))
	assert.Equal(t, before+1, count.Syncs())
	require.NoError(t, j.Note("started", "d", nil))
	require.NoError(t, j.Close())
	assert.Equal(t, before+2, count.Syncs(), "Close has a note to write")

	var keys []string
	for _, r := range records(t, count.Storage())[2:] {
		keys = append(keys, r.Key)
	}
	assert.Equal(t, []string{"a", "a/b", "c", "d"}, keys)
}

func TestManyNotesDoNotPileUp(t *testing.T) {
	t.Parallel()
	count := workspacetest.NewCounting(workspace.NewMem())
	j := open(t, count.Storage(), journal.Options{})
	before := count.Syncs()
	for range 70 {
		require.NoError(t, j.Note("started", "a", payloadOf(32<<10)))
	}
	assert.Equal(t, before+2, count.Syncs())
}

func TestLargePayloadsAreStoredOnceByHash(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	st := workspace.NewMem()
	count := workspacetest.NewCounting(st)
	j := open(t, count.Storage(), journal.Options{})
	small, large := payloadOf(32<<10), payloadOf(32<<10+1)
	before := count.Count(workspacetest.WriteFile)
	for i, data := range [][]byte{small, large, large} {
		got, err := j.Under("s").Do(ctx, fmt.Sprint(i), "", returns(string(data)))
		require.NoError(t, err)
		assert.Equal(t, data, got)
	}
	assert.Equal(t, before+1, count.Count(workspacetest.WriteFile))
	entries, err := st.ReadDir(ctx, folder)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	assert.Less(t, len(text(t, st, file)), len(small)+2000)

	var replayed [][]byte
	j = reopen(t, st, j, journal.Options{Replay: func(r *journal.Record) error {
		replayed = append(replayed, bytes.Clone(r.Data))
		return nil
	}})
	assert.Equal(t, [][]byte{small, large, large}, replayed[2:])
	got, err := j.Under("s").Do(ctx, "2", "", never(t))
	require.NoError(t, err)
	assert.Equal(t, large, got)
	require.NoError(t, j.Append(outcome, "x", large))
	assert.Equal(t, before+1, count.Count(workspacetest.WriteFile), "the record of an earlier process names it")
	for _, r := range records(t, st)[4:] {
		if r.Kind != journal.KindOwner {
			assert.Equal(t, large, []byte(r.Data))
		}
	}
}

func TestABlobIsDurableBeforeItsRecord(t *testing.T) {
	t.Parallel()
	faulty := workspacetest.NewFaulty(workspace.NewMem(), workspacetest.Fault{At: 2, Stop: true})
	j := open(t, faulty.Storage(), journal.Options{})
	require.ErrorIs(t, j.Append(outcome, "k", payloadOf(40000)), workspacetest.ErrStopped)
	op, struck := faulty.Struck()
	require.True(t, struck)
	assert.Equal(t, workspacetest.WriteFile, op.Kind)
	assert.Equal(t, workspace.Durable, op.Sync)
	require.ErrorIs(t, j.Append(outcome, "k", nil), workspacetest.ErrStopped, "it is final")
}

func TestSecretsAreRedactedBeforeTheyAreHashedStoredAndReturned(t *testing.T) {
	t.Parallel()
	ctx, st := context.Background(), workspace.NewMem()
	redact := func(data []byte) []byte { return bytes.ReplaceAll(data, []byte("hunter2"), []byte("***")) }
	opts := journal.Options{Redact: redact, Holder: "hunter2"}
	j := open(t, st, opts)
	large := `"hunter2` + strings.Repeat("x", 40000) + `"`
	for key, data := range map[string]string{"small": `"hunter2"`, "large": large} {
		got, err := j.Under("").Do(ctx, key, "", returns(data))
		require.NoError(t, err)
		assert.Equal(t, strings.ReplaceAll(data, "hunter2", "***"), string(got))
	}
	require.NoError(t, j.Append(outcome, "k", []byte(`{"pin":"hunter2"}`)))
	require.NoError(t, j.Note("n", "k", []byte(`{"pin":"hunter2"}`)))
	j = reopen(t, st, j, opts)
	got, err := j.Under("").Do(ctx, "large", "", never(t))
	require.NoError(t, err)
	assert.Contains(t, string(got[:10]), "***")

	assert.NotContains(t, string(text(t, st, file)), "hunter2")
	entries, err := st.ReadDir(ctx, folder)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	assert.NotContains(t, string(text(t, st, folder+"/"+entries[0].Name())), "hunter2")
}

func TestWhatIsNoRecordIsRefusedAndNothingElseHappens(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	j := open(t, workspace.NewMem(), journal.Options{})
	require.ErrorIs(t, j.Append(outcome, "k", []byte(`{"a":`)), journal.ErrInvalid)
	require.ErrorIs(t, j.Append("", "k", nil), journal.ErrInvalid)
	require.ErrorIs(t, j.Append(outcome, "\xff", nil), journal.ErrInvalid)
	require.ErrorIs(t, j.Append(journal.KindHeader, "", nil), journal.ErrInvalid)
	require.ErrorIs(t, j.Note(journal.KindOwner, "", nil), journal.ErrInvalid)
	_, err := j.Under("").Do(ctx, "", "", never(t))
	require.ErrorIs(t, err, journal.ErrInvalid)
	_, err = j.Under("s").Do(ctx, "k", "", returns(`plain text`))
	require.ErrorIs(t, err, journal.ErrInvalid)
	_, err = j.Under("s").Do(ctx, "k", "", returns(``))
	require.NoError(t, err, "no payload is no error")
	require.NoError(t, j.Err())
}

func TestClosingAKeyForgetsItAndWhatIsBelow(t *testing.T) {
	t.Parallel()
	ctx, st := context.Background(), workspace.NewMem()
	opts := journal.Options{Closing: outcome}
	j := open(t, st, opts)
	for _, key := range []string{"a/visit/1", "a/visit/10", "b/visit/1"} {
		_, err := j.Under(key).Do(ctx, "turn/1", "", returns(`1`))
		require.NoError(t, err)
		require.NoError(t, j.Note("started", key, nil))
	}
	require.NoError(t, j.Append(outcome, "a/visit/1", nil))
	expect := func(t *testing.T, kept map[string]bool) {
		t.Helper()
		for key, want := range kept {
			_, ok, err := j.Recorded(key)
			require.NoError(t, err)
			assert.Equal(t, want, ok, key)
		}
	}
	want := map[string]bool{
		"a/visit/1/turn/1": false, "a/visit/1": false, "a/visit/10/turn/1": true, "a/visit/10": true, "b/visit/1/turn/1": true,
	}
	expect(t, want)
	j = reopen(t, st, j, opts)
	expect(t, want)
}

func TestReplaySeesWhatEarlierProcessesRecordedInOrder(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	var seen []string
	opts := journal.Options{Replay: func(r *journal.Record) error {
		seen = append(seen, fmt.Sprintf("%d %s %s", r.Seq, r.Kind, r.Key))
		return nil
	}}
	j := open(t, st, opts)
	assert.Empty(t, seen, "a new journal")
	require.NoError(t, j.Append(outcome, "b", nil))
	require.NoError(t, j.Append(outcome, "a", nil))
	j = reopen(t, st, j, opts)
	assert.Equal(t, []string{"1 journal ", "2 owner ", "3 outcome b", "4 outcome a"}, seen)
	require.NoError(t, j.Close())

	refusal := errors.New("not this one")
	_, err := journal.Open(context.Background(), st, file, journal.Options{Replay: func(*journal.Record) error { return refusal }})
	require.ErrorIs(t, err, refusal)
}

func TestCloseAndAbortAreFinal(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	j := open(t, st, journal.Options{})
	require.NoError(t, j.Note("n", "a", nil))
	require.NoError(t, j.Close())
	require.NoError(t, j.Close())
	require.ErrorIs(t, j.Append(outcome, "k", nil), journal.ErrClosed)
	_, _, err := j.Recorded("a")
	require.ErrorIs(t, err, journal.ErrClosed)

	j = open(t, st, journal.Options{})
	_, ok, err := j.Recorded("a")
	require.NoError(t, err)
	assert.True(t, ok, "Close flushed it")
	stopped := errors.New("run stopped")
	j.Abort(stopped)
	for _, err := range []error{j.Err(), j.Append(outcome, "k", nil), j.Close()} {
		require.ErrorIs(t, err, stopped)
		require.ErrorIs(t, err, journal.ErrAborted)
	}
}

// hanging is a storage whose appends wait for their context, once hung.
type hanging struct {
	workspace.Storage
	hung chan struct{}
}

func (h *hanging) AppendAt(ctx context.Context, name string, offset int64, data []byte) error {
	if offset == 0 {
		return h.Storage.AppendAt(ctx, name, offset, data)
	}
	h.hung <- struct{}{}
	<-ctx.Done()
	return ctx.Err()
}

func TestAbortEndsAnAppendThatHangs(t *testing.T) {
	t.Parallel()
	st := &hanging{Storage: workspace.NewMem(), hung: make(chan struct{})}
	j := open(t, st, journal.Options{})
	var group sync.WaitGroup
	for i := range 3 {
		group.Go(func() { assert.ErrorIs(t, j.Append(outcome, fmt.Sprint(i), nil), journal.ErrAborted) })
	}
	<-st.hung
	j.Abort(nil)
	group.Wait()
}

// gated is a storage whose appends wait for a gate once there is one.
type gated struct {
	workspace.Storage
	gate    chan struct{}
	appends int // only ever one at a time
}

func (g *gated) AppendAt(ctx context.Context, name string, offset int64, data []byte) error {
	if g.gate != nil {
		<-g.gate
		g.appends++
	}
	return g.Storage.AppendAt(ctx, name, offset, data)
}

func TestParallelAppendsShareASync(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := &gated{Storage: workspace.NewMem()}
		j := open(t, st, journal.Options{Closing: outcome})
		st.gate = make(chan struct{})
		var group sync.WaitGroup
		appendOne := func(key string) {
			group.Go(func() { assert.NoError(t, j.Append(outcome, key, []byte(`1`))) })
		}
		appendOne("first")
		synctest.Wait() // it is being written
		for i := range 8 {
			appendOne(fmt.Sprint(i))
		}
		synctest.Wait() // the others wait for it
		close(st.gate)
		group.Wait()
		assert.Equal(t, 2, st.appends)
		require.NoError(t, j.Close())
		assert.Len(t, records(t, st.Storage), 2+9)
	})
}
