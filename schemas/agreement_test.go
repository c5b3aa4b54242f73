package schemas

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/internal/nodetest"
	"github.com/treadle-dev/treadle/workspace"
)

// How many documents of all formats together are compared, here and by ajv. TREADLE_SOAK=1
// asks for all that the library promises.
func documentCount() (here, ajv int) {
	if os.Getenv("TREADLE_SOAK") == "1" {
		return 10_000, 10_000
	}
	return 1_200, 300
}

// sample is one generated document with what its decoder says.
type sample struct {
	format string
	text   []byte
	faults workspace.Diagnostics
}

func samples(t *testing.T, n int) []sample {
	t.Helper()
	decoders := decoders()
	formats := slices.Sorted(maps.Keys(decoders))
	all := make([]sample, n)
	for i := range all {
		format := formats[i%len(formats)]
		text := generated(t, format, uint64(i))
		all[i] = sample{format, text, faults(decoders[format](t, text))}
	}
	return all
}

// report tells of the documents that decoder and schema do not agree on, the shortest
// first.
func report(t *testing.T, differing []sample) {
	t.Helper()
	slices.SortStableFunc(differing, func(a, b sample) int { return len(a.text) - len(b.text) })
	for i, s := range differing {
		if i == 12 {
			t.Errorf("and %d more", len(differing)-i)
			return
		}
		if len(s.faults) == 0 {
			t.Errorf("%s: only the schema refuses %s", s.format, s.text)
			continue
		}
		t.Errorf("%s: the schema takes %s\n%s", s.format, s.text, s.faults[0])
	}
}

func TestDecodersAndSchemasAgreeOnEveryStructuralFault(t *testing.T) {
	t.Parallel()
	schemas := compiled(t, documents(t))
	n, _ := documentCount()
	all := samples(t, n)
	var differing []sample
	refused := map[string]int{}
	for _, s := range all {
		taken := taken(t, schemas[s.format], s.text)
		if taken != (len(s.faults) == 0) {
			differing = append(differing, s)
		}
		if !taken {
			refused[s.format]++
		}
	}
	report(t, differing)
	t.Logf("%d documents, refused by format: %v", n, refused)
	for format := range decoders() {
		share := refused[format] * len(decoders()) * 100 / n
		assert.True(t, share > 10 && share < 90, "%s: %d%% of the documents have a fault, which tests one side only", format, share)
	}
}

func TestAjvAgreesWithTheDecoders(t *testing.T) {
	t.Parallel()
	_, n := documentCount()
	var schemas []json.RawMessage
	ids := map[string]string{}
	for _, d := range documents(t) {
		schemas, ids[d.Name] = append(schemas, d.JSON()), d.ID()
	}
	all := samples(t, n)
	questions := make([]nodetest.Question, n)
	for i, s := range all {
		questions[i] = nodetest.Question{ID: ids[s.format], Document: s.text}
	}
	var differing []sample
	for i, taken := range nodetest.Ajv(t, schemas, questions) {
		if taken != (len(all[i].faults) == 0) {
			differing = append(differing, all[i])
		}
	}
	report(t, differing)
}

func taken(t *testing.T, schema *jsonschema.Schema, text []byte) bool {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	return schema.Validate(document) == nil
}
