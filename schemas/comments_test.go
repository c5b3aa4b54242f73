package schemas

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the files that are made from the sources")

const module = "github.com/treadle-dev/treadle"

// TestTheCommentsAreThoseOfTheSources runs before what uses them when -update is given:
// tests that are not parallel run in the order of their files.
func TestTheCommentsAreThoseOfTheSources(t *testing.T) { //nolint:paralleltest // see above
	have := sourceComments(t)
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	require.NoError(t, encoder.Encode(have))
	if *update {
		require.NoError(t, os.WriteFile("comments.json", text.Bytes(), 0o644))
		commentsFile = text.Bytes()
	}
	assert.Equal(t, text.String(), string(commentsFile), "comments.json is stale; run: go test ./schemas -update")
}

// sourceComments are the comments of all types and fields that schemas are made of.
func sourceComments(t *testing.T) *comments {
	t.Helper()
	asked := &comments{asked: map[string]bool{}}
	k := &knowledge{comments: asked, rules: allRules()}
	planSchema(stepTypes(t), k)
	for _, f := range formats() {
		f.schema(k)
	}
	all := &comments{Text: map[string]string{}, Words: map[string][]string{}}
	packages := map[string]bool{}
	for name := range asked.asked {
		path, _, _ := strings.Cut(name[strings.LastIndex(name, "/")+1:], ".")
		packages[name[:strings.LastIndex(name, "/")+1]+path] = true
	}
	for path := range packages {
		if folder, own := strings.CutPrefix(path, module+"/"); own {
			readPackage(t, path, filepath.Join("..", filepath.FromSlash(folder)), all)
		}
	}
	unasked := func(name, _ string) bool { return !asked.asked[name] }
	maps.DeleteFunc(all.Text, unasked)
	maps.DeleteFunc(all.Words, func(name string, _ []string) bool { return !asked.asked[name] })
	return all
}

func readPackage(t *testing.T, path, folder string, into *comments) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	require.NoError(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			if group, ok := decl.(*ast.GenDecl); ok {
				readDeclaration(path, group, into)
			}
		}
	}
	require.NotEmpty(t, files, "no sources of %s: %v", path, fs.ErrNotExist)
}

func readDeclaration(path string, group *ast.GenDecl, into *comments) {
	for _, spec := range group.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			name := path + "." + spec.Name.Name
			// What follows the first paragraph is for those who call Go.
			into.Text[name], _, _ = strings.Cut(cmp.Or(prose(spec.Doc, spec.Comment), prose(group.Doc)), "\n\n")
			if fields, ok := spec.Type.(*ast.StructType); ok {
				readFields(name, fields, into)
			}
		case *ast.ValueSpec:
			if named, ok := spec.Type.(*ast.Ident); ok && group.Tok == token.CONST {
				for _, value := range spec.Values {
					if literal, ok := value.(*ast.BasicLit); ok && literal.Kind == token.STRING {
						word, _ := strconv.Unquote(literal.Value)
						name := path + "." + named.Name
						into.Words[name] = append(into.Words[name], word)
					}
				}
			}
		}
	}
}

// readFields has the comments with the keys of JSON in place of the names of Go fields,
// since a schema's readers know no Go.
func readFields(owner string, fields *ast.StructType, into *comments) {
	keys := map[string]string{}
	for _, field := range fields.Fields.List {
		if field.Tag == nil || len(field.Names) != 1 {
			continue
		}
		tag, err := strconv.Unquote(field.Tag.Value)
		key, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		if err == nil && key != "" && key != "-" {
			keys[field.Names[0].Name] = key
		}
	}
	before := "" // the comment of the last field that has one: it may be of this one, too
	for _, field := range fields.Fields.List {
		for _, name := range field.Names {
			comment := prose(field.Doc, field.Comment)
			if comment == "" && slices.Contains(goName.FindAllString(before, -1), name.Name) {
				comment = before
			}
			before = comment
			text := goName.ReplaceAllStringFunc(comment, func(word string) string {
				return cmp.Or(keys[word], word)
			})
			if text != "" {
				into.Text[owner+"."+name.Name] = text
			}
		}
	}
}

var goName = regexp.MustCompile(`\b[A-Z][A-Za-z]*\b`)

var docLink = regexp.MustCompile(`\[\*?([A-Za-z][A-Za-z0-9_.]*)\]`)

// withoutNil says in JSON's words what is nil in Go.
var withoutNil = strings.NewReplacer("is nil when absent", "is absent", "A nil ", "An absent ", "a nil ", "an absent ", "Nil ", "Absent ", " nil", " absent")

// prose is the text of comments with its paragraphs in a line each.
func prose(groups ...*ast.CommentGroup) string {
	var paragraphs []string
	for _, group := range groups {
		for paragraph := range strings.SplitSeq(group.Text(), "\n\n") {
			if text := strings.Join(strings.Fields(paragraph), " "); text != "" {
				paragraphs = append(paragraphs, withoutNil.Replace(docLink.ReplaceAllString(text, "$1")))
			}
		}
	}
	return strings.Join(slices.Compact(paragraphs), "\n\n")
}
