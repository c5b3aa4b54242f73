package workspacetest_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/workspace"
	"github.com/treadle-dev/treadle/workspace/workspacetest"
)

var errDisk = errors.New("disk on fire")

// change appends "one", then "two", writes, renames, truncates and removes, and
// stops at the first error: six changes.
func change(t *testing.T, st workspace.Storage) error {
	ctx := t.Context()
	for _, step := range []func() error{
		func() error { return st.AppendAt(ctx, "log", 0, []byte("one.")) },
		func() error { return st.AppendAt(ctx, "log", 4, []byte("two.")) },
		func() error { return st.WriteFile(ctx, "a/file", []byte("file"), workspace.Durable) },
		func() error { return st.Rename(ctx, "a", "b") },
		func() error { return st.Truncate(ctx, "log", 2) },
		func() error { return st.Remove(ctx, "b") },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// state is the content of the three names that change uses, "-" where missing.
func state(t *testing.T, st workspace.Storage) string {
	text := ""
	for _, name := range []string{"log", "a/file", "b/file"} {
		data, err := st.ReadFile(t.Context(), name)
		if err != nil {
			data = []byte("-")
		}
		text += string(data) + " "
	}
	return text
}

// afterChange is the state after so many of the changes.
var afterChange = []string{"- - - ", "one. - - ", "one.two. - - ", "one.two. file - ", "one.two. - file ", "on - file ", "on - - "}

func TestAZeroFaultOnlyCounts(t *testing.T) {
	t.Parallel()
	faulty := workspacetest.NewFaulty(workspace.NewMem(), workspacetest.Fault{})
	require.NoError(t, change(t, faulty.Storage()))
	assert.Equal(t, 6, faulty.Changes())
	_, struck := faulty.Struck()
	assert.False(t, struck)
	assert.False(t, faulty.Stopped())
}

func TestAFaultStrikesOnceOnTheSideThatItNames(t *testing.T) {
	t.Parallel()
	for at := 1; at <= 6; at++ {
		for _, when := range []workspacetest.When{workspacetest.Before, workspacetest.After, workspacetest.Torn} {
			for _, stop := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d %v stop=%v", at, when, stop), func(t *testing.T) {
					t.Parallel()
					mem := workspace.NewMem()
					fault := workspacetest.Fault{At: at, When: when, Stop: stop, Err: errDisk}
					faulty := workspacetest.NewFaulty(mem, fault)
					err := change(t, faulty.Storage())
					if stop {
						require.ErrorIs(t, err, workspacetest.ErrStopped)
						_, err = faulty.Storage().Stat(t.Context(), ".")
						require.ErrorIs(t, err, workspacetest.ErrStopped, "reads stop too")
					} else {
						require.ErrorIs(t, err, errDisk)
						require.NoError(t, faulty.Storage().WriteFile(t.Context(), "later", nil, workspace.Lazy))
					}
					assert.Equal(t, stop, faulty.Stopped())
					_, struck := faulty.Struck()
					assert.True(t, struck)
					want := afterChange[at-1]
					switch {
					case when == workspacetest.After:
						want = afterChange[at]
					case when == workspacetest.Torn && at == 1:
						want = "on - - "
					case when == workspacetest.Torn && at == 2:
						want = "one.tw - - "
					}
					assert.Equal(t, want, state(t, mem))
				})
			}
		}
	}
}

func TestAFaultTearsWhereItIsTold(t *testing.T) {
	t.Parallel()
	mem := workspace.NewMem()
	faulty := workspacetest.NewFaulty(mem, workspacetest.Fault{At: 2, When: workspacetest.Torn, TornBytes: 3})
	require.ErrorIs(t, change(t, faulty.Storage()), workspacetest.ErrInjected)
	assert.Equal(t, "one.two - - ", state(t, mem))
}

