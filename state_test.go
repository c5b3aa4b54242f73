package treadle_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Package state, by the rule that the tests below enforce: a package has no init
// function, and its variables are constants that Go cannot write as such. A
// package-level var is allowed when it is
//
//   - blank (a check that a type implements an interface),
//   - filled by go:embed,
//   - made by one of the calls of immutable, or
//   - a table or another literal,
//
// and when nothing in the package writes to it: no assignment to it or to a part of it,
// no ++ or --, no delete, clear or copy into it, and no address of it. Under the roof a
// table may also be made by a function of its own package. Test files are free.

// immutable are the calls whose results nobody changes afterwards.
var immutable = map[string]bool{
	"errors.New":          true,
	"fmt.Errorf":          true,
	"regexp.MustCompile":  true,
	"crc32.MakeTable":     true,
	"template.Must":       true,
	"strings.NewReplacer": true,
}

// takesOverEarly is the one package with an init function: the sandbox's helper process
// is the host's own executable, and must be recognised before the host's main runs.
const takesOverEarly = "internal/sandbox/helper"

// stateOf reports every init function and every variable that is not a constant.
func stateOf(pkg string, files []sourceFile, positions *token.FileSet) []string {
	var found []string
	report := func(at token.Pos, format string, args ...any) {
		found = append(found, fmt.Sprintf("%s: %s", positions.Position(at), fmt.Sprintf(format, args...)))
	}
	constants := map[string]bool{}
	for _, file := range files {
		for _, decl := range file.syntax.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv == nil && decl.Name.Name == "init" && pkg != takesOverEarly {
					report(decl.Pos(), "init functions are not used here; do it in a constructor")
				}
			case *ast.GenDecl:
				for name, problem := range variables(decl, underPath(pkg, "examples") || underPath(pkg, "cmd")) {
					if constants[name.Name] = name.Name != "_"; problem != "" {
						report(name.Pos(), "package-level var %s %s", name.Name, problem)
					}
				}
			}
		}
	}
	for _, file := range files {
		for _, decl := range file.syntax.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok {
				for name, how := range writes(fn, constants) {
					report(name.Pos(), "package-level var %s is %s; package state is not used here", name.Name, how)
				}
			}
		}
	}
	return found
}

// variables yields the variables of a declaration, each with what is wrong with it.
func variables(decl *ast.GenDecl, roof bool) func(func(*ast.Ident, string) bool) {
	return func(yield func(*ast.Ident, string) bool) {
		if decl.Tok != token.VAR {
			return
		}
		for _, spec := range decl.Specs {
			spec := spec.(*ast.ValueSpec)
			embedded := isEmbedded(decl.Doc) || isEmbedded(spec.Doc)
			for i, name := range spec.Names {
				problem := ""
				switch {
				case name.Name == "_" || embedded:
				case i >= len(spec.Values):
					problem = "has no value, so it is only useful when somebody writes to it"
				default:
					problem = valueProblem(spec.Values[i], roof)
				}
				if !yield(name, problem) {
					return
				}
			}
		}
	}
}

func isEmbedded(doc *ast.CommentGroup) bool {
	if doc == nil {
		return false
	}
	for _, c := range doc.List {
		if strings.HasPrefix(c.Text, "//go:embed ") {
			return true
		}
	}
	return false
}

func valueProblem(value ast.Expr, roof bool) string {
	switch value := ast.Unparen(value).(type) {
	case *ast.CallExpr:
		name := calledName(value.Fun)
		switch {
		case immutable[name], isConversion(value.Fun):
			return ""
		case roof && !strings.Contains(name, "."):
			return ""
		}
		return "is made by a call of " + name + ", which state_test.go does not know as immutable"
	case *ast.CompositeLit:
		if name := calledName(value.Type); strings.HasPrefix(name, "sync.") || strings.HasPrefix(name, "atomic.") {
			return "is a " + name + ", which exists to be changed"
		}
		return ""
	case *ast.UnaryExpr:
		if value.Op == token.AND {
			return "is a pointer to something that can be changed"
		}
		return ""
	case *ast.SelectorExpr:
		return "can be replaced by something else; pass " + calledName(value) + " in"
	}
	return ""
}

// isConversion knows []byte("x") and map[K]V(nil). A conversion to a named type looks
// like a call and is treated as one.
func isConversion(fun ast.Expr) bool {
	switch ast.Unparen(fun).(type) {
	case *ast.ArrayType, *ast.MapType, *ast.StarExpr:
		return true
	}
	return false
}

func calledName(fun ast.Expr) string {
	switch fun := ast.Unparen(fun).(type) {
	case *ast.Ident:
		return fun.Name
	case *ast.SelectorExpr:
		return calledName(fun.X) + "." + fun.Sel.Name
	case *ast.IndexExpr:
		return calledName(fun.X)
	}
	return "an expression"
}

