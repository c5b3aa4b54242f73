package validation_test

import (
	"encoding/json"
	"testing"

	"github.com/treadle-dev/treadle/validation"
)

// A plan of 10,000 steps is decoded and compiled in 100 ms as a whole, of which
// its schemas are a part.
func BenchmarkDecodeAndCompile(b *testing.B) {
	text := []byte(invoiceSchema)
	b.ReportAllocs()
	for b.Loop() {
		var schema validation.Schema
		if err := json.Unmarshal(text, &schema); err != nil {
			b.Fatal(err)
		}
		if _, found := schema.Compile("planning/plan.json", ""); found.HasErrors() {
			b.Fatal(found)
		}
	}
}
