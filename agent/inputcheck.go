package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// inputCheck checks arguments against a tool's input schema. It reads the schema
// when the first call comes, and compiles it when the first call comes that the
// quick check leaves open.
type inputCheck struct {
	tool        string
	source      json.RawMessage
	onUnchecked func(tool string, err error)

	readOnce sync.Once
	quick    *quickSchema // nil when the schema is not plain

	compileOnce sync.Once
	schema      *jsonschema.Schema // nil when there is nothing to check by
}

// checkedArguments are arguments as a tool gets them.
type checkedArguments struct {
	arguments json.RawMessage
	unwrapped []string // see ToolRecord
	problem   string   // why they do not fit, in the validator's words
}

// check says whether arguments, which are a JSON object, fit.
func (c *inputCheck) check(arguments json.RawMessage) checkedArguments {
	fitting := checkedArguments{arguments: arguments}
	c.readOnce.Do(c.read)
	if len(c.source) == 0 || c.quick != nil && c.quick.accepts(arguments) {
		return fitting
	}
	c.compileOnce.Do(c.compile)
	if c.schema == nil {
		return fitting
	}
	value, err := decodeArguments(arguments)
	if err != nil {
		return checkedArguments{problem: err.Error()}
	}
	failure := c.validate(value)
	if failure == nil {
		return fitting
	}
	if unwrapped, ok := c.unwrap(arguments, failure); ok {
		return unwrapped
	}
	return checkedArguments{problem: problemText(failure)}
}

func (c *inputCheck) validate(value any) error {
	return safely(func() error { return c.schema.Validate(value) })
}

func problemText(failure error) string {
	words := failure.Error()
	if _, ok := errors.AsType[*jsonschema.ValidationError](failure); ok {
		// The first line names the schema by an address that says nothing here.
		_, words, _ = strings.Cut(words, "\n")
	}
	return clipText(words, maxProblemText)
}

// exactDigits is how many digits of a decimal number a float64 always keeps.
const exactDigits = 15

// decodeArguments reads arguments for the validator. The validator's own reader
// keeps numbers as text, which costs much more and matters for long ones only.
func decodeArguments(arguments json.RawMessage) (any, error) {
	digits := 0
	for _, c := range arguments {
		if digits > exactDigits {
			break
		}
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c != '.':
			digits = 0
		}
	}
	var value any
	if digits <= exactDigits && json.Unmarshal(arguments, &value) == nil {
		return value, nil
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(arguments))
}

// maxProblemText is how much of a validator's words the model is told, in bytes.
const maxProblemText = 2000

// schemaAddress is what a tool's schema is known by while it compiles.
const schemaAddress = "treadle:///input.json"

func (c *inputCheck) read() {
	if plain, err := decodeArguments(c.source); err == nil {
		c.quick = newQuickSchema(plain)
	}
}

func (c *inputCheck) compile() {
	err := safely(func() error {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(c.source))
		if err != nil {
			return err
		}
		compiler := jsonschema.NewCompiler()
		compiler.UseLoader(noLoader{})
		if err := compiler.AddResource(schemaAddress, doc); err != nil {
			return err
		}
		c.schema, err = compiler.Compile(schemaAddress)
		return err
	})
	if err != nil {
		c.schema = nil
		if c.onUnchecked != nil {
			c.onUnchecked(c.tool, err)
		}
	}
}

// noLoader keeps a server's schema from reading files or the network.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("the schema refers to %s; only references inside the schema are followed", url)
}

// safely takes a panic over a schema or value that nobody thought of for an error.
func safely(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cannot be checked: %v", p)
		}
	}()
	return fn()
}
