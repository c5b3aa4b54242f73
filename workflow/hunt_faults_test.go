package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
	"github.com/treadle-dev/treadle/workspace/workspacetest"
)

// The hard workflow has what makes a resume difficult: a failed attempt, an unsafe
// tool beside another, a reply that goes to a blob, bytes that are not UTF-8, a
// secret that JSON escapes, a file name as long as it may be, a step without
// outputs and a step without files.
const (
	hardSecret = "open\"&<\nsesame"
	hardPlan   = `{"steps":[
		{"id":"a","type":"regular","description":"Use {{TOKEN}}.","context_output":"out.txt",
		 "validation_schema":{"files":[{"file_name":"out.txt","must_exist":true}]}},
		{"id":"b","type":"regular","description":"Go on.","context_dependencies":["out.txt"],"context_output":"b.txt"},
		{"id":"c","type":"noop"},
		{"id":"d","type":"regular","description":"End."}]}`
)

// hardModel answers by the step and by how far its conversation is. It keeps what
// it was asked at each position: asked again there, it must be asked the same.
type hardModel struct {
	mu      sync.Mutex
	calls   map[string]int
	asked   map[string]string
	changed []string
	down    map[string]int // how often the first calls at a position fail
}

func newHardModel() *hardModel {
	return &hardModel{calls: map[string]int{}, asked: map[string]string{}, down: map[string]int{}}
}

func hardScript() map[string][]agenttest.Turn {
	return map[string][]agenttest.Turn{
		"a": {
			writes("other.txt", "x"),
			agenttest.Reply("forgot \xff\xfe it, " + hardSecret),
			agenttest.Calls(
				agenttest.ToolCall("append_file", map[string]string{"path": "log.txt", "content": "one\n"}),
				agenttest.ToolCall("odd", nil),
			),
			writes("out.txt", "result"),
			agenttest.Reply(strings.Repeat("ü€x", 8000)),
		},
		"b": {writes("nested/"+strings.Repeat("n", 200)+".txt", "deep"), writes("b.txt", "B"), agenttest.Reply("b done")},
		"d": {agenttest.Reply("d done")},
	}
}

// position is the step of a request and how many turns of its script have had
// their effect. A turn whose tool met the injected fault is asked for again.
func position(req *agent.Request) (step string, turn int) {
	met := false
	for _, msg := range req.Messages {
		switch {
		case msg.Role == agent.RoleAssistant:
			turn, met = turn+1, false
		case msg.Role == agent.RoleTool && !met && strings.Contains(msg.ContentText(), workspacetest.ErrInjected.Error()):
			turn, met = turn-1, true
		}
		if after, ok := strings.CutPrefix(msg.ContentText(), "Step: "); ok && msg.Role == agent.RoleUser {
			step, _, _ = strings.Cut(after, "\n")
		}
	}
	return step, turn
}

func (m *hardModel) Generate(_ context.Context, req *agent.Request, _ agent.Sink) (*agent.Response, error) {
	step, turn := position(req)
	at := fmt.Sprintf("%s/%d", step, turn)
	if m.ask(at, req) {
		return nil, errors.New("the model is down")
	}
	script := hardScript()[step]
	if turn >= len(script) {
		return nil, fmt.Errorf("the script has no %s", at)
	}
	response := script[turn].Response
	response.Finish = agent.FinishStop
	if len(response.Message.ToolCalls) > 0 {
		response.Finish = agent.FinishToolCalls
	}
	return &response, nil
}

// ask notes a call and reports whether it is to fail.
func (m *hardModel) ask(at string, req *agent.Request) (fails bool) {
	data, err := json.Marshal(req.Messages)
	if err != nil {
		panic(err)
	}
	text := string(data)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls[at]++
	key := fmt.Sprintf("%s of %d messages", at, len(req.Messages))
	if before, ok := m.asked[key]; ok && before != text && !strings.Contains(before+text, "in_doubt") {
		m.changed = append(m.changed, key)
	}
	m.asked[key] = text
	return m.calls[at] <= m.down[at]
}

func (m *hardModel) total() (calls int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range m.calls {
		calls += int64(n)
	}
	return calls
}

