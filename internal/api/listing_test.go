package api_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const modulePath = "github.com/treadle-dev/treadle"

// publicPackages are the folders below root, slash-separated, that hold a package which
// others can import.
func publicPackages(root string) ([]string, error) {
	found := map[string]bool{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return enter(name, relative)
		}
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			found[filepath.ToSlash(filepath.Dir(relative))] = true
		}
		return nil
	})
	packages := make([]string, 0, len(found))
	for pkg := range found {
		packages = append(packages, pkg)
	}
	slices.Sort(packages)
	return packages, err
}

// enter passes over what is not part of the module or cannot be imported from outside.
func enter(name, relative string) error {
	base := filepath.Base(name)
	switch {
	case relative == ".":
		return nil
	case base == "internal", base == "testdata", base == "node_modules", strings.HasPrefix(base, "."), strings.HasPrefix(base, "_"):
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil {
		return filepath.SkipDir
	}
	return nil
}

// listing renders the API of one package; nil for a program.
func listing(root, pkg string) ([]byte, error) {
	positions := token.NewFileSet()
	files, err := parse(positions, filepath.Join(root, filepath.FromSlash(pkg)))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 || files[0].Name.Name == "main" {
		return nil, nil
	}
	importPath := modulePath
	if pkg != "." {
		importPath += "/" + pkg
	}
	described, err := doc.NewFromFiles(positions, files, importPath)
	if err != nil {
		return nil, err
	}
	l := &lister{positions: positions}
	fmt.Fprintf(&l.text, "package %s // import %q\n", described.Name, importPath)
	l.section("CONSTANTS", func() { l.values(described.Consts) })
	l.section("VARIABLES", func() { l.values(described.Vars) })
	l.section("FUNCTIONS", func() { l.functions(described.Funcs) })
	l.section("TYPES", func() {
		for _, t := range described.Types {
			l.declaration(t.Decl)
			l.values(t.Consts)
			l.values(t.Vars)
			l.functions(t.Funcs)
			l.functions(t.Methods)
		}
	})
	return l.text.Bytes(), l.err
}

// parse reads a package as Linux on amd64 builds it, without its comments.
func parse(positions *token.FileSet, folder string) ([]*ast.File, error) {
	target := build.Default
	target.GOOS, target.GOARCH = "linux", "amd64"
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, e := range entries {
		if e.IsDir() || !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		built, err := target.MatchFile(folder, e.Name())
		if err != nil {
			return nil, err
		}
		if !built {
			continue
		}
		file, err := parser.ParseFile(positions, filepath.Join(folder, e.Name()), nil, 0)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

type lister struct {
	positions *token.FileSet
	text      bytes.Buffer
	err       error
}

// section writes a heading and what fill writes, or nothing when fill writes nothing.
func (l *lister) section(heading string, fill func()) {
	before := l.text.Len()
	l.text.WriteString("\n" + heading + "\n")
	empty := l.text.Len()
	if fill(); l.text.Len() == empty {
		l.text.Truncate(before)
	}
}

func (l *lister) values(values []*doc.Value) {
	for _, v := range values {
		l.declaration(v.Decl)
	}
}

func (l *lister) functions(functions []*doc.Func) {
	for _, f := range functions {
		f.Decl.Body = nil
		l.declaration(f.Decl)
	}
}

func (l *lister) declaration(decl ast.Decl) {
	if l.err != nil {
		return
	}
	l.text.WriteString("\n")
	config := printer.Config{Mode: printer.UseSpaces | printer.TabIndent, Tabwidth: 8}
	l.err = config.Fprint(&l.text, l.positions, decl)
	l.text.WriteString("\n")
}