// writes yields the names of package-level variables that a function writes to. A name
// that the function also declares for itself is taken to be its own.
func writes(fn *ast.FuncDecl, constants map[string]bool) map[*ast.Ident]string {
	found := map[*ast.Ident]string{}
	locals := declared(fn)
	note := func(target ast.Expr, how string) {
		if name := rootName(target); name != nil && constants[name.Name] && !locals[name.Name] {
			found[name] = how
		}
	}
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, target := range n.Lhs {
					note(target, "assigned to")
				}
			}
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				note(n.Key, "assigned to")
				note(n.Value, "assigned to")
			}
		case *ast.IncDecStmt:
			note(n.X, "counted")
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				note(n.X, "given away by its address")
			}
		case *ast.CallExpr:
			if name, ok := n.Fun.(*ast.Ident); ok && len(n.Args) > 0 && (name.Name == "delete" || name.Name == "clear" || name.Name == "copy") {
				note(n.Args[0], "changed by "+name.Name)
			}
		}
		return true
	})
	return found
}

// declared are the names of a function's receiver, parameters, results and variables.
func declared(fn *ast.FuncDecl) map[string]bool {
	names := map[string]bool{}
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, name := range n.Names {
				names[name.Name] = true
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, target := range n.Lhs {
					if name, ok := target.(*ast.Ident); ok {
						names[name.Name] = true
					}
				}
			}
		case *ast.RangeStmt:
			for _, target := range []ast.Expr{n.Key, n.Value} {
				if name, ok := target.(*ast.Ident); ok && n.Tok == token.DEFINE {
					names[name.Name] = true
				}
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				names[name.Name] = true
			}
		}
		return true
	})
	return names
}

// rootName is x of x, x.f, x[i], x[i:j], *x and their combinations.
func rootName(target ast.Expr) *ast.Ident {
	for {
		switch t := target.(type) {
		case *ast.Ident:
			return t
		case *ast.SelectorExpr:
			target = t.X
		case *ast.IndexExpr:
			target = t.X
		case *ast.SliceExpr:
			target = t.X
		case *ast.StarExpr:
			target = t.X
		case *ast.ParenExpr:
			target = t.X
		default:
			return nil
		}
	}
}

// TestPackagesHaveNoState reads the declarations of every package of the module.
func TestPackagesHaveNoState(t *testing.T) {
	t.Parallel()
	packages, positions := sources(t)
	for _, name := range sortedKeys(packages) {
		for _, problem := range stateOf(name, packages[name].files, positions) {
			t.Error(problem)
		}
	}
}

// TestPackageStateIsRefused shows that the test above can fail.
func TestPackageStateIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ code, why string }{
		{`func init() {}`, "init functions"},
		{`var count int`, "has no value"},
		{`var mu sync.Mutex`, "has no value"},
		{`var mu = sync.Mutex{}`, "exists to be changed"},
		{`var flag = &atomic.Bool{}`, "pointer to something"},
		{`var pool = newPool()`, "call of newPool"},
		{`var client = http.DefaultClient`, "pass http.DefaultClient in"},
		{`var now = time.Now`, "pass time.Now in"},
		{`var cache = map[string]int{}; func f() { cache["a"] = 1 }`, "assigned to"},
		{`var list = []int{1}; func f() { list = append(list, 2) }`, "assigned to"},
		{`var list = []int{1}; func f() { list[0]++ }`, "counted"},
		{`var list = []int{1}; func f() { for list[0] = range 3 {} }`, "assigned to"},
		{`var limit = 3; func f() *int { return &limit }`, "given away"},
		{`var cache = map[string]int{"a": 1}; func f() { delete(cache, "a") }`, "changed by delete"},
		{`var limit = 3; func f() { func() { limit = 4 }() }`, "assigned to"},
		{`var limit = T{}; func f() { limit.x.y = 4 }`, "assigned to"},
	} {
		files, positions := parsed(t, c.code)
		found := strings.Join(stateOf("workflow", files, positions), "\n")
		assert.Contains(t, found, c.why, c.code)
	}
	for _, code := range []string{
		`var ErrX = errors.New("x")`,
		`var pattern = regexp.MustCompile("a")`,
		"//go:embed x.txt\nvar text string",
		"var (\n//go:embed prompts\nfiles embed.FS\n)",
		`var _ io.Reader = (*T)(nil)`,
		`var _ = 1; func f() { _ = 2 }`,
		`var table = map[string]int{"a": 1}; func f() int { return table["a"] }`,
		`var list = []int{1}; func f() { list := []int{}; list[0] = 1 }`,
		`var key = []byte("k")`,
		`func f() { var n int; n++ }`,
		`func (T) init() {}`,
	} {
		files, positions := parsed(t, code)
		assert.Empty(t, stateOf("workflow", files, positions), code)
	}
}

func parsed(t *testing.T, code string) ([]sourceFile, *token.FileSet) {
	t.Helper()
	positions := token.NewFileSet()
	syntax, err := parser.ParseFile(positions, "x.go", "package x\n"+code, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	return []sourceFile{{name: "x.go", syntax: syntax}}, positions
}
