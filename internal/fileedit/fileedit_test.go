package fileedit_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/internal/fileedit"
	"github.com/treadle-dev/treadle/workspace"
)

func TestALockIsWaitedForAndGivenUpAfterTheWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := workspace.NewMem()
		first, err := fileedit.Lock(t.Context(), st, "f.lock", "which edits the file", time.Second)
		require.NoError(t, err)
		began := time.Now()
		_, err = fileedit.Lock(t.Context(), st, "f.lock", "which waits", time.Second)
		require.ErrorIs(t, err, workspace.ErrHeld)
		require.ErrorContains(t, err, "which edits the file")
		assert.GreaterOrEqual(t, time.Since(began), time.Second)
		time.AfterFunc(time.Second, func() { assert.NoError(t, first.Unlock()) })
		second, err := fileedit.Lock(t.Context(), st, "f.lock", "which waits", 3*time.Second)
		require.NoError(t, err)
		require.NoError(t, second.Unlock())
	})
}

func TestTheWaitEndsWithTheContext(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	_, err := fileedit.Lock(t.Context(), st, "f.lock", "which edits", time.Second)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = fileedit.Lock(ctx, st, "f.lock", "which waits", time.Hour)
	require.ErrorIs(t, err, context.Canceled)
}

// nameless is a storage whose errors do not say which file.
type nameless struct{ workspace.Storage }

func (nameless) ReadFile(context.Context, string) ([]byte, error) { return nil, errors.New("down") }

func TestAbsentAndEmptyAreTwoThingsAndAnErrorNamesTheFileOnce(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	data, err := fileedit.ReadIfExists(t.Context(), st, "f")
	require.NoError(t, err)
	assert.Nil(t, data)
	require.NoError(t, st.WriteFile(t.Context(), "f", nil, workspace.Lazy))
	require.NoError(t, st.WriteFile(t.Context(), "d/f", nil, workspace.Lazy))
	data, err = fileedit.ReadIfExists(t.Context(), st, "f")
	require.NoError(t, err)
	assert.NotNil(t, data)
	assert.Empty(t, data)
	_, err = fileedit.ReadIfExists(t.Context(), st, "d")
	require.EqualError(t, err, "read d: is a folder")
	_, err = fileedit.ReadIfExists(t.Context(), nameless{st}, "f")
	require.EqualError(t, err, "read f: down")
}
