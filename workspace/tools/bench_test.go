package tools

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkApply is one hunk with a wrong line number in a file of 10,000 lines.
func BenchmarkApply(b *testing.B) {
	var text strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&text, "line number %d\n", i)
	}
	const patch = "@@ -1,3 +1,3 @@\n line number 9000\n-line number 9001\n+changed\n line number 9002\n"
	for b.Loop() {
		if _, err := apply(text.String(), patch, false); err != nil {
			b.Fatal(err)
		}
	}
}
