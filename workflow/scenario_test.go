package workflow_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
	"github.com/treadle-dev/treadle/internal/crashtest"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

var update = flag.Bool("update", false, "rewrite the expectations of testdata/scenario and the golden prompts")

// A scenario is a whole workflow as a txtar file:
//
//	workspace/…   the files of the workflow
//	model.json    {"step": [turn, …]}: what the model answers, by step and by how
//	              many replies the conversation has; a turn is {"text"}, {"calls":
//	              [{"tool", "args"}]} or {"error"}; under "step judge" the verdicts
//	              in order, each with a "when" that is in what the judge is told
//	options.json  {"group"}: how it is run; may be missing
//	result.json   {"status", "steps", "error"}: how the run ends; error is a part
//	              of its text
//	expect/…      files that are there afterwards, as they are (JSON by value)
//	absent        names, one a line, that are not there afterwards
//
// Steps have the tools of agenttest.Files. Scenarios that complete are also
// crashed at every operation.
type scenario struct {
	archive *txtar.Archive
	path    string
	files   map[string][]byte
	expect  map[string][]byte
	absent  []string
	model   map[string][]turn
	options struct {
		Group string `json:"group"`
	}
	result struct {
		Status workflow.Status `json:"status"`
		Steps  []string        `json:"steps"`
		Error  string          `json:"error"`
	}
}

type turn struct {
	When  string `json:"when"`
	Text  string `json:"text"`
	Error string `json:"error"`
	Calls []struct {
		Tool string          `json:"tool"`
		Args json.RawMessage `json:"args"`
	} `json:"calls"`
}

func scenarios(t *testing.T) map[string]*scenario {
	t.Helper()
	paths, err := filepath.Glob("testdata/scenario/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	all := map[string]*scenario{}
	for _, path := range paths {
		all[strings.TrimSuffix(filepath.Base(path), ".txtar")] = readScenario(t, path)
	}
	return all
}

func readScenario(t *testing.T, path string) *scenario {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	require.NoError(t, err)
	s := &scenario{archive: archive, path: path, files: map[string][]byte{}, expect: map[string][]byte{}}
	for _, f := range archive.Files {
		folder, rest, _ := strings.Cut(f.Name, "/")
		switch folder {
		case "workspace":
			s.files[rest] = f.Data
		case "expect":
			s.expect[rest] = f.Data
		case "absent":
			s.absent = strings.Fields(string(f.Data))
		case "model.json":
			require.NoError(t, json.Unmarshal(f.Data, &s.model), path)
		case "options.json":
			require.NoError(t, json.Unmarshal(f.Data, &s.options), path)
		case "result.json":
			require.NoError(t, json.Unmarshal(f.Data, &s.result), path)
		default:
			t.Fatalf("%s: unknown section %s", path, f.Name)
		}
	}
	return s
}

// start is how the workflow is run at first.
func (s *scenario) start() *workflow.RunOptions {
	return &workflow.RunOptions{Group: s.options.Group}
}

// folder is that of its first run.
func (s *scenario) folder() string {
	if s.options.Group == "" {
		return firstRun
	}
	return firstRun + "/" + (&workflow.Group{Name: s.options.Group}).Folder()
}

func (s *scenario) prepare(ctx context.Context, st workspace.Storage) error {
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		if err := st.WriteFile(ctx, name, s.files[name], workspace.Lazy); err != nil {
			return err
		}
	}
	return nil
}

// scenarioModel answers from the script by what the request says, so that a
// repeated call gets the same answer. It counts the calls by step and turn.
type scenarioModel struct {
	script map[string][]turn

	mu    sync.Mutex
	calls map[string]int
}

