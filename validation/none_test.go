package validation_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/validation"
)

func TestNoneSaysThatNothingIsChecked(t *testing.T) {
	t.Parallel()
	for _, schema := range []*validation.Schema{decode(t, `"none"`), decode(t, ` "none" `), validation.None()} {
		require.True(t, schema.IsNone())
		checker, found := schema.Compile("f", "")
		assert.Empty(t, found)
		assert.Nil(t, checker)
		written, err := json.Marshal(schema)
		require.NoError(t, err)
		assert.Equal(t, `"none"`, string(written))
	}
}

func TestWhatIsAbsentOrEmptyDoesNotSayNone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`null`, `{}`, `{"files":[]}`, `"None"`, `""`, `["none"]`, `false`} {
		assert.False(t, decode(t, text).IsNone(), text)
	}
}
