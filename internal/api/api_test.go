package api_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the listings anew")

const (
	root   = "../.."
	advice = "the public API has changed; run go test ./internal/api -update, and tell it in CHANGELOG.md"
)

func TestListingsMatchTheCode(t *testing.T) {
	t.Parallel()
	packages, err := publicPackages(root)
	require.NoError(t, err)
	listed := map[string]bool{}
	for _, pkg := range packages {
		want, err := listing(root, pkg)
		require.NoError(t, err, pkg)
		if want == nil {
			continue
		}
		file := listingFile(pkg)
		listed[file] = true
		if *update {
			require.NoError(t, os.WriteFile(file, want, 0o644))
		}
		got, err := os.ReadFile(file)
		require.NoError(t, err, advice)
		if string(want) != string(got) {
			t.Errorf("%s: %s\n%s", file, advice, changes(string(got), string(want)))
		}
	}
	require.Contains(t, listed, "workspace.txt", "the packages of the module were not found")

	files, err := filepath.Glob("*.txt")
	require.NoError(t, err)
	for _, file := range files {
		if listed[file] {
			continue
		}
		if *update {
			require.NoError(t, os.Remove(file))
			continue
		}
		t.Errorf("%s lists a package that is gone; %s", file, advice)
	}
}

// changes are the lines that only one of two listings has: a diff without its context.
func changes(listed, found string) string {
	count := map[string]int{}
	for line := range strings.Lines(listed) {
		count[line]++
	}
	var b strings.Builder
	for line := range strings.Lines(found) {
		if count[line]--; count[line] < 0 {
			b.WriteString("+ " + line)
		}
	}
	for line := range strings.Lines(listed) {
		if count[line] > 0 {
			count[line]--
			b.WriteString("- " + line)
		}
	}
	return b.String()
}

func TestChangesNameTheLinesThatDiffer(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "+ func C()\n- func A()\n", changes("func A()\nfunc B()\n\n", "func B()\nfunc C()\n\n"))
}

func listingFile(pkg string) string {
	if pkg == "." {
		return "treadle.txt"
	}
	return strings.ReplaceAll(pkg, "/", ".") + ".txt"
}

// TestListingShowsWhatIsExported keeps an example of every kind of declaration.
func TestListingShowsWhatIsExported(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write := func(name, code string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(code), 0o644))
	}
	write("a.go", `// Package sample is prose.
package sample

const hidden = 1

// Limit is prose.
const Limit = 3

var ErrX = error(nil)

// T is prose.
type T struct {
	A int // prose
	b int
}

func (t *T) Do(n int) (int, error) { return helper(n), nil }

func (t *T) hide() {}

func NewT() *T { return nil }

type Kind string

const KindA Kind = "a"

type Port interface {
	Call(name string) error
	secret()
}

func Map[K comparable, V any](m map[K]V) []K { return nil }

func helper(n int) int { return n }
`)
	write("b_windows.go", "package sample\n\nfunc OnWindows() {}\n")
	write("a_test.go", "package sample\n\nfunc InTests() {}\n")
	got, err := listing(folder, ".")
	require.NoError(t, err)
	assert.Equal(t, `package sample // import "github.com/treadle-dev/treadle"

CONSTANTS

const Limit = 3

VARIABLES

var ErrX = error(nil)

FUNCTIONS

func Map[K comparable, V any](m map[K]V) []K

TYPES

type Kind string

const KindA Kind = "a"

type Port interface {
	Call(name string) error
	// contains filtered or unexported methods
}

type T struct {
	A int
	// contains filtered or unexported fields
}

func NewT() *T

func (t *T) Do(n int) (int, error)
`, string(got))
}

func TestAProgramHasNoListing(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "main.go"), []byte("package main\n\nfunc main() {}\n"), 0o644))
	got, err := listing(folder, ".")
	require.NoError(t, err)
	assert.Nil(t, got)
}
