package validation

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// bounded refuses a path whose evaluation could take time out of all proportion to
// the document, given the path's text in normal form. A filter is evaluated in one
// go at every element, so what stands in it has to be small: only plain names and
// indexes after $, no lists of selectors.
func bounded(path string) error {
	path = withoutText(path)
	if strings.Count(path, "..") > maxDescendants {
		return fmt.Errorf("it uses .. more than %d times", maxDescendants)
	}
	var open nesting
	for i, c := range path {
		switch {
		case c == ',' && open.top() == '[' && open.next():
			return errors.New("a filter may not hold a list of selectors, such as [0,1]")
		case c == '$' && open.inFilter() && wideFromRoot.MatchString(path[i:]):
			return errors.New("a filter may look from $ only at plain names and indexes")
		default:
			open.read(c)
		}
	}
	return nil
}

// wideFromRoot matches a path from the root that can match more than one value.
var wideFromRoot = regexp.MustCompile(`^\$(\[(""|-?\d+)\])*(\.\.|\[([^"\d-]|-?\d*:))`)

// withoutText empties the string literals of a path in normal form.
func withoutText(path string) string {
	var out strings.Builder
	quoted := false
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
			out.WriteByte(c)
		case !quoted:
			out.WriteByte(c)
		}
	}
	return out.String()
}

// nesting are the brackets and parentheses that are open at a place in a path.
type nesting []bracket

type bracket struct {
	char   rune
	filter bool // a filter has begun in it
}

func (n *nesting) read(c rune) {
	switch c {
	case '[', '(':
		*n = append(*n, bracket{char: c})
	case ']', ')':
		*n = (*n)[:max(len(*n)-1, 0)]
	case '?':
		if len(*n) > 0 {
			(*n)[len(*n)-1].filter = true
		}
	}
}

// next goes on to the next selector of a list, and reports whether the list stands
// in a filter.
func (n *nesting) next() bool {
	(*n)[len(*n)-1].filter = false
	return n.inFilter()
}

func (n *nesting) top() rune {
	if len(*n) == 0 {
		return 0
	}
	return (*n)[len(*n)-1].char
}

func (n *nesting) inFilter() bool {
	return slices.ContainsFunc(*n, func(b bracket) bool { return b.filter })
}
