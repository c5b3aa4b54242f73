package schemas

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"reflect"
)

// commentsFile is made from the sources by this package's tests, so that programs
// without the sources have the comments, too.
//
//go:embed comments.json
var commentsFile []byte

// comments are the texts and words that the sources have about Go types.
type comments struct {
	// Text is by type, as package path and name, and by type and field.
	Text map[string]string `json:"text"`
	// Words are the constants of string types.
	Words map[string][]string `json:"words"`

	asked map[string]bool // nil, or the names that were looked up
}

func readComments() (*comments, error) {
	c := &comments{}
	if err := json.Unmarshal(commentsFile, c); err != nil {
		return nil, fmt.Errorf("comments.json: %w", err)
	}
	return c, nil
}

// of is the comment of a type or, with a name, of its field.
func (c *comments) of(t reflect.Type, field string) string {
	name := typePath(t)
	if field != "" {
		name += "." + field
	}
	if c.asked != nil {
		c.asked[name] = true
	}
	return c.Text[name]
}

// words are the constants of a type; nil where it has none.
func (c *comments) words(t reflect.Type) []string {
	if c.asked != nil {
		c.asked[typePath(t)] = true
	}
	return c.Words[typePath(t)]
}

func typePath(t reflect.Type) string { return t.PkgPath() + "." + t.Name() }
