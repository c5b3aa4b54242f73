package stepconfig_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/stepconfig"
	"github.com/treadle-dev/treadle/workspace"
)

func TestTheFileOfARunIsUsedWholeInsteadOfTheDefault(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	write := func(name, text string) {
		require.NoError(t, st.WriteFile(t.Context(), name, []byte(text), workspace.Lazy))
	}
	file, found, err := stepconfig.Load(t.Context(), st, "iteration-1")
	require.NoError(t, err)
	require.Empty(t, found)
	require.Empty(t, file.Steps, "no file is no configuration")

	write("planning/step_config.json", `{"steps":[{"id":"a"},{"id":"b"}]}`)
	write("runs/iteration-1/planning/step_config.json", `{"steps":[{"id":"a"}]}`)
	for run, b := range map[string]bool{"": true, "iteration-1": false, "iteration-2": true} {
		file, found, err := stepconfig.Load(t.Context(), st, run)
		require.NoError(t, err)
		require.Empty(t, found)
		assert.NotNil(t, file.Step("a"), run)
		assert.Equal(t, b, file.Step("b") != nil, run)
	}
}

func TestABrokenFileOfARunIsNotReplacedByTheDefault(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	require.NoError(t, st.WriteFile(t.Context(), "planning/step_config.json", []byte(`{"steps":[]}`), workspace.Lazy))
	require.NoError(t, st.WriteFile(t.Context(), "runs/iteration-1/planning/step_config.json", []byte(`{`), workspace.Lazy))
	file, found, err := stepconfig.Load(t.Context(), st, "iteration-1")
	require.NoError(t, err)
	assert.Nil(t, file)
	require.Error(t, found.Err())
	assert.Equal(t, "runs/iteration-1/planning/step_config.json", found[0].File)
}

func TestAFileSaysWhereItWasReadAndWhereItsEntriesStand(t *testing.T) {
	t.Parallel()
	file, _ := stepconfig.Parse("planning/step_config.json", []byte(`{"steps":[{"id":"a"},{"id":"b"}]}`))
	assert.Equal(t, "planning/step_config.json", file.Name())
	assert.Equal(t, "/steps/1", file.Pointer(1))
	file, _ = stepconfig.Parse("f", []byte(`[{"id":"a"},{"id":"b"}]`))
	assert.Equal(t, "/1", file.Pointer(1))
	assert.Empty(t, (*stepconfig.File)(nil).Name())
}

func TestAnEmptyFileIsNotAMissingOne(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	name, data, err := stepconfig.Read(t.Context(), st, "")
	require.NoError(t, err)
	assert.Equal(t, workspace.StepConfigFile, name)
	assert.Nil(t, data)
	require.NoError(t, st.WriteFile(t.Context(), workspace.StepConfigFile, nil, workspace.Lazy))
	_, data, err = stepconfig.Read(t.Context(), st, "")
	require.NoError(t, err)
	assert.NotNil(t, data)
	_, found, err := stepconfig.Load(t.Context(), st, "")
	require.NoError(t, err)
	assert.True(t, found.HasErrors())
}

func TestAStorageThatDoesNotWorkIsAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk on fire")
	_, _, err := stepconfig.Load(t.Context(), brokenStorage{err: broken}, "")
	assert.ErrorIs(t, err, broken)
}

type brokenStorage struct {
	workspace.Storage
	err error
}

func (b brokenStorage) ReadFile(context.Context, string) ([]byte, error) { return nil, b.err }
