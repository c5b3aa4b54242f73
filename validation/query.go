package validation

import (
	"context"
	"errors"
	"fmt"
	"maps"
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

// maxVisits is how many values a path may look at on its way, matching or not.
const maxVisits = 20_000_000

// query is a JSONPath cut in two: up to its last segment that can match any
// number of nodes, and the plain names and indexes after it. So a name that is
// missing below one of many elements is noticed, which the path as a whole would
// pass over.
type query struct {
	text string
	head []*spec.Segment
	tail []*spec.Segment
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
	if err := bounded(parsed.String()); err != nil {
		return nil, err
	}
	segments := parsed.Query().Segments()
	cut := 0
	for i, segment := range segments {
		if spec.Query(false, segment).Singular() == nil {
			cut = i + 1
		}
	}
	return &query{
		text:     text,
		head:     segments[:cut],
		tail:     segments[cut:],
		single:   cut == 0,
		endsOpen: cut > 0 && cut == len(segments),
	}, nil
}

// match is one value that a path has found, or a place where it has found none.
type match struct {
	at    *place
	value any
}

// place is where a value lies in a document. The places of a document share what
// they have in common, and become text only where a reader needs it.
type place struct {
	parent *place
	step   spec.NormalSelector
}

// place says where a value was found. It prefers the author's own words for a path
// with one match.
func (q *query) place(at *place) string {
	if q.single || at == nil {
		return q.text
	}
	var steps spec.NormalizedPath
	for p := at; p != nil && p.step != nil; p = p.parent {
		steps = append(steps, p.step)
	}
	slices.Reverse(steps)
	return steps.String()
}

// find returns what the path finds and where it misses, both in the order of the
// document, the members of an object by name. It fails where the JSONPath library
// does, on too many matches, and when the context is done.
func (q *query) find(ctx context.Context, document any) (matches, missing []match, err error) {
	defer func() {
		// A filter with a function of the wrong type makes the library panic; to
		// a workflow that is one failed check.
		if cause := recover(); cause != nil {
			matches, missing, err = nil, nil, fmt.Errorf("the path cannot be evaluated: %v", cause)
		}
	}()
	s := &search{ctx: ctx, query: q, document: document}
	heads := []match{{at: &place{}, value: document}}
	for _, segment := range q.head {
		var found []match
		for _, m := range heads {
			if found, err = s.enter(segment, m, found); err != nil {
				return nil, nil, err
			}
		}
		heads = found
	}
	for _, head := range heads {
		if m, ok := q.follow(head); ok {
			matches = append(matches, m)
		} else {
			missing = append(missing, m)
		}
	}
	return matches, missing, nil
}

// follow goes down the plain names and indexes of the tail. If they lead nowhere it
// returns the place where they would.
func (q *query) follow(from match) (match, bool) {
	there := true
	for _, segment := range q.tail {
		selector := segment.Selectors()[0]
		var found []*spec.LocatedNode
		if there {
			found = selector.SelectLocated(from.value, nil, nil)
		}
		if there = len(found) == 1; there {
			from = match{at: &place{parent: from.at, step: found[0].Path[0]}, value: found[0].Node}
			continue
		}
		step, _ := selector.(spec.NormalSelector)
		from = match{at: &place{parent: from.at, step: step}}
	}
	return from, there
}

// search evaluates one path, segment by segment and node by node, so that what it
// costs is counted and can be stopped between any two nodes.
type search struct {
	ctx      context.Context
	query    *query
	document any
	visits   int
}

// enter adds what a segment selects at a node, and for a descendant segment below
// it, to the found matches.
func (s *search) enter(segment *spec.Segment, at match, found []match) ([]match, error) {
	if err := s.count(len(found)); err != nil {
		return nil, err
	}
	for _, selector := range segment.Selectors() {
		if err := s.room(selector, at.value, len(found)); err != nil {
			return nil, err
		}
		nodes := selector.SelectLocated(at.value, s.document, nil)
		if _, isObject := at.value.(map[string]any); isObject {
			slices.SortFunc(nodes, func(a, b *spec.LocatedNode) int { return a.Path.Compare(b.Path) })
		}
		for _, node := range nodes {
			found = append(found, match{at: &place{parent: at.at, step: node.Path[0]}, value: node.Node})
		}
	}
	if err := s.count(len(found)); err != nil || !segment.IsDescendant() {
		return found, err
	}
	return s.descend(segment, at, found)
}

func (s *search) descend(segment *spec.Segment, at match, found []match) ([]match, error) {
	var err error
	switch value := at.value.(type) {
	case []any:
		for i, element := range value {
			if found, err = s.enter(segment, match{&place{at.at, spec.Index(i)}, element}, found); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if found, err = s.enter(segment, match{&place{at.at, spec.Name(key)}, value[key]}, found); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// room counts what a selector selects before places are made for it, where that may
// be very much.
func (s *search) room(selector spec.Selector, value any, found int) error {
	elements := 0
	switch value := value.(type) {
	case []any:
		elements = len(value)
	case map[string]any:
		elements = len(value)
	}
	if found+elements <= MaxMatches {
		return nil
	}
	if found+len(selector.Select(value, s.document)) > MaxMatches {
		return s.tooMany()
	}
	return nil
}

func (s *search) tooMany() error {
	return fmt.Errorf("%s matches more than %d values, which is too many to check: use a narrower path", s.query.text, MaxMatches)
}

func (s *search) count(found int) error {
	s.visits++
	switch {
	case found > MaxMatches:
		return s.tooMany()
	case s.visits > maxVisits:
		return fmt.Errorf("%s looks at more than %d values: use a narrower path", s.query.text, maxVisits)
	default:
		return s.ctx.Err() // each time: a filter may have taken long here
	}
}
