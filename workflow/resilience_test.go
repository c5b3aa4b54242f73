package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

// hostStep is a configuration whose step type "h" runs a function.
func hostStep(execute func(*workflow.StepContext) (*workflow.Outcome, error)) workflow.Config {
	return workflow.Config{StepTypes: []*workflow.StepType{{Name: "h", Execute: execute}}}
}

// onDisk is setup on a folder of the disk.
func onDisk(t *testing.T, config workflow.Config, plan string) (*workflow.Controller, *workspace.Workspace, string) {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "planning"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, workspace.PlanFile), []byte(plan), 0o644))
	ws, err := workspace.OpenDir(root)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, ws.Close()) })
	ctl, err := workflow.NewController(config)
	require.NoError(t, err)
	return ctl, ws, root
}

func TestWhatIsNoFileIsPublishedWithTheFiles(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("needs symbolic links")
	}
	ctl, ws, root := onDisk(t, hostStep(func(sc *workflow.StepContext) (*workflow.Outcome, error) {
		dir, err := sc.WorkDir()
		if err != nil {
			return nil, err
		}
		local, _ := sc.Workspace().LocalPath(dir)
		return nil, errors.Join(
			os.Symlink("nowhere", filepath.Join(local, "a-dangling")),
			os.Mkdir(filepath.Join(local, "lib"), 0o755),
			os.Symlink("lib", filepath.Join(local, "lib64")),
			os.Symlink("loop", filepath.Join(local, "loop")),
			os.WriteFile(filepath.Join(local, "out.txt"), []byte("x"), 0o644),
		)
	}), hostPlan("h", ""))
	_, err := ctl.Run(t.Context(), ws, nil)
	require.NoError(t, err)
	published := filepath.Join(root, "runs/iteration-1/execution/h")
	for _, name := range []string{"a-dangling", "lib", "lib64", "loop", "out.txt"} {
		_, err := os.Lstat(filepath.Join(published, name))
		require.NoError(t, err)
	}
}

func TestWhatLiesInTheWayOfOutputsIsMovedAside(t *testing.T) {
	t.Parallel()
	b := setup(t, hostStep(func(sc *workflow.StepContext) (*workflow.Outcome, error) {
		dir, err := sc.WorkDir()
		st := sc.Workspace().Storage()
		return nil, errors.Join(err,
			st.WriteFile(sc.Context(), "runs/iteration-1/execution/h/stray.txt", []byte("stray"), workspace.Lazy),
			st.WriteFile(sc.Context(), dir+"/out.txt", []byte("x"), workspace.Lazy))
	}), hostPlan("h", ""))
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.NoError(t, err)
	assert.Equal(t, "x", b.read(t, "runs/iteration-1/execution/h/out.txt"))
	assert.Equal(t, "stray", b.read(t, "runs/iteration-1/execution/archived/displaced-1/h/stray.txt"))
}

func TestAnOutputThatIsGoneOrCutRunsItsStepAgain(t *testing.T) {
	t.Parallel()
	for _, damage := range []func(workspace.Storage) error{
		func(st workspace.Storage) error {
			return st.Remove(context.Background(), "runs/iteration-1/execution/a/two.txt")
		},
		func(st workspace.Storage) error {
			return st.Truncate(context.Background(), "runs/iteration-1/execution/a/two.txt", 1)
		},
	} {
		runs := 0
		b := setup(t, hostStep(func(sc *workflow.StepContext) (*workflow.Outcome, error) {
			if sc.Step().Base().ID == "b" {
				if runs == 1 {
					return nil, errors.New("down")
				}
				return nil, nil
			}
			runs++
			dir, err := sc.WorkDir()
			st := sc.Workspace().Storage()
			return nil, errors.Join(err,
				st.WriteFile(sc.Context(), dir+"/one.txt", []byte("one"), workspace.Lazy),
				st.WriteFile(sc.Context(), dir+"/two.txt", []byte("two"), workspace.Lazy))
		}), `{"steps":[{"id":"a","type":"h"},{"id":"b","type":"h"}]}`)
		_, err := b.ctl.Run(t.Context(), b.ws, nil)
		require.ErrorContains(t, err, "down")
		require.NoError(t, damage(b.ws.Storage()))
		result, err := b.ctl.Run(t.Context(), b.ws, resume("iteration-1"))
		require.NoError(t, err)
		assert.Equal(t, 2, runs)
		assert.Equal(t, []string{"a", "b"}, result.Steps)
		assert.Equal(t, "two", b.read(t, "runs/iteration-1/execution/a/two.txt"))
	}
}