func (m *scenarioModel) Generate(_ context.Context, req *agent.Request, _ agent.Sink) (*agent.Response, error) {
	step, n := "", 0
	for _, msg := range req.Messages {
		if msg.Role == agent.RoleAssistant {
			n++
		}
		if after, ok := strings.CutPrefix(msg.ContentText(), "Step: "); ok && msg.Role == agent.RoleUser {
			step, _, _ = strings.Cut(after, "\n")
		}
	}
	if req.Output != nil {
		step += " judge"
		told := req.Messages[1].ContentText()
		n = slices.IndexFunc(m.script[step], func(t turn) bool { return strings.Contains(told, t.When) })
		if n < 0 {
			return nil, fmt.Errorf("the script has no verdict on:\n%s", told)
		}
	}
	m.mu.Lock()
	m.calls[fmt.Sprintf("%s/%d", step, n+1)]++
	m.mu.Unlock()
	if n >= len(m.script[step]) {
		return nil, fmt.Errorf("the script has no turn %d of step %q", n+1, step)
	}
	t := m.script[step][n]
	if t.Error != "" {
		return nil, errors.New(t.Error)
	}
	response := &agent.Response{
		Message: agent.Message{Role: agent.RoleAssistant}, Finish: agent.FinishStop,
		Usage: agent.Usage{Input: agent.Tokens(100), Output: agent.Tokens(10)},
	}
	if t.Text != "" {
		response.Message.Content = agent.Text(t.Text)
	}
	for i, c := range t.Calls {
		response.Finish = agent.FinishToolCalls
		response.Message.ToolCalls = append(response.Message.ToolCalls, agent.ToolCall{ID: fmt.Sprintf("call-%d-%d", n, i), Name: c.Tool, Arguments: c.Args})
	}
	return response, nil
}

func (s *scenario) controller(t testing.TB, model agent.LLM) *workflow.Controller {
	t.Helper()
	at := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	ctl, err := workflow.NewController(workflow.Config{
		Models: agent.Single(model), Model: "scripted", Toolsets: []agent.Toolset{agenttest.Files()},
		StepTypes: []*workflow.StepType{noopType()},
		Now:       func() time.Time { return at },
		NewID:     func() string { return "run-1" },
	})
	require.NoError(t, err)
	return ctl
}

func TestScenarios(t *testing.T) {
	t.Parallel()
	for name, s := range scenarios(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, open := range []func() workspace.Storage{
				func() workspace.Storage { return workspace.NewMem() },
				func() workspace.Storage {
					dir, err := workspace.NewDir(t.TempDir())
					require.NoError(t, err)
					t.Cleanup(func() { assert.NoError(t, dir.Close()) })
					return dir
				},
			} {
				st := open()
				require.NoError(t, s.prepare(t.Context(), st))
				model := &scenarioModel{script: s.model, calls: map[string]int{}}
				result, err := s.controller(t, model).Run(t.Context(), workspace.New(st), s.start())
				s.checkResult(t, result, err)
				if _, isMem := st.(*workspace.Mem); isMem && *update {
					s.update(t, st)
				}
				s.checkFiles(t, st)
			}
		})
	}
}

func (s *scenario) checkResult(t *testing.T, result *workflow.Result, err error) {
	t.Helper()
	if s.result.Error != "" {
		require.ErrorContains(t, err, s.result.Error)
	} else {
		require.NoError(t, err)
	}
	if result == nil {
		assert.Empty(t, s.result.Status)
		return
	}
	assert.Equal(t, s.result.Status, result.Status)
	assert.Equal(t, s.result.Steps, result.Steps)
}

