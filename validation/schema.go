package validation

import (
	"encoding/json"
	"slices"

	"github.com/treadle-dev/treadle/internal/openjson"
)

// What a schema may hold at most. Larger schemas do not compile; a larger JSON
// file fails its check.
const (
	MaxFiles         = 20
	MaxChecksPerFile = 100 // also of one query
	MaxJSONBytes     = 10 << 20
	MaxDBChecks      = 20
	MaxRows          = 10_000 // that a query may be asked to have; it may have more
)

// Schema is the validation_schema of a step as it stands in plan.json. A nil
// schema, as the JSON null gives, says nothing about validation; the string "none"
// says that there is to be none, see [None]. Neither checks anything.
//
// Decoding takes any JSON value and never loses a part of it: keys that are not
// known, values of a wrong type and the difference between absent, null and empty
// survive a round trip, and [Schema.Compile] reports what is wrong with them. The
// same holds for the types below.
type Schema struct {
	Files []FileCheck `json:"files,omitempty"`
	DB    []DBCheck   `json:"db,omitempty"`

	rest openjson.Members
}

// FileCheck asks for one file. A bare name lies in the folder of the step, a name
// that begins with a folder of the workflow such as db/ lies there; see [Checker].
type FileCheck struct {
	// FileName may hold variables, as {{NAME}}, which a run replaces by their values.
	FileName string `json:"file_name,omitempty"`
	// MustExist is true when absent. False makes the file optional: its JSON
	// checks apply when it is there.
	MustExist *bool `json:"must_exist,omitempty"`
	// JSONChecks are none for a file that only has to exist; it may then hold
	// anything.
	JSONChecks []JSONCheck `json:"json_checks,omitempty"`

	rest openjson.Members
}

// JSONCheck asks something of the values at one path of a JSON document. What is
// absent is not asked for.
type JSONCheck struct {
	// Path is a JSONPath (RFC 9535), such as $.users[*].email.
	Path string `json:"path,omitempty"`
	// MustExist is true when absent. False lets the path match nothing.
	MustExist *bool `json:"must_exist,omitempty"`
	// ValueType is string, number, boolean, array or object.
	ValueType string `json:"value_type,omitempty"`
	// MinLength and MaxLength count the bytes of a string or the elements of an
	// array, both inclusive.
	MinLength *int `json:"min_length,omitempty"`
	MaxLength *int `json:"max_length,omitempty"`
	// Pattern is a Go regular expression that the string must contain a match of.
	Pattern string `json:"pattern,omitempty"`
	// MinValue and MaxValue bound a number, both inclusive; empty is no bound.
	MinValue json.Number `json:"min_value,omitempty"`
	MaxValue json.Number `json:"max_value,omitempty"`
	// ConsistencyCheck compares the value with another one of the same document.
	ConsistencyCheck *ConsistencyCheck `json:"consistency_check,omitempty"`

	rest openjson.Members
}

// ConsistencyCheck compares a value with the one at another path of the document.
type ConsistencyCheck struct {
	// Type is equals, greater_than, less_than, array_length or in_array.
	Type            string `json:"type,omitempty"`
	CompareWithPath string `json:"compare_with_path,omitempty"`

	rest openjson.Members
}

// DBCheck asks something of the rows that a query of the workflow's database
// gives. A query that cannot be run fails the check.
type DBCheck struct {
	// Name is what reports call the check.
	Name string `json:"name,omitempty"`
	// SQL is one statement that only reads, in the words of SQLite.
	SQL string `json:"sql,omitempty"`
	// MinRows and MaxRows bound the number of rows, both inclusive. Without MinRows
	// there must be one row, as a file must exist; only a MaxRows without Checks lets
	// there be none. An explicit 0 always does.
	MinRows *int `json:"min_rows,omitempty"`
	MaxRows *int `json:"max_rows,omitempty"`
	// Checks look at the first row, as an object by column name: a number is a
	// number, NULL is null, text and bytes are a string. They apply where there is a
	// row.
	Checks []JSONCheck `json:"checks,omitempty"`

	rest openjson.Members
}

// noneText is how a step says that nothing is to be checked.
const noneText = `"none"`

// None is the schema of a step that is not to be validated. In JSON it is the string
// "none".
func None() *Schema {
	s := &Schema{}
	_ = s.UnmarshalJSON([]byte(noneText)) // is valid JSON
	return s
}

// IsNone reports whether the schema says that nothing is to be checked. A schema that
// is nil or empty does not say so.
func (s *Schema) IsNone() bool { return s != nil && string(s.rest.Whole()) == noneText }

// WithFileNames returns a copy of the schema in which the name of every file is what the
// func makes of it, for names with placeholders. The schema is not changed.
func (s *Schema) WithFileNames(name func(string) string) *Schema {
	if s == nil {
		return nil
	}
	named := *s
	named.Files = slices.Clone(s.Files)
	for i := range named.Files {
		named.Files[i].FileName = name(named.Files[i].FileName)
	}
	return &named
}

// UnmarshalJSON implements [json.Unmarshaler].
func (s *Schema) UnmarshalJSON(data []byte) error { return s.rest.Decode(data, s) }

// MarshalJSON implements [json.Marshaler].
func (s Schema) MarshalJSON() ([]byte, error) { return s.rest.Encode(&s) }

// UnmarshalJSON implements [json.Unmarshaler].
func (f *FileCheck) UnmarshalJSON(data []byte) error { return f.rest.Decode(data, f) }

// MarshalJSON implements [json.Marshaler].
func (f FileCheck) MarshalJSON() ([]byte, error) { return f.rest.Encode(&f) }

// UnmarshalJSON implements [json.Unmarshaler].
func (c *JSONCheck) UnmarshalJSON(data []byte) error { return c.rest.Decode(data, c) }

// MarshalJSON implements [json.Marshaler].
func (c JSONCheck) MarshalJSON() ([]byte, error) { return c.rest.Encode(&c) }

// UnmarshalJSON implements [json.Unmarshaler].
func (c *ConsistencyCheck) UnmarshalJSON(data []byte) error { return c.rest.Decode(data, c) }

// MarshalJSON implements [json.Marshaler].
func (c ConsistencyCheck) MarshalJSON() ([]byte, error) { return c.rest.Encode(&c) }

// UnmarshalJSON implements [json.Unmarshaler].
func (d *DBCheck) UnmarshalJSON(data []byte) error { return d.rest.Decode(data, d) }

// MarshalJSON implements [json.Marshaler].
func (d DBCheck) MarshalJSON() ([]byte, error) { return d.rest.Encode(&d) }
