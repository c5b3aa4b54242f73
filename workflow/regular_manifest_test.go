package workflow

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/manifest"
)

func TestEveryBuiltInStepTypeHasAValidManifestOfItsName(t *testing.T) {
	t.Parallel()
	for _, typ := range builtinTypes() {
		require.NotNil(t, typ.Manifest, typ.Name)
		assert.Equal(t, typ.Name, typ.Manifest.Type)
		assert.NoError(t, typ.Manifest.Validate())
	}
}

func TestTheManifestOfARegularStepNamesEverySettingThatOneHas(t *testing.T) {
	t.Parallel()
	keys := keysOf(reflect.TypeFor[RegularStep]())
	for _, fixed := range []string{"id", "type", "shared_with"} { // what the step is, and to whom
		require.True(t, keys[fixed])
		delete(keys, fixed)
	}
	var settings []string
	for _, s := range regularManifest().Settings {
		settings = append(settings, s.Key)
		assert.NotEmpty(t, s.Tip, s.Key)
	}
	assert.ElementsMatch(t, slices.Collect(maps.Keys(keys)), settings)
}

func TestTheSentenceOfARegularStepSumsItUp(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "Add the invoices up, with a.json and b.json, into sum.json, then goes to end", regularManifest().Describe(map[string]any{
		"description": "Add the invoices up. Round to cents.", "context_dependencies": []any{"a.json", "b.json"},
		"context_output": "sum.json", "next_step_id": "end",
	}, manifest.Host{}))
	assert.Empty(t, regularManifest().Describe(map[string]any{}, manifest.Host{}))
}
