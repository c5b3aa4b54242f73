package treadle_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// modulePath is what every import of this module begins with.
const modulePath = "github.com/treadle-dev/treadle"

// sourcePackage is one folder of the module as its files have it, whatever their build
// constraints: an arrow that only Windows draws counts on Linux too.
type sourcePackage struct {
	path    string // relative to the module, "" for the root
	imports map[string]string
	files   []sourceFile // without tests
}

type sourceFile struct {
	name   string // relative to the module
	syntax *ast.File
}

// sources are the packages of the module by path. Nested modules are left out, as the
// go command does.
func sources(t *testing.T) (map[string]*sourcePackage, *token.FileSet) {
	t.Helper()
	packages := map[string]*sourcePackage{}
	positions := token.NewFileSet()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return skipFolder(name)
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		syntax, err := parser.ParseFile(positions, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		return addFile(packages, filepath.ToSlash(name), syntax)
	})
	require.NoError(t, err)
	return packages, positions
}

func skipFolder(name string) error {
	base := filepath.Base(name)
	if name == "." {
		return nil
	}
	if base == "testdata" || base == "node_modules" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return filepath.SkipDir
	}
	switch _, err := os.Stat(filepath.Join(name, "go.mod")); {
	case err == nil:
		return filepath.SkipDir
	case errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		return err
	}
}

func addFile(packages map[string]*sourcePackage, name string, syntax *ast.File) error {
	folder := path.Dir(name)
	if folder == "." {
		folder = ""
	}
	p := packages[folder]
	if p == nil {
		p = &sourcePackage{path: folder, imports: map[string]string{}}
		packages[folder] = p
	}
	p.files = append(p.files, sourceFile{name: name, syntax: syntax})
	for _, spec := range syntax.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return fmt.Errorf("%s: import %s: %w", name, spec.Path.Value, err)
		}
		p.imports[imported] = name
	}
	return nil
}

// own are the packages of this module that p imports, by path, with a file that does.
func (p *sourcePackage) own() map[string]string {
	return p.within(func(imported string) bool { return underPath(imported, modulePath) })
}

// foreign are the packages of other modules that p imports, with a file that does.
func (p *sourcePackage) foreign() map[string]string {
	return p.within(func(imported string) bool {
		first, _, _ := strings.Cut(imported, "/")
		return strings.Contains(first, ".") && !underPath(imported, modulePath)
	})
}

func (p *sourcePackage) within(wanted func(string) bool) map[string]string {
	found := map[string]string{}
	for imported, file := range p.imports {
		if wanted(imported) {
			found[strings.TrimPrefix(strings.TrimPrefix(imported, modulePath), "/")] = file
		}
	}
	return found
}

// underPath reports whether a path is the prefix or below it.
func underPath(name, prefix string) bool {
	return name == prefix || strings.HasPrefix(name, prefix+"/")
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
