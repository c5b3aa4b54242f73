package schemas

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/workflow"
)

func stepTypes(t *testing.T) []*workflow.StepType {
	t.Helper()
	types, err := workflow.StepTypes()
	require.NoError(t, err)
	return types
}

func documents(t *testing.T) []*Document {
	t.Helper()
	all, err := All()
	require.NoError(t, err)
	return all
}

func TestTheFilesBesideThePackageAreItsSchemas(t *testing.T) { //nolint:paralleltest // it comes after that of the comments
	var names []string
	for _, d := range documents(t) {
		names = append(names, d.FileName())
		if *update {
			require.NoError(t, os.WriteFile(d.FileName(), d.JSON(), 0o644))
		}
		have, err := os.ReadFile(d.FileName())
		require.NoError(t, err)
		assert.Equal(t, string(d.JSON()), string(have), "%s is stale; run: go test ./schemas -update", d.FileName())
	}
	files, err := filepath.Glob("*.schema.json")
	require.NoError(t, err)
	slices.Sort(names)
	assert.Equal(t, names, files, "files of formats that there are not")
}

func TestASchemaIsTheSameEachTime(t *testing.T) {
	t.Parallel()
	first := documents(t)
	for range 5 {
		for i, d := range documents(t) {
			assert.Equal(t, string(first[i].JSON()), string(d.JSON()))
		}
	}
}

// compiled are the schemas as santhosh-tekuri reads them, by name.
func compiled(t testing.TB, all []*Document) map[string]*jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	for _, d := range all {
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(d.JSON())))
		require.NoError(t, err)
		require.NoError(t, compiler.AddResource(d.ID(), document), d.Name)
	}
	schemas := map[string]*jsonschema.Schema{}
	for _, d := range all {
		schema, err := compiler.Compile(d.ID())
		require.NoError(t, err, d.Name)
		schemas[d.Name] = schema
	}
	return schemas
}

func TestEverySchemaIsOneOfDraft202012(t *testing.T) {
	t.Parallel()
	for _, d := range documents(t) {
		assert.Equal(t, "https://json-schema.org/draft/2020-12/schema", d.schema.Version)
		assert.NotEmpty(t, d.Title)
	}
	assert.Len(t, compiled(t, documents(t)), len(documents(t)))
}
