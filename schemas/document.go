package schemas

import (
	"bytes"
	"encoding/json"
	"regexp"

	"github.com/invopop/jsonschema"
)

// base is what the ids of all schemas begin with.
const base = "https://treadle.dev/schemas/"

// Document is the JSON Schema of one format.
type Document struct {
	// Name is short and never changes, such as "plan".
	Name string
	// Title is a few words for people, About a sentence or two more.
	Title, About string

	schema *jsonschema.Schema
}

// ID is the schema's own $id. It is a name and need not resolve.
func (d *Document) ID() string { return base + d.FileName() }

// FileName is the name that the schema has in a folder, such as "plan.schema.json".
func (d *Document) FileName() string { return d.Name + ".schema.json" }

// JSON is the schema's text, indented by two spaces: the same bytes for the same types.
func (d *Document) JSON() []byte { return indented(ordered(plain(d.schema))) }

func indented(compact []byte) []byte {
	var text bytes.Buffer
	_ = json.Indent(&text, compact, "", "  ") // is JSON
	text.WriteByte('\n')
	return text.Bytes()
}

// document makes a schema of its own from the rest of one.
func document(name, title, about string, schema *jsonschema.Schema) *Document {
	d := &Document{Name: name, Title: title, About: about, schema: schema}
	schema.Version, schema.ID = jsonschema.Version, jsonschema.ID(d.ID())
	schema.Title, schema.Description = title, about
	prune(schema)
	return d
}

var definitionRef = regexp.MustCompile(`"#/\$defs/([^"]+)"`)

// prune leaves out the definitions that nothing refers to.
func prune(schema *jsonschema.Schema) {
	all := schema.Definitions
	schema.Definitions = nil
	used, open := jsonschema.Definitions{}, []*jsonschema.Schema{schema}
	for len(open) > 0 {
		text := plain(open[0])
		open = open[1:]
		for _, match := range definitionRef.FindAllSubmatch(text, -1) {
			name := string(match[1])
			if def := all[name]; def != nil && used[name] == nil {
				used[name], open = def, append(open, def)
			}
		}
	}
	if len(used) > 0 {
		schema.Definitions = used
	}
}