func TestAStorageThatHangsHoldsAStartNoLongerThanItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := &hangingStorage{Storage: workspace.NewMem(), hang: make(chan struct{})}
		close(st.hang)
		require.NoError(t, st.WriteFile(t.Context(), workspace.PlanFile, []byte(hostPlan("noop", "")), workspace.Lazy))
		ctl, err := workflow.NewController(workflow.Config{StepTypes: []*workflow.StepType{noopType()}})
		require.NoError(t, err)
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		_, err = ctl.Start(ctx, workspace.New(st), nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

// lockless lets everybody drive a run, as a storage does whose locks expire.
type lockless struct{ workspace.Storage }

type noLock struct{}

func (noLock) Unlock() error { return nil }

func (lockless) TryLock(context.Context, string, string) (workspace.Lock, error) {
	return noLock{}, nil
}

func TestAnOwnerThatWasReplacedWritesNothingMore(t *testing.T) {
	t.Parallel()
	started, release := make(chan struct{}), make(chan struct{})
	var begun atomic.Bool
	config := hostStep(func(*workflow.StepContext) (*workflow.Outcome, error) {
		if begun.CompareAndSwap(false, true) {
			close(started)
			<-release
		}
		return nil, nil
	})
	b := setup(t, config, hostPlan("h", ""))
	ws := workspace.New(lockless{b.ws.Storage()})
	old, err := b.ctl.Start(t.Context(), ws, nil)
	require.NoError(t, err)
	<-started
	_, err = b.ctl.Run(t.Context(), ws, resume("iteration-1"))
	require.NoError(t, err)
	close(release)
	_, err = old.Wait(t.Context())
	require.ErrorIs(t, err, workflow.ErrRunHeld)
	standing, err := workflow.RunStatus(t.Context(), b.ws, "iteration-1")
	require.NoError(t, err)
	assert.Equal(t, workflow.StatusCompleted, standing.Status)
}

func TestAStepThatEndsItsGoroutineEndsTheRun(t *testing.T) {
	t.Parallel()
	b := setup(t, hostStep(func(*workflow.StepContext) (*workflow.Outcome, error) {
		runtime.Goexit()
		return nil, nil
	}), hostPlan("h", ""))
	run, err := b.ctl.Start(t.Context(), b.ws, nil)
	require.NoError(t, err)
	result, err := run.Wait(t.Context())
	require.ErrorContains(t, err, "Goexit")
	assert.Equal(t, workflow.StatusFailed, result.Status)
	again, err := b.ctl.Start(t.Context(), b.ws, resume("iteration-1"))
	require.NoError(t, err, "the lock is still held")
	_, err = again.Wait(t.Context())
	require.ErrorContains(t, err, "Goexit")
}

func TestNamesOfDurableWorkMayLookLikeAnything(t *testing.T) {
	t.Parallel()
	fail := true
	b := setup(t, hostStep(func(sc *workflow.StepContext) (*workflow.Outcome, error) {
		for _, name := range []string{"turn/1/reply", "attempt/1/turn/1/reply", "turn/1/tool/1", "attempt/1/validation", "turn/1/failed/1"} {
			if _, err := workflow.Do(sc, name, agent.ReadOnly, 1, func(context.Context, int) (string, error) { return "hi", nil }); err != nil {
				return nil, err
			}
		}
		if fail {
			return nil, errors.New("down")
		}
		return nil, nil
	}), hostPlan("h", ""))
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.ErrorContains(t, err, "down")
	fail = false
	result, err := b.ctl.Run(t.Context(), b.ws, resume("iteration-1"))
	require.NoError(t, err)
	assert.Zero(t, result.Totals.Calls)
}

func TestAStepMayUseItsContextFromManyGoroutines(t *testing.T) {
	t.Parallel()
	b := setup(t, hostStep(func(sc *workflow.StepContext) (*workflow.Outcome, error) {
		errs := make([]error, 8)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() {
				_, err := sc.WorkDir()
				_, doErr := workflow.Do(sc, string(rune('a'+i)), agent.Idempotent, i, func(_ context.Context, n int) (int, error) { return n, nil })
				errs[i] = errors.Join(err, doErr)
			})
		}
		wg.Wait()
		return nil, errors.Join(errs...)
	}), hostPlan("h", ""))
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.NoError(t, err)
}

func TestEventsMayBeReadTwiceAndAResultAfterItsContext(t *testing.T) {
	t.Parallel()
	b := setup(t, hostStep(func(*workflow.StepContext) (*workflow.Outcome, error) { return nil, nil }), hostPlan("h", ""))
	run, err := b.ctl.Start(t.Context(), b.ws, nil)
	require.NoError(t, err)
	_, err = run.Wait(t.Context())
	require.NoError(t, err)
	events := run.Events(t.Context(), workflow.FromStart)
	var counts [2]int
	for i := range counts {
		for range events {
			counts[i]++
		}
	}
	assert.Equal(t, counts[0], counts[1])
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		_, err := run.Wait(ended)
		require.NoError(t, err)
	}
}

func TestAJournalOfAnotherRunIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, hostStep(func(*workflow.StepContext) (*workflow.Outcome, error) { return nil, errors.New("down") }), hostPlan("h", ""))
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.Error(t, err)
	b.write(t, "runs/iteration-2/journal.jsonl", b.read(t, "runs/iteration-1/journal.jsonl"))
	_, err = b.ctl.Run(t.Context(), b.ws, resume("iteration-2"))
	require.ErrorContains(t, err, "it is that of iteration-1")
}

