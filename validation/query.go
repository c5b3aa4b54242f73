package validation

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/theory/jsonpath"
	"github.com/theory/jsonpath/spec"
)

// Bounds of a path: a longer one is no path that somebody wrote, and each further
// descendant segment can multiply the time of a check by the size of the file.
const (
	maxPathBytes   = 2000
	maxDescendants = 2
)

// MaxMatches is how many values a path of a schema may match in one file. A check
// whose path matches more fails and says so.
const MaxMatches = 200_000

// query is a JSONPath cut in two: up to its last segment that can match any
// number of nodes, and the plain names and indexes after it. So a name that is
// missing below one of many elements is noticed, which the path as a whole would
// pass over.
type query struct {
	text string
	head *spec.PathQuery
	tail *spec.PathQuery
	// single says that the path matches one node at most.
	single bool
	// endsOpen says that the last segment can match any number of nodes.
	endsOpen bool
}

func parseQuery(text string) (*query, error) {
	if len(text) > maxPathBytes {
		return nil, fmt.Errorf("it is longer than %d bytes", maxPathBytes)
	}
	parsed, err := jsonpath.Parse(text)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), jsonpath.ErrPathParse.Error()+": "))
	}
	segments := parsed.Query().Segments()
	cut, descendants := 0, 0
	for i, segment := range segments {
		if spec.Query(false, segment).Singular() == nil {
			cut = i + 1
		}
		if segment.IsDescendant() {
			descendants++
		}
	}
	if descendants > maxDescendants {
		return nil, fmt.Errorf("it uses .. more than %d times", maxDescendants)
	}
	return &query{
		text:     text,
		head:     spec.Query(true, segments[:cut]...),
		tail:     spec.Query(false, segments[cut:]...),
		single:   cut == 0,
		endsOpen: cut > 0 && cut == len(segments),
	}, nil
}

// match is one value that a path has found, or a place where it has found none.
type match struct {
	at    string
	value any
}

// find returns what the path finds and where it misses, both in the order of
// their places in the document. It fails where the JSONPath library does, and on
// too many matches.
func (q *query) find(document any) (matches, missing []match, err error) {
	defer func() {
		// A filter with a function of the wrong type makes the library panic; to
		// a workflow that is one failed check.
		if cause := recover(); cause != nil {
			matches, missing, err = nil, nil, fmt.Errorf("the path cannot be evaluated: %v", cause)
		}
	}()
	// Counting first is cheap; the place of every match is not.
	if n := len(q.head.Select(document, document)); n > MaxMatches {
		return nil, nil, fmt.Errorf("%s matches %d values, at most %d are checked: use a narrower path", q.text, n, MaxMatches)
	}
	heads := jsonpath.LocatedNodeList(q.head.SelectLocated(document, document, nil))
	heads.Sort()
	for _, head := range heads {
		found := q.tail.SelectLocated(head.Node, document, head.Path)
		switch {
		case len(found) == 0:
			missing = append(missing, match{at: q.place(q.below(head.Path).String())})
		default:
			matches = append(matches, match{at: q.place(found[0].Path.String()), value: found[0].Node})
		}
	}
	return matches, missing, nil
}

// below is the place of the tail under a node of the head.
func (q *query) below(head spec.NormalizedPath) spec.NormalizedPath {
	place := slices.Clone(head)
	for _, segment := range q.tail.Segments() {
		for _, selector := range segment.Selectors() {
			if step, ok := selector.(spec.NormalSelector); ok {
				place = append(place, step)
			}
		}
	}
	return place
}

// place prefers the author's own words for a path with one match.
func (q *query) place(located string) string {
	if q.single {
		return q.text
	}
	return located
}
