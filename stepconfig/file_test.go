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
