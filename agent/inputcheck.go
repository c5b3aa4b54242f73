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

// inputCheck checks arguments against a tool's input schema, which it compiles
// when the first call comes.
type inputCheck struct {
	tool        string
	source      json.RawMessage
	onUnchecked func(tool string, err error)

	once   sync.Once
	schema *jsonschema.Schema // nil when there is nothing to check by
	quick  *quickSchema       // nil when the schema is not plain
}

// problem is what is wrong with the arguments, in the validator's words; "" when
// they fit.
func (c *inputCheck) problem(arguments json.RawMessage) string {
	c.once.Do(c.compile)
	if c.schema == nil {
		return ""
	}
	value, err := decodeArguments(arguments)
	if err != nil {
		return err.Error()
	}
	if c.quick != nil && c.quick.accepts(value) {
		return ""
	}
	err = safely(func() error { return c.schema.Validate(value) })
	if err == nil {
		return ""
	}
	words := err.Error()
	if invalid := (*jsonschema.ValidationError)(nil); errors.As(err, &invalid) {
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

func (c *inputCheck) compile() {
	if len(c.source) == 0 {
		return
	}
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
		if c.schema, err = compiler.Compile(schemaAddress); err != nil {
			return err
		}
		if plain, err := decodeArguments(c.source); err == nil {
			c.quick = newQuickSchema(plain)
		}
		return nil
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
