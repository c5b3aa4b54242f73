package treadle_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the code in README.md and doc.go anew from the examples")

// snippet is code in a text for people that is kept equal to a compiled example.
type snippet struct {
	file        string
	begin, end  string // the lines around the code
	want        string
	description string
}

// TestREADMEShowsTheCompiledHost compares the host in the README with
// example_host_test.go, which the compiler reads; only the package and the name of the
// function differ.
func TestREADMEShowsTheCompiledHost(t *testing.T) {
	t.Parallel()
	code := strings.NewReplacer(
		"package treadle_test\n", "package main\n",
		"func Example_host() {", "func main() {",
	).Replace(read(t, "example_host_test.go"))
	compare(t, snippet{
		file: "README.md", begin: "```go\npackage main\n", end: "```\n",
		want: strings.TrimPrefix(code, "package main\n"), description: "example_host_test.go",
	})
}

// TestPackageDocumentationShowsTheCompiledExample compares the example in doc.go with
// the body of Example, whose output is checked.
func TestPackageDocumentationShowsTheCompiledExample(t *testing.T) {
	t.Parallel()
	_, body, found := strings.Cut(read(t, "example_test.go"), "func Example() {\n")
	require.True(t, found)
	body, _, found = strings.Cut(body, "\t// Output:\n")
	require.True(t, found)
	var comment strings.Builder
	for line := range strings.Lines(body) {
		if strings.TrimSpace(line) == "" {
			comment.WriteString("//\n")
			continue
		}
		comment.WriteString("//" + line)
	}
	compare(t, snippet{
		file: "doc.go", begin: "and the second attempt mends it.\n//\n", end: "//\n// On a disk",
		want: comment.String(), description: "Example in example_test.go",
	})
}

func compare(t *testing.T, s snippet) {
	t.Helper()
	text := read(t, s.file)
	head, rest, found := strings.Cut(text, s.begin)
	require.True(t, found, "%s has no line %q", s.file, s.begin)
	code, tail, found := strings.Cut(rest, s.end)
	require.True(t, found, "%s has no end of its code", s.file)
	if *update && code != s.want {
		require.NoError(t, os.WriteFile(s.file, []byte(head+s.begin+s.want+s.end+tail), 0o644))
		return
	}
	assert.Equal(t, s.want, code, "%s differs from %s; run go test . -run 'README|PackageDocumentation' -update", s.file, s.description)
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(data)
}
