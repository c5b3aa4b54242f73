package agent

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// OutputSchema asks for a reply that is one JSON value of a schema. It is plain
// data; get one from [Output.Request].
type OutputSchema struct {
	// Name is what the provider calls the schema: 1 to 64 letters, digits, "_" and
	// "-".
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Schema is the JSON Schema as the provider takes it.
	Schema json.RawMessage `json:"schema"`
	// Strict asks the provider to hold the model to the schema.
	Strict bool `json:"strict,omitempty"`
}

// Output is a structured output that is ready for use: the schema that values
// must fit, and the form in which it is asked for. It is safe for concurrent use.
type Output struct {
	schema *Schema
	wire   OutputSchema
}

// NewOutput prepares a schema for a kind of provider. A schema that the provider
// would refuse is an error here, a [*SchemaProfileError], and not at the first
// call.
func NewOutput(name string, schema *Schema, profile SchemaProfile) (*Output, error) {
	if !toolName.MatchString(name) {
		return nil, fmt.Errorf("output name %q: a model endpoint takes 1 to 64 letters, digits, \"_\" and \"-\"", name)
	}
	wire, err := schema.For(profile)
	if err != nil {
		return nil, fmt.Errorf("output %s: %w", name, err)
	}
	return &Output{schema: schema, wire: OutputSchema{Name: name, Schema: wire, Strict: profile == SchemaOpenAIStrict}}, nil
}

// Request returns what [Request.Output] takes.
func (o *Output) Request() *OutputSchema {
	wire := o.wire
	wire.Schema = bytes.Clone(wire.Schema)
	return &wire
}

// OutputError says why a reply holds no value of the schema.
type OutputError struct {
	// Finish is why the reply ended.
	Finish FinishReason
	// Text is the reply, cut to 2,000 bytes.
	Text string
	// Err is what the parser or the validator said; a [*SchemaError] when the reply
	// was JSON that does not fit.
	Err error
}

func (e *OutputError) Error() string {
	return "the reply is not the output asked for: " + e.Err.Error()
}

func (e *OutputError) Unwrap() error { return e.Err }

// Repairable reports whether asking the model again can help: not where it refused
// or its provider filtered the reply, nor where it asked for tools first.
func (e *OutputError) Repairable() bool {
	switch e.Finish {
	case FinishRefusal, FinishContentFilter, FinishToolCalls:
		return false
	}
	return true
}

// Value returns the value in a reply, in the schema's own terms; see [Schema.Fit].
// The reply is the JSON alone, or alone in a fenced block, as models write it that
// are not held to a schema. A reply that calls tools has no value yet. The error
// is an [*OutputError].
func (o *Output) Value(reply *Response) (json.RawMessage, error) {
	text := reply.Message.ContentText()
	value, err := o.value(reply, text)
	if err != nil {
		finish := reply.Finish
		if len(reply.Message.ToolCalls) > 0 {
			finish = FinishToolCalls
		}
		return nil, &OutputError{Finish: finish, Text: clip(text, 2000), Err: err}
	}
	return value, nil
}

func (o *Output) value(reply *Response, text string) (json.RawMessage, error) {
	switch {
	case len(reply.Message.ToolCalls) > 0:
		return nil, errors.New("it calls tools first")
	case reply.Finish == FinishRefusal:
		return nil, errors.New("the model refused")
	case reply.Finish == FinishContentFilter:
		return nil, errors.New("the provider filtered it")
	case reply.Finish == FinishLength:
		return nil, errors.New("it was cut at the output limit; a shorter one is needed")
	case isBlank(text):
		return nil, errors.New("it is empty")
	}
	candidate := []byte(unfenced(text))
	if err := checkJSON(candidate); err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	return o.schema.Fit(candidate)
}

func checkJSON(data []byte) error {
	var raw json.RawMessage
	return json.Unmarshal(data, &raw)
}

// unfenced takes the fence off a reply that is one fenced block.
func unfenced(text string) string {
	text = strings.TrimSpace(text)
	rest, ok := strings.CutPrefix(text, "```")
	if !ok {
		return text
	}
	body, ok := strings.CutSuffix(rest, "```")
	first, body, found := strings.Cut(body, "\n")
	if !ok || !found || strings.ContainsAny(first, "{[\"") {
		return text
	}
	return strings.TrimSpace(body)
}

//go:embed prompts/repair_output.md
var repairPrompt string

// Repair returns the message that tells the model, in the validator's words, what
// is wrong with its reply. It follows the reply in the conversation.
func (o *Output) Repair(err error) Message {
	problems := []string{err.Error()}
	var output *OutputError
	var fit *SchemaError
	switch {
	case errors.As(err, &fit):
		problems = nil
		for _, p := range fit.Problems {
			problems = append(problems, p.String())
		}
	case errors.As(err, &output):
		problems = []string{output.Err.Error()}
	}
	text := render(repairPrompt, struct {
		Problems []string
		Schema   string
	}{problems, string(o.wire.Schema)})
	return UserMessage(strings.TrimSpace(text))
}

// Structured is an [Output] that is decoded into a Go type. It is safe for
// concurrent use; get one from [NewStructured].
type Structured[T any] struct {
	*Output
}

// NewStructured prepares the schema of T for a kind of provider; see [SchemaFor]
// and [NewOutput].
func NewStructured[T any](name string, profile SchemaProfile) (*Structured[T], error) {
	schema, err := SchemaFor[T]()
	if err != nil {
		return nil, err
	}
	output, err := NewOutput(name, schema, profile)
	if err != nil {
		return nil, err
	}
	return &Structured[T]{output}, nil
}

// Decode returns the value in a reply. The error is an [*OutputError].
func (s *Structured[T]) Decode(reply *Response) (T, error) {
	var decoded T
	value, err := s.Value(reply)
	if err != nil {
		return decoded, err
	}
	if err := json.Unmarshal(value, &decoded); err != nil {
		var none T
		return none, &OutputError{Finish: reply.Finish, Text: clip(string(value), 2000), Err: err}
	}
	return decoded, nil
}

// Ask makes a model call and decodes its reply; a reply that does not fit gets one
// repair turn. The caller makes the calls, so that they are journaled and metered
// as its others are: ask is called with nil at first, and a second time with the
// message that asks for the repair, which goes behind the first reply. The error
// is that of ask, or the [*OutputError] of the last reply.
func (s *Structured[T]) Ask(ctx context.Context, ask func(ctx context.Context, repair *Message) (*Response, error)) (T, error) {
	var none T
	reply, err := ask(ctx, nil)
	if err != nil {
		return none, err
	}
	value, err := s.Decode(reply)
	var output *OutputError
	if err == nil || !errors.As(err, &output) || !output.Repairable() {
		return value, err
	}
	repair := s.Repair(err)
	if reply, err = ask(ctx, &repair); err != nil {
		return none, err
	}
	return s.Decode(reply)
}