func hardController(tb testing.TB, model agent.LLM) *workflow.Controller {
	tb.Helper()
	odd := &agenttest.Toolset{ID: "odd", Tools: []agent.Tool{
		&agenttest.Tool{Name: "odd", Effect: agent.ReadOnly, Do: returns("not \xff UTF-8, " + hardSecret)},
	}}
	ctl, err := workflow.NewController(workflow.Config{
		Models: agent.Single(model), Toolsets: []agent.Toolset{agenttest.Files(), odd}, Retry: agent.NoRetry,
		Secrets: map[string]string{"S": hardSecret}, StepTypes: []*workflow.StepType{noopType()},
		NewID: func() string { return "run-1" },
	})
	require.NoError(tb, err)
	return ctl
}

func hardStorage(tb testing.TB) workspace.Storage {
	tb.Helper()
	st := workspace.NewMem()
	variables, err := json.Marshal(map[string]any{"variables": []any{map[string]any{"name": "TOKEN", "value": hardSecret}}})
	require.NoError(tb, err)
	require.NoError(tb, st.WriteFile(context.Background(), workspace.PlanFile, []byte(hardPlan), workspace.Lazy))
	require.NoError(tb, st.WriteFile(context.Background(), workspace.VariablesFile, variables, workspace.Lazy))
	return st
}

// hardRun runs, or resumes, and takes a run that had completed as completed.
func hardRun(tb testing.TB, model agent.LLM, st workspace.Storage) error {
	tb.Helper()
	ctx := context.Background()
	_, err := hardController(tb, model).Run(ctx, workspace.New(st), resumeOptions(ctx, st, firstRun))
	if errors.Is(err, workflow.ErrRunFinished) {
		return nil
	}
	return err
}

// hardWant is what an undisturbed run publishes, and in how many changes.
func hardWant(tb testing.TB) (files map[string]string, changes int) {
	tb.Helper()
	st := hardStorage(tb)
	faulty := workspacetest.NewFaulty(st, workspacetest.Fault{})
	require.NoError(tb, hardRun(tb, newHardModel(), faulty.Storage()))
	return executionFiles(tb, st, firstRun), faulty.Changes()
}

// checkHard compares the end of a disturbed run with that of an undisturbed one.
func checkHard(tb testing.TB, want map[string]string, model *hardModel, st workspace.Storage) {
	tb.Helper()
	ws := workspace.New(st)
	text := journalText(tb, st, firstRun)
	if !strings.Contains(text, `"in_doubt":true`) {
		// A tool that met a fault may have done half of an append, or all of it twice.
		appended := strings.Contains(text, workspacetest.ErrInjected.Error())
		left := func(files map[string]string) map[string]string {
			files = maps.Clone(files)
			maps.DeleteFunc(files, func(name, _ string) bool {
				return strings.Contains(name, "/archived/") || appended && strings.HasSuffix(name, "/log.txt")
			})
			return files
		}
		assert.Equal(tb, left(want), left(executionFiles(tb, st, firstRun)))
	}
	if !strings.Contains(text, `"reason":"lost"`) {
		assert.Empty(tb, model.changed, "a conversation is another after a resume")
	}
	standing, err := workflow.RunStatus(context.Background(), ws, "iteration-1")
	if !assert.NoError(tb, err) {
		return
	}
	assert.Equal(tb, workflow.StatusCompleted, standing.Status)
	assert.Equal(tb, 4, standing.StepsCompleted)
	assert.LessOrEqual(tb, standing.Totals.Calls, model.total())
	if assert.NotNil(tb, standing.Totals.Usage.Input) {
		assert.Equal(tb, 100*standing.Totals.Calls, *standing.Totals.Usage.Input)
	}
	assert.NotContains(tb, text, "sesame")
}

var everyWhen = []workspacetest.When{workspacetest.Before, workspacetest.After, workspacetest.Torn}

func TestOneStorageErrorAtAnyChangeIsTypedAndResumable(t *testing.T) {
	t.Parallel()
	want, changes := hardWant(t)
	for at := 1; at <= changes; at++ {
		for _, when := range everyWhen {
			st, model := hardStorage(t), newHardModel()
			faulty := workspacetest.NewFaulty(st, workspacetest.Fault{At: at, When: when})
			err := hardRun(t, model, faulty.Storage())
			op, _ := faulty.Struck()
			cut := fmt.Sprintf("%s operation %d (%s %s)", when, at, op.Kind, op.Name)
			if err != nil {
				require.ErrorIs(t, err, workspacetest.ErrInjected, cut)
				require.NoError(t, hardRun(t, model, st), cut)
			}
			checkHard(t, want, model, st)
			if t.Failed() {
				t.Fatal(cut)
			}
		}
	}
}