func TestAHookSeesTheOperationAndMayUseTheStorage(t *testing.T) {
	t.Parallel()
	for _, when := range []workspacetest.When{workspacetest.Before, workspacetest.After} {
		var seen []workspacetest.Operation
		var found string
		mem := workspace.NewMem()
		var faulty *workspacetest.Faulty
		faulty = workspacetest.NewFaulty(mem, workspacetest.Fault{At: 2, When: when, Hook: func(op workspacetest.Operation) {
			seen = append(seen, op)
			found = state(t, faulty.Storage())
		}})
		require.NoError(t, change(t, faulty.Storage()), "without an error the operation goes on")
		require.Equal(t, []workspacetest.Operation{{Kind: workspacetest.AppendAt, Name: "log", Offset: 4, Data: []byte("two.")}}, seen)
		assert.Equal(t, afterChange[1+int(when)], found)
		assert.Equal(t, afterChange[6], state(t, mem))
	}
}

func TestTheLocksOfAStoppedProcessAreFree(t *testing.T) {
	t.Parallel()
	mem := workspace.NewMem()
	faulty := workspacetest.NewFaulty(mem, workspacetest.Fault{At: 1, Stop: true})
	lock, err := faulty.Storage().TryLock(t.Context(), "lock", "the dead")
	require.NoError(t, err)
	released, err := faulty.Storage().TryLock(t.Context(), "other", "the dead")
	require.NoError(t, err)
	require.NoError(t, released.Unlock())
	_, err = mem.TryLock(t.Context(), "lock", "the living")
	require.ErrorIs(t, err, workspace.ErrHeld)
	require.ErrorIs(t, change(t, faulty.Storage()), workspacetest.ErrStopped)
	_, err = mem.TryLock(t.Context(), "lock", "the living")
	require.NoError(t, err)
	require.ErrorIs(t, lock.Unlock(), workspacetest.ErrStopped)
	_, err = mem.TryLock(t.Context(), "lock", "another")
	require.ErrorIs(t, err, workspace.ErrHeld, "the dead took nothing from the living")
}

func TestCountingTellsOperationsAndSyncs(t *testing.T) {
	t.Parallel()
	counting := workspacetest.NewCounting(workspace.NewMem())
	st := counting.Storage()
	require.NoError(t, change(t, st))
	require.NoError(t, st.WriteFile(t.Context(), "lazy", nil, workspace.Lazy))
	require.Error(t, st.AppendAt(t.Context(), "log", 99, nil), "a conflict is no sync")
	_, err := st.ReadFile(t.Context(), "log")
	require.NoError(t, err)
	assert.Equal(t, 3, counting.Count(workspacetest.AppendAt))
	assert.Equal(t, 3, counting.CountOf(workspacetest.AppendAt, "log"))
	assert.Equal(t, 2, counting.Count(workspacetest.WriteFile))
	assert.Equal(t, 1, counting.Count(workspacetest.ReadFile))
	assert.Equal(t, 1, counting.CountOf(workspacetest.Rename, "a"))
	assert.Equal(t, 8, counting.Changes())
	assert.Equal(t, 4, counting.Syncs(), "two appends, a truncate, a durable write")
	assert.Equal(t, 3, counting.SyncsOf("log"))
	counting.Reset()
	assert.Zero(t, counting.Changes()+counting.Syncs())
}

func TestWrappersAreStoragesAndHaveLocalPathsWhereTheInnerOneHas(t *testing.T) {
	t.Parallel()
	wrappers := map[string]func(workspace.Storage) workspace.Storage{
		"Faulty": func(st workspace.Storage) workspace.Storage {
			return workspacetest.NewFaulty(st, workspacetest.Fault{}).Storage()
		},
		"Counting": func(st workspace.Storage) workspace.Storage { return workspacetest.NewCounting(st).Storage() },
	}
	for name, wrap := range wrappers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, local := wrap(workspace.NewMem()).(workspace.LocalStorage)
			assert.False(t, local)
			workspacetest.TestStorage(t, func(t *testing.T) workspace.Storage {
				ws := workspace.New(wrap(openDir(t)))
				t.Cleanup(func() { require.NoError(t, ws.Close(), "closes the inner one") })
				_, local := ws.Storage().(workspace.LocalStorage)
				require.True(t, local)
				return ws.Storage()
			})
		})
	}
}

func openDir(t *testing.T) *workspace.Dir {
	t.Helper()
	dir, err := workspace.NewDir(t.TempDir())
	require.NoError(t, err)
	return dir
}
