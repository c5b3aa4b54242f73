package stepconfig_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/stepconfig"
	"github.com/treadle-dev/treadle/workspace"
)

func setTitle(id, title string) func(*stepconfig.Editor) error {
	return func(e *stepconfig.Editor) error {
		text, err := json.Marshal(title)
		return errors.Join(err, e.Set(id, "/title", text))
	}
}

func TestAnUpdateIsWrittenAndSaysWhatChanged(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	require.NoError(t, st.WriteFile(t.Context(), workspace.StepConfigFile, []byte(threeSteps), workspace.Lazy))
	changes, err := stepconfig.Update(t.Context(), st, workspace.StepConfigFile, setTitle("c", "C"))
	require.NoError(t, err)
	assert.Equal(t, []stepconfig.Change{{Step: "c", Pointer: "/title", After: json.RawMessage(`"C"`)}}, changes)
	file, _, err := stepconfig.Load(t.Context(), st, "")
	require.NoError(t, err)
	assert.Equal(t, "C", file.Step("c").Title)
}

func TestAFileThatIsNotThereIsMadeWhenThereIsSomethingToWrite(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	own := workspace.RunLayout("iteration-1").StepConfig()
	_, err := stepconfig.Update(t.Context(), st, own, func(*stepconfig.Editor) error { return nil })
	require.NoError(t, err)
	name, data, err := stepconfig.Read(t.Context(), st, "iteration-1")
	require.NoError(t, err)
	assert.Equal(t, workspace.StepConfigFile, name)
	assert.Nil(t, data)

	_, err = stepconfig.Update(t.Context(), st, own, func(e *stepconfig.Editor) error {
		return e.Add(&stepconfig.StepConfig{ID: "a"})
	})
	require.NoError(t, err)
	name, data, err = stepconfig.Read(t.Context(), st, "iteration-1")
	require.NoError(t, err)
	assert.Equal(t, own, name)
	assert.Equal(t, "{\n  \"steps\": [\n    {\n      \"id\": \"a\"\n    }\n  ]\n}\n", string(data))
}

func TestARefusedUpdateLeavesTheFileUntouched(t *testing.T) {
	t.Parallel()
	nothing := func(*stepconfig.Editor) error { return nil }
	for _, tc := range []struct {
		name, text string
		edit       func(*stepconfig.Editor) error
		want       string
	}{
		{"no JSON", `{"steps":[`, nothing, "stepconfig.json.invalid"},
		{"no list", `{"steps":7}`, nothing, "stepconfig.field.type"},
		{"an empty file", ``, nothing, "stepconfig.json.invalid"},
		{"an unknown step", `[{"id":"a"}]`, setTitle("b", "B"), "no such step"},
		{"a fault of the edit", `[{"id":"a"}]`, func(e *stepconfig.Editor) error { return e.Set("a", "/title", json.RawMessage(`7`)) }, "stepconfig.field.type"},
		{"an entry without an id", `[{"id":"a"},{}]`, setTitle("a", "A"), "stepconfig.id.missing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			st := workspace.NewMem()
			require.NoError(t, st.WriteFile(t.Context(), "f.json", []byte(tc.text), workspace.Lazy))
			changes, err := stepconfig.Update(t.Context(), st, "f.json", tc.edit)
			require.ErrorContains(t, err, tc.want)
			assert.Empty(t, changes)
			data, err := st.ReadFile(t.Context(), "f.json")
			require.NoError(t, err)
			assert.Equal(t, tc.text, string(data))
		})
	}
}

func TestUpdatesOfManyAtOnceLoseNothing(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	const writers = 16
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			_, err := stepconfig.Update(t.Context(), st, workspace.StepConfigFile, func(e *stepconfig.Editor) error {
				return e.Add(&stepconfig.StepConfig{ID: fmt.Sprint("step-", i)})
			})
			assert.NoError(t, err)
		})
	}
	all.Wait()
	file, found, err := stepconfig.Load(t.Context(), st, "")
	require.NoError(t, err)
	assert.Empty(t, found)
	assert.Len(t, file.Steps, writers)
}

func TestAnUpdateWaitsForAnotherAsLongAsItSays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := workspace.NewMem()
		lock, err := st.TryLock(t.Context(), workspace.PlanningLock, "somebody")
		require.NoError(t, err)
		start := time.Now()
		_, err = stepconfig.Update(t.Context(), st, workspace.StepConfigFile, setTitle("a", "A"))
		require.ErrorIs(t, err, workspace.ErrHeld)
		require.ErrorContains(t, err, "somebody")
		assert.InDelta(t, stepconfig.UpdateWait.Seconds(), time.Since(start).Seconds(), 0.2)

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = stepconfig.Update(ctx, st, workspace.StepConfigFile, setTitle("a", "A"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, lock.Unlock())
	})
}

func TestAStorageThatFailsLeavesTheOldFileOrTheNewOne(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	require.NoError(t, st.WriteFile(t.Context(), workspace.StepConfigFile, []byte(threeSteps), workspace.Lazy))
	_, err := stepconfig.Update(t.Context(), failing{Storage: st, err: errors.New("disk full")}, workspace.StepConfigFile, setTitle("c", "C"))
	require.ErrorContains(t, err, "write planning/step_config.json: disk full")
	data, err := st.ReadFile(t.Context(), workspace.StepConfigFile)
	require.NoError(t, err)
	assert.Equal(t, threeSteps, string(data))

	_, err = stepconfig.Update(t.Context(), brokenStorage{Storage: st, err: errors.New("on fire")}, workspace.StepConfigFile, setTitle("c", "C"))
	require.ErrorContains(t, err, "on fire")
}

// failing cannot write.
type failing struct {
	workspace.Storage
	err error
}

func (f failing) WriteFile(context.Context, string, []byte, workspace.Sync) error { return f.err }