// unreadable fails the read number at, counted over ReadFile, ReadDir and Stat.
type unreadable struct {
	workspace.Storage
	at int

	mu    sync.Mutex
	reads int
}

func (u *unreadable) read() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.reads++; u.reads == u.at {
		return workspacetest.ErrInjected
	}
	return nil
}

func (u *unreadable) ReadFile(ctx context.Context, name string) ([]byte, error) {
	if err := u.read(); err != nil {
		return nil, err
	}
	return u.Storage.ReadFile(ctx, name)
}

func (u *unreadable) ReadDir(ctx context.Context, name string) ([]fs.DirEntry, error) {
	if err := u.read(); err != nil {
		return nil, err
	}
	return u.Storage.ReadDir(ctx, name)
}

func (u *unreadable) Stat(ctx context.Context, name string) (fs.FileInfo, error) {
	if err := u.read(); err != nil {
		return nil, err
	}
	return u.Storage.Stat(ctx, name)
}

func TestOneFailedReadLosesNothing(t *testing.T) {
	t.Parallel()
	want, _ := hardWant(t)
	for at := 1; ; at++ {
		st, model := hardStorage(t), newHardModel()
		faulty := &unreadable{Storage: st, at: at}
		_, err := hardController(t, model).Run(t.Context(), workspace.New(faulty), nil)
		if faulty.reads < at {
			break
		}
		if err != nil {
			require.ErrorIs(t, err, workspacetest.ErrInjected, "read %d", at)
			require.NoError(t, hardRun(t, model, st), "read %d", at)
		}
		checkHard(t, want, model, st)
		if t.Failed() {
			t.Fatalf("read %d", at)
		}
	}
}

func TestManyInterruptionsInARowEndTheSame(t *testing.T) {
	t.Parallel()
	want, changes := hardWant(t)
	rapid.Check(t, func(rt *rapid.T) {
		st, model := hardStorage(t), newHardModel()
		for _, at := range []string{"a/2", "b/1", "d/0"} {
			model.down[at] = rapid.IntRange(0, 2).Draw(rt, "model down at "+at)
		}
		for range rapid.IntRange(2, 5).Draw(rt, "interruptions") {
			faulty := workspacetest.NewFaulty(st, workspacetest.Fault{
				At:   rapid.IntRange(1, changes).Draw(rt, "operation"),
				When: rapid.SampledFrom(everyWhen).Draw(rt, "when"),
				Stop: rapid.Bool().Draw(rt, "stop"),
			})
			err := hardRun(t, model, faulty.Storage())
			if lost := rapid.SampledFrom([]string{"", "", "", "a", "b"}).Draw(rt, "lost"); lost != "" && err != nil && interrupted(st) {
				removed := st.Remove(context.Background(), workspace.RunLayout("iteration-1").Execution(lost))
				if removed != nil && !errors.Is(removed, fs.ErrNotExist) {
					rt.Fatal(removed)
				}
			}
		}
		err := errors.New("not resumed")
		for tries := 0; err != nil && tries < 8; tries++ { // the model may still be down
			err = hardRun(t, model, st)
		}
		if err != nil {
			rt.Fatalf("the run cannot be finished: %v", err)
		}
		checkHard(t, want, model, st)
		if t.Failed() {
			rt.FailNow()
		}
	})
}

// interrupted reports whether the run has not completed.
func interrupted(st workspace.Storage) bool {
	standing, err := workflow.RunStatus(context.Background(), workspace.New(st), "iteration-1")
	return err == nil && standing.Status != workflow.StatusCompleted
}

func TestARunCanceledAtAnyEventIsResumedToTheSameEnd(t *testing.T) {
	t.Parallel()
	want, _ := hardWant(t)
	for at, seen := 0, 1; at <= seen; at++ {
		st, model := hardStorage(t), newHardModel()
		run, err := hardController(t, model).Start(t.Context(), workspace.New(st), nil)
		require.NoError(t, err)
		var followers sync.WaitGroup
		for range 4 {
			followers.Go(func() { _, _ = run.Wait(t.Context()) })
			followers.Go(func() {
				for _, err := range run.Events(t.Context(), workflow.FromStart) {
					assert.NoError(t, err)
				}
			})
		}
		if at == 0 {
			run.Cancel()
		}
		seen = 0
		for _, err := range run.Events(t.Context(), workflow.FromStart) {
			require.NoError(t, err)
			if seen++; seen == at {
				run.Cancel()
			}
		}
		result, err := run.Wait(t.Context())
		followers.Wait()
		if err != nil {
			require.ErrorIs(t, err, workflow.ErrCanceled)
			require.Equal(t, workflow.StatusCanceled, result.Status)
			require.NoError(t, hardRun(t, model, st))
		}
		checkHard(t, want, model, st)
		if t.Failed() {
			t.Fatalf("canceled at event %d", at)
		}
	}
}