func (s *scenario) checkFiles(t testing.TB, st workspace.Storage) {
	t.Helper()
	for name, want := range s.expect {
		got, err := st.ReadFile(context.Background(), name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if filepath.Ext(name) == ".json" {
			assert.JSONEq(t, string(want), string(got), name)
			continue
		}
		assert.Equal(t, string(want), string(bytes.TrimSuffix(got, []byte("\n")))+"\n", name)
	}
	for _, name := range s.absent {
		_, err := st.Stat(context.Background(), name)
		assert.ErrorIs(t, err, fs.ErrNotExist, name)
	}
}

// update rewrites the expected files from what there is.
func (s *scenario) update(t *testing.T, st workspace.Storage) {
	t.Helper()
	for i, f := range s.archive.Files {
		name, ok := strings.CutPrefix(f.Name, "expect/")
		if !ok {
			continue
		}
		data, err := st.ReadFile(t.Context(), name)
		require.NoError(t, err)
		if !bytes.HasSuffix(data, []byte("\n")) {
			data = append(data, '\n')
		}
		s.archive.Files[i].Data, s.expect[name] = data, data
	}
	require.NoError(t, os.WriteFile(s.path, txtar.Format(s.archive), 0o644))
}

// TestScenariosSurviveACrashAtEveryOperation stops each workflow at every storage
// operation and resumes it: the same files are published, no recorded model call
// is repeated, no unsafe tool is repeated silently.
func TestScenariosSurviveACrashAtEveryOperation(t *testing.T) {
	t.Parallel()
	for name, s := range scenarios(t) {
		if s.result.Status != workflow.StatusCompleted {
			continue
		}
		for _, second := range []int{0, 1, 3} {
			t.Run(fmt.Sprintf("%s/%d", name, second), func(t *testing.T) {
				t.Parallel()
				cuts := crashtest.EveryCut(t, s.crashed(t), second)
				t.Logf("%d cut points", cuts)
			})
		}
	}
}

func (s *scenario) crashed(t *testing.T) crashtest.Work {
	t.Helper()
	want := s.published(t)
	var model *scenarioModel
	return crashtest.Work{
		Prepare: s.prepare,
		Begin:   func() { model = &scenarioModel{script: s.model, calls: map[string]int{}} },
		Run: func(ctx context.Context, st workspace.Storage) error {
			folder := s.folder()
			recorded := recordedReplies(ctx, st, folder)
			before := maps.Clone(model.calls)
			ctl := s.controller(t, model)
			ws := workspace.New(st)
			opts := resumeOptions(ctx, st, folder)
			if opts == nil {
				opts = s.start()
			}
			_, err := ctl.Run(ctx, ws, opts)
			for key := range recorded {
				if model.calls[key] > before[key] {
					return fmt.Errorf("the recorded call %s was made again", key)
				}
			}
			if errors.Is(err, workflow.ErrRunFinished) {
				return crashtest.ErrComplete
			}
			return err
		},
		Check: func(tb testing.TB, st workspace.Storage) {
			tb.Helper()
			got := executionFiles(tb, st, s.folder())
			if !strings.Contains(journalText(tb, st, s.folder()), `"in_doubt":true`) {
				assert.Equal(tb, want, got)
			}
		},
	}
}

// published is what an uninterrupted run publishes.
func (s *scenario) published(t *testing.T) map[string]string {
	t.Helper()
	st := workspace.NewMem()
	require.NoError(t, s.prepare(t.Context(), st))
	_, err := s.controller(t, &scenarioModel{script: s.model, calls: map[string]int{}}).Run(t.Context(), workspace.New(st), s.start())
	require.NoError(t, err)
	return executionFiles(t, st, s.folder())
}

// firstRun is the folder of the first run of a workspace without groups.
const firstRun = "iteration-1"

func executionFiles(tb testing.TB, st workspace.Storage, folder string) map[string]string {
	tb.Helper()
	files := map[string]string{}
	root := workspace.RunLayout(folder).Execution("")
	fsys := workspace.FS(context.Background(), st)
	err := fs.WalkDir(fsys, root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(fsys, name)
		files[name] = string(data)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		tb.Errorf("%v", err)
	}
	return files
}

func journalText(tb testing.TB, st workspace.Storage, folder string) string {
	tb.Helper()
	data, err := st.ReadFile(context.Background(), workspace.RunLayout(folder).Journal())
	if err != nil {
		tb.Errorf("%v", err)
	}
	return string(data)
}

// resumeOptions take up the first run when there is one.
func resumeOptions(ctx context.Context, st workspace.Storage, folder string) *workflow.RunOptions {
	if _, err := st.Stat(ctx, workspace.RunLayout(folder).Journal()); err == nil {
		return &workflow.RunOptions{Run: folder}
	}
	return nil
}

// recordedReplies are the model calls, as scenarioModel counts them, whose reply
// is whole in the journal.
func recordedReplies(ctx context.Context, st workspace.Storage, folder string) map[string]bool {
	data, err := st.ReadFile(ctx, workspace.RunLayout(folder).Journal())
	if err != nil {
		return nil
	}
	counts, recorded := map[string]int{}, map[string]bool{}
	for line := range strings.SplitAfterSeq(string(data), "\n") {
		var rec struct{ Kind, Key string }
		if !strings.HasSuffix(line, "\n") || json.Unmarshal([]byte(line), &rec) != nil {
			continue
		}
		if rec.Kind == "result" && strings.HasSuffix(rec.Key, "/reply") {
			step, _, _ := strings.Cut(rec.Key, "/")
			if strings.Contains(rec.Key, "/verdict/") {
				step += " judge"
			}
			counts[step]++
			recorded[fmt.Sprintf("%s/%d", step, counts[step])] = true
		}
	}
	return recorded
}