func TestARecordedAttemptCountsAlsoWhenFewerAreAllowedNow(t *testing.T) {
	t.Parallel()
	model := agenttest.New(t, agenttest.Reply("none"), writes("out.txt", "1"),
		agenttest.Turn{Err: errors.New("down")}, agenttest.Reply("ok"))
	config := workflow.Config{Models: agent.Single(model), Toolsets: []agent.Toolset{agenttest.Files()}}
	b := setup(t, config, onePlan)
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.ErrorContains(t, err, "down")
	config.Attempts = 1
	stricter, err := workflow.NewController(config)
	require.NoError(t, err)
	_, err = stricter.Run(t.Context(), b.ws, resume("iteration-1"))
	require.NoError(t, err)
}

func TestVariablesThatAreNoLongerDeclaredDoNotKeepARunFromGoingOn(t *testing.T) {
	t.Parallel()
	fail := true
	b := setup(t, hostStep(func(*workflow.StepContext) (*workflow.Outcome, error) {
		if fail {
			return nil, errors.New("down")
		}
		return nil, nil
	}), hostPlan("h", ""), workspace.VariablesFile, `{"variables":[{"name":"OLD","value":"1"}]}`)
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.Error(t, err)
	fail = false
	b.write(t, workspace.VariablesFile, `{"variables":[]}`)
	_, err = b.ctl.Run(t.Context(), b.ws, resume("iteration-1"))
	require.NoError(t, err)
}

// dyingToolset cannot be closed.
type dyingToolset struct{ agenttest.Toolset }

func (d *dyingToolset) Sharing() agent.Sharing { return agent.SharePerRun }

func (d *dyingToolset) Open(ctx context.Context, scope agent.Scope) (agent.ToolSession, error) {
	session, err := d.Toolset.Open(ctx, scope)
	return dyingSession{session}, err
}

type dyingSession struct{ agent.ToolSession }

func (d dyingSession) Close() error { return errors.New("the server has crashed") }

func TestAServerThatCrashesAtTheEndFailsNothing(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	b := setup(t, workflow.Config{
		Models: agent.Single(agenttest.New(t, agenttest.Reply("ok"))), Toolsets: []agent.Toolset{&dyingToolset{agenttest.Toolset{ID: "dying"}}},
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	}, barePlan)
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.NoError(t, err)
	assert.Contains(t, log.String(), "the server has crashed")
}

func TestSecretsOfAHostsStepStayHiddenAndUsable(t *testing.T) {
	t.Parallel()
	const secret = "-----BEGIN KEY-----\nxyzzy\"plugh\n-----END KEY-----"
	var seen []string
	fail := true
	model := agenttest.New(t, agenttest.Reply("ok"))
	var log strings.Builder
	config := hostStep(func(sc *workflow.StepContext) (*workflow.Outcome, error) {
		seen = append(seen, sc.Variables()["KEY"])
		if fail {
			panic("cannot use " + sc.Variables()["KEY"])
		}
		result, err := json.Marshal("used " + sc.Variables()["KEY"])
		return &workflow.Outcome{Result: result}, err
	})
	config.Models, config.Secrets = agent.Single(model), map[string]string{"KEY": secret}
	config.Logger = slog.New(slog.NewJSONHandler(&log, nil))
	variables, err := json.Marshal(map[string]any{"variables": []any{map[string]string{"name": "KEY", "value": secret}}})
	require.NoError(t, err)
	b := setup(t, config, `{"steps":[{"id":"h","type":"h"},{"id":"tell","type":"regular","description":"Tell."}]}`,
		workspace.VariablesFile, string(variables))
	_, err = b.ctl.Run(t.Context(), b.ws, nil)
	require.Error(t, err)
	var where *workflow.RunError
	require.ErrorAs(t, err, &where)
	assert.NotContains(t, where.Error(), "xyzzy")
	fail = false
	_, err = b.ctl.Run(t.Context(), b.ws, resume("iteration-1"))
	require.NoError(t, err)
	assert.Equal(t, []string{secret, secret}, seen)
	assert.NotContains(t, model.Requests()[0].Messages[1].ContentText(), "xyzzy")
	assert.NotContains(t, log.String(), "xyzzy")
	for name, content := range filesBelow(t, b.ws.Storage(), workspace.RunsDir) {
		assert.NotContains(t, content, "xyzzy", name)
	}
}

func TestConfigurationsThatCannotWorkAreRefused(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]workflow.Config{
		"a nil step type":                         {StepTypes: []*workflow.StepType{nil}},
		"a nil toolset":                           {Toolsets: []agent.Toolset{nil}},
		"two toolsets of name":                    {Toolsets: []agent.Toolset{agenttest.Files(), agenttest.Files()}},
		"a secret that is a word of every record": {Secrets: map[string]string{"DB_USER": "user"}},
	} {
		_, err := workflow.NewController(config)
		require.Error(t, err, name)
	}
	_, ds := workflow.Compile(nil, nil)
	require.Error(t, ds.Err())
	ctl, err := workflow.NewController(workflow.Config{})
	require.NoError(t, err)
	_, err = ctl.Run(t.Context(), nil, nil)
	require.Error(t, err)
}
