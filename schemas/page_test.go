package schemas

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const pageFile = "../docs/formats.md"

const pageHead = `# File formats

What a workflow's files may say, and what a run writes. This page is made from the JSON Schemas
in ` + "`schemas`" + `, which ` + "`treadle schema`" + ` prints, and those from the Go types and their comments; it is
written by ` + "`go test ./schemas -update`" + `.

A key in **bold** is required. In files that people write, null stands for an absent key, and
keys that are not known are kept and have no effect.
`

func TestThePageOfFormatsIsMadeFromTheSchemas(t *testing.T) { //nolint:paralleltest // it comes after that of the comments
	var page strings.Builder
	page.WriteString(pageHead)
	for _, d := range documents(t) {
		writeFormat(t, &page, d)
	}
	if *update {
		require.NoError(t, os.WriteFile(pageFile, []byte(page.String()), 0o644))
	}
	have, err := os.ReadFile(pageFile)
	require.NoError(t, err)
	assert.Equal(t, page.String(), string(have), "docs/formats.md is stale; run: go test ./schemas -update")
}

// readSchema is a schema as its readers see it.
type readSchema struct {
	Ref         string          `json:"$ref"`
	Description string          `json:"description"`
	Deprecated  bool            `json:"deprecated"`
	Type        any             `json:"type"`
	Const       any             `json:"const"`
	Enum        []any           `json:"enum"`
	Default     any             `json:"default"`
	Format      string          `json:"format"`
	Minimum     json.Number     `json:"minimum"`
	Maximum     json.Number     `json:"maximum"`
	MinItems    int             `json:"minItems"` //nolint:tagliatelle // a keyword of JSON Schema
	MaxItems    int             `json:"maxItems"` //nolint:tagliatelle // a keyword of JSON Schema
	Items       *readSchema     `json:"items"`
	Required    []string        `json:"required"`
	Properties  json.RawMessage `json:"properties"`
	Values      *readSchema     `json:"additionalProperties"` //nolint:tagliatelle // a keyword of JSON Schema
	AnyOf       []*readSchema   `json:"anyOf"`                //nolint:tagliatelle // a keyword of JSON Schema
	Defs        json.RawMessage `json:"$defs"`
}

// UnmarshalJSON reads true, too, which takes anything.
func (s *readSchema) UnmarshalJSON(data []byte) error {
	if string(data) == "true" {
		return nil
	}
	type plain readSchema
	return json.Unmarshal(data, (*plain)(s))
}

func writeFormat(t *testing.T, page *strings.Builder, d *Document) {
	t.Helper()
	var root readSchema
	require.NoError(t, json.Unmarshal(d.JSON(), &root))
	fmt.Fprintf(page, "\n## %s\n\n%s Schema: [%s](../schemas/%s).\n", d.Title, d.About, d.Name, d.FileName())
	if root.Properties != nil {
		writeFields(t, page, d, &root)
	} else {
		fmt.Fprintf(page, "\nIt is %s.\n", root.kind(d))
	}
	defs, _ := members(root.Defs)
	for _, def := range defs {
		if home(d, def.key) != d.Name {
			continue
		}
		var schema readSchema
		require.NoError(t, json.Unmarshal(def.value, &schema))
		fmt.Fprintf(page, "\n<a id=\"%s-%s\"></a>\n### %s\n", d.Name, def.key, def.key)
		if schema.Description != "" {
			fmt.Fprintf(page, "\n%s\n", cell(schema.Description, "\n\n"))
		}
		switch {
		case schema.Properties != nil:
			writeFields(t, page, d, &schema)
		case schema.Values != nil:
			fmt.Fprintf(page, "\nIt is %s.\n", schema.kind(d))
		}
	}
}

// home is the format under which a definition stands: those of validation schemas are
// parts of other formats, too.
func home(d *Document, definition string) string {
	if slices.Contains([]string{"ValidationSchema", "FileCheck", "JSONCheck", "DBCheck", "ConsistencyCheck"}, definition) {
		return "validation"
	}
	return d.Name
}

func writeFields(t *testing.T, page *strings.Builder, d *Document, schema *readSchema) {
	t.Helper()
	fields, ok := members(schema.Properties)
	require.True(t, ok)
	page.WriteString("\n| key | value | default | meaning |\n|---|---|---|---|\n")
	for _, field := range fields {
		var value readSchema
		require.NoError(t, json.Unmarshal(field.value, &value))
		key := "`" + field.key + "`"
		if slices.Contains(schema.Required, field.key) {
			key = "**" + key + "**"
		}
		initial := ""
		if value.Default != nil {
			initial = fmt.Sprintf("`%v`", value.Default)
		}
		meaning := cell(value.Description, " ")
		if value.Deprecated {
			meaning = strings.TrimSpace("*Older form.* " + meaning)
		}
		fmt.Fprintf(page, "| %s | %s | %s | %s |\n", key, value.kind(d), initial, meaning)
	}
}

// kind says in words what values a schema takes; null goes without saying.
func (s *readSchema) kind(d *Document) string {
	switch {
	case s.Ref != "":
		name := s.Ref[strings.LastIndex(s.Ref, "/")+1:]
		return fmt.Sprintf("[%s](#%s-%s)", name, home(d, name), name)
	case s.Const != nil:
		return fmt.Sprintf("`%v`", s.Const)
	case len(s.AnyOf) > 0:
		var kinds []string
		for _, one := range s.AnyOf {
			if one.Type != "null" {
				kinds = append(kinds, one.kind(d))
			}
		}
		return strings.Join(kinds, " or ")
	case len(s.Enum) > 0:
		var words []string
		for _, word := range s.Enum {
			if word != nil && word != "" {
				words = append(words, fmt.Sprintf("`%v`", word))
			}
		}
		return strings.Join(words, ", ")
	}
	return s.plainKind(d)
}

func (s *readSchema) plainKind(d *Document) string {
	name, _ := s.Type.(string)
	if list, ok := s.Type.([]any); ok {
		name, _ = list[0].(string)
	}
	switch name {
	case "":
		return "anything"
	case "array":
		return "list of " + s.Items.kind(d) + bounds(s.MinItems, s.MaxItems)
	case "object":
		if s.Values != nil {
			return "object of " + s.Values.kind(d) + " by name"
		}
		return "object"
	case "string":
		if s.Format == "date-time" {
			return "time (RFC 3339)"
		}
		return "text"
	case "integer":
		return "whole number" + s.limits()
	case "boolean":
		return "true or false"
	default:
		return name + s.limits()
	}
}

func bounds(least, most int) string {
	switch {
	case most > 0:
		return fmt.Sprintf(", at most %d", most)
	case least > 0:
		return fmt.Sprintf(", at least %d", least)
	}
	return ""
}

func (s *readSchema) limits() string {
	switch {
	case s.Minimum != "" && s.Maximum != "":
		return fmt.Sprintf(", %s to %s", s.Minimum, s.Maximum)
	case s.Minimum != "":
		return fmt.Sprintf(", at least %s", s.Minimum)
	}
	return ""
}

// cell is a text as Markdown takes it in a table.
func cell(text, paragraph string) string {
	text = strings.ReplaceAll(text, "\n\n", paragraph)
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`, "_", `\_`).Replace(text)
}
