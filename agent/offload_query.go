package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/theory/jsonpath"
	"github.com/theory/jsonpath/spec"
)

// Bounds of a query. The JSONPath library cannot be interrupted, so what could
// make its work grow faster than the file is refused beforehand.
const (
	maxQueryBytes   = 500
	maxQueryFile    = 16 << 20
	maxQueryDepth   = 64 // of the document: a place's path is as long as it is deep
	maxQueryWidth   = 16 // selectors that match many nodes, multiplied over segments
	maxQueryMatches = 200_000
	maxQueriedText  = 2000
)

// queryJSON shows what a JSONPath finds, one value a line with its place.
func queryJSON(out *boundedText, content string, args *offloadArguments) error {
	path, err := parseOffloadQuery(args.Query)
	if err != nil {
		return err
	}
	document, err := queryableJSON(content)
	if err != nil {
		return err
	}
	nodes, err := selectNodes(path, document)
	if err != nil {
		return err
	}
	if len(nodes) == 0 {
		out.WriteString("[the query matches nothing]")
		return nil
	}
	fmt.Fprintf(out, "[%d matches]\n", len(nodes))
	for i, node := range nodes {
		line := node.Path.String() + " = " + clippedJSON(node.Node, min(maxQueriedText, out.left/2)) + "\n"
		if i == args.MaxResults || !out.add(line) {
			fmt.Fprintf(out, "[%d more: narrow the query, or raise max_results up to %d]", len(nodes)-i, maxMaxResults)
			return nil
		}
	}
	return nil
}

var quoted = regexp.MustCompile(`'(\\.|[^'\\])*'|"(\\.|[^"\\])*"`)

func parseOffloadQuery(text string) (*jsonpath.Path, error) {
	switch {
	case text == "":
		return nil, errors.New("query needs a JSONPath, such as $.items[0:5].name")
	case len(text) > maxQueryBytes:
		return nil, fmt.Errorf("the query has %d bytes; at most %d are allowed", len(text), maxQueryBytes)
	}
	path, err := jsonpath.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%q is not a JSONPath (RFC 9535): %s", clip(text, echoBytes),
			strings.TrimPrefix(err.Error(), jsonpath.ErrPathParse.Error()+": "))
	}
	bare := quoted.ReplaceAllString(text, "")
	_, filter, _ := strings.Cut(bare, "?")
	switch {
	case strings.Count(bare, "..") > 1:
		return nil, errors.New("the query uses .. more than once, which takes too long; name the way to the first")
	case strings.Contains(filter, "..") || strings.Contains(filter, "$"):
		return nil, errors.New("the query uses .. or $ in or after a filter, which takes too long; use @ with plain names there")
	case strings.Contains(filter, "match(") || strings.Contains(filter, "search("):
		// The library compiles the expression anew for every value.
		return nil, errors.New("the functions match and search take too long here; use the operation search for a regular expression")
	case queryWidth(path) > maxQueryWidth:
		return nil, errors.New("the query combines too many lists of wildcards; use fewer")
	}
	return path, nil
}

// queryWidth bounds how often one node can be selected.
func queryWidth(path *jsonpath.Path) int {
	width := 1
	for _, segment := range path.Query().Segments() {
		many := 0
		for _, selector := range segment.Selectors() {
			switch selector.(type) {
			case spec.Name, spec.Index:
			default:
				many++
			}
		}
		if width *= max(many, 1); width > maxQueryWidth {
			return width
		}
	}
	return width
}

func queryableJSON(content string) (any, error) {
	if len(content) > maxQueryFile {
		return nil, fmt.Errorf("the file has %d bytes, too many for a query; use search and read", len(content))
	}
	if jsonDepth(content) > maxQueryDepth {
		return nil, fmt.Errorf("the file nests deeper than %d levels, too deep for a query; use search and read", maxQueryDepth)
	}
	decoder := json.NewDecoder(strings.NewReader(content))
	decoder.UseNumber()
	var document any
	if err := decoder.Decode(&document); err != nil {
		return nil, fmt.Errorf("the file is not JSON (%w); use search and read", err)
	}
	if strings.TrimSpace(content[decoder.InputOffset():]) != "" {
		return nil, errors.New("the file holds more than one JSON value; use search and read")
	}
	return document, nil
}

// jsonDepth is how deep a JSON text nests.
func jsonDepth(text string) int {
	depth, deepest, inString := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

// selectNodes returns what the path finds, in the order of the document's places:
// objects have no order of their own, and a repeated call must give the same.
func selectNodes(path *jsonpath.Path, document any) (nodes jsonpath.LocatedNodeList, err error) {
	defer func() {
		// A filter whose function gets a value of the wrong kind panics.
		if cause := recover(); cause != nil {
			nodes, err = nil, fmt.Errorf("the query cannot be evaluated: %v", cause)
		}
	}()
	// Counting first is cheap; the place of every match is not.
	if n := len(path.Select(document)); n > maxQueryMatches {
		return nil, fmt.Errorf("the query matches %d values, at most %d are looked at; narrow it", n, maxQueryMatches)
	}
	nodes = path.SelectLocated(document)
	nodes.Sort()
	return nodes, nil
}

func clippedJSON(value any, n int) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // decoded JSON always encodes
	text := strings.TrimSuffix(b.String(), "\n")
	if len(text) <= n {
		return text
	}
	return fmt.Sprintf("%s (%d bytes in all; query further in)", clip(text, n), len(text))
}