func TestOneOfManyThatResumeARunAtOnceDoes(t *testing.T) {
	t.Parallel()
	st, model := hardStorage(t), newHardModel()
	model.down["b/1"] = 1
	require.ErrorContains(t, hardRun(t, model, st), "down")
	var (
		all   sync.WaitGroup
		mu    sync.Mutex
		ended = map[string]int{}
	)
	for range 16 {
		all.Go(func() {
			_, err := hardController(t, model).Run(t.Context(), workspace.New(st), resume("iteration-1"))
			how := fmt.Sprint(err)
			switch held := (*workspace.HeldError)(nil); {
			case err == nil:
				how = "completed"
			case errors.Is(err, workflow.ErrRunHeld) && errors.As(err, &held), errors.Is(err, workflow.ErrRunFinished):
				how = "refused"
			}
			mu.Lock()
			defer mu.Unlock()
			ended[how]++
		})
	}
	all.Wait()
	assert.Equal(t, map[string]int{"completed": 1, "refused": 15}, ended)
}

func TestAChangedLineOfTheJournalIsNamed(t *testing.T) {
	t.Parallel()
	st := hardStorage(t)
	require.NoError(t, hardRun(t, newHardModel(), st))
	name := workspace.RunLayout("iteration-1").Journal()
	lines := strings.SplitAfter(strings.TrimSuffix(journalText(t, st, firstRun), "\n"), "\n")
	for i := range lines {
		changed := append([]string(nil), lines...)
		changed[i] = strings.Replace(changed[i], `"time":"2`, `"time":"3`, 1)
		require.NoError(t, st.WriteFile(t.Context(), name, []byte(strings.Join(changed, "")+"\n"), workspace.Lazy))
		err := hardRun(t, newHardModel(), st)
		require.ErrorContains(t, err, fmt.Sprintf("line %d (record %d)", i+1, i+1))
	}
}

// bytesWritten counts the bytes of WriteFile and AppendAt.
type bytesWritten struct {
	workspace.Storage

	mu    sync.Mutex
	total int
}

func (b *bytesWritten) add(data []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total += len(data)
}

func (b *bytesWritten) WriteFile(ctx context.Context, name string, data []byte, sync workspace.Sync) error {
	b.add(data)
	return b.Storage.WriteFile(ctx, name, data, sync)
}

func (b *bytesWritten) AppendAt(ctx context.Context, name string, offset int64, data []byte) error {
	b.add(data)
	return b.Storage.AppendAt(ctx, name, offset, data)
}

func TestALongConversationWritesNoMoreATurnThanAShortOne(t *testing.T) {
	t.Parallel()
	perTurn := func(turns int) int {
		made := 0
		model := &agenttest.Model{Respond: func(context.Context, *agent.Request) (*agent.Response, error) {
			response := agenttest.Call("get", map[string]string{"q": strings.Repeat("q", 500)}).Response
			if made++; made == turns {
				response = agenttest.Reply("done").Response
			}
			return &response, nil
		}}
		get := &agenttest.Toolset{ID: "get", Tools: []agent.Tool{
			&agenttest.Tool{Name: "get", Effect: agent.ReadOnly, Do: returns(strings.Repeat("r", 1000))},
		}}
		b := setup(t, workflow.Config{Models: agent.Single(model), Toolsets: []agent.Toolset{get}},
			`{"steps":[{"id":"one","type":"regular","description":"Ask."}]}`,
			workspace.StepConfigFile, `{"steps":[{"id":"one","agent_configs":{"execution_max_turns":1000}}]}`)
		written := &bytesWritten{Storage: b.ws.Storage()}
		_, err := b.ctl.Run(t.Context(), workspace.New(written), nil)
		require.NoError(t, err)
		return written.total / turns
	}
	assert.LessOrEqual(t, perTurn(200), perTurn(25))
}
