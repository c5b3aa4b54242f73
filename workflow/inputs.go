package workflow

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Texts of inputs up to these sizes, in bytes, are put into the prompt; larger
// ones are given by path.
const (
	maxInlineInput  = 15 << 10
	maxInlineInputs = 50 << 10
)

// input is a resolved context dependency.
type input struct {
	name      string  // as the plan has it
	place     int     // in context_dependencies
	producers []int32 // steps that may have published it, the latest last
	file      string  // in a producer's execution folder, or in the workspace
}

// resolveInput finds who produces a dependency: a step by its declared output, a
// step by {step}/{file}, or nobody, for a file of the workspace. Whether the producers
// run before the step is asked of the graph later.
func (c *compiler) resolveInput(s *compiledStep, i int, name string) {
	pointer := dependencyPointer(s, i)
	in := input{name: name, place: i, file: strings.TrimSuffix(name, "/")}
	c.checkVariables(name, pointer)
	if slices.ContainsFunc(c.expansions(in.file), func(file string) bool { return !localName(file) }) {
		c.report(codeDependencyInvalid, pointer, fmt.Sprintf("%q is no path in the workspace", name), "")
		return
	}
	first, rest, nested := strings.Cut(in.file, "/")
	producer, isStep := c.program.byID[first]
	switch {
	case len(c.producers[in.file]) > 0:
		in.producers = c.producers[in.file]
	case nested && isStep:
		in.producers, in.file = []int32{producer}, rest
	case isStep && strings.HasSuffix(name, "/"):
		in.producers, in.file = []int32{producer}, "."
	case nested || strings.HasSuffix(name, "/"):
		// A file or folder of the workspace; whether it exists is known when the step runs.
	case c.ids.brokenOutputs[in.file]: // of a step that is reported
	default:
		c.report(codeDependencyUnknown, pointer, fmt.Sprintf("no step declares %q as its context_output", name), c.outputsHint())
		return
	}
	if len(in.producers) == 1 && in.producers[0] == s.index {
		c.report(codeDependencyOwn, pointer, fmt.Sprintf("%q is an output of the step itself", name), "")
		return
	}
	s.inputs = append(s.inputs, in)
}

func dependencyPointer(s *compiledStep, i int) string {
	return s.pointer + "/context_dependencies/" + strconv.Itoa(i)
}

func (c *compiler) outputsHint() string {
	outputs := make([]string, 0, len(c.producers))
	for name := range c.producers {
		outputs = append(outputs, name)
	}
	if len(outputs) == 0 {
		return "no step has a context_output; for a file of the workspace give its path, such as db/" + "ledger.csv"
	}
	slices.Sort(outputs)
	return "declared outputs are: " + strings.Join(outputs[:min(len(outputs), 20)], ", ")
}

// gathered is an input as a prompt shows it.
type gathered struct {
	Name string // as the plan has it
	Path string // for tools
	From string // the step that produced it, or empty
	Text string // inlined content, or empty
}

// MissingInputError says that a declared dependency of a step is not there.
type MissingInputError struct {
	Name  string   // as the plan has it
	Tried []string // where it was looked for
}

func (e *MissingInputError) Error() string {
	return fmt.Sprintf("input %s is missing; looked for %s", e.Name, strings.Join(e.Tried, ", "))
}

// gather finds every input of the step and reads the small texts.
func (sc *StepContext) gather(ctx context.Context) ([]gathered, error) {
	var inputs []gathered
	room := maxInlineInputs
	for _, in := range sc.step.inputs {
		g, err := sc.find(ctx, in)
		if err != nil {
			return nil, err
		}
		if g.Text = sc.inline(ctx, g.Path, room); g.Text != "" {
			room -= len(g.Text)
		}
		g.Path = sc.toolPath(g.Path)
		inputs = append(inputs, g)
	}
	return inputs, nil
}

// find returns the first place where an input exists; the latest producer comes
// first.
func (sc *StepContext) find(ctx context.Context, in input) (gathered, error) {
	file, _ := sc.run.vars.Expand(in.file)
	type place struct{ path, from string }
	var places []place
	for _, producer := range slices.Backward(in.producers) {
		id := sc.run.program.steps[producer].id
		places = append(places, place{path.Join(sc.run.layout.Execution(id), file), id})
	}
	if len(in.producers) == 0 {
		places = append(places, place{file, ""})
	}
	files, missing := sc.hostView(), &MissingInputError{Name: in.name}
	for _, p := range places {
		_, err := files.Stat(ctx, p.path)
		if err == nil {
			return gathered{Name: in.name, Path: p.path, From: p.from}, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return gathered{}, fmt.Errorf("input %s: %w", in.name, err)
		}
		missing.Tried = append(missing.Tried, p.path)
	}
	return gathered{}, missing
}

// inline returns the content of a small text file, else "".
func (sc *StepContext) inline(ctx context.Context, name string, room int) string {
	st := sc.hostView()
	info, err := st.Stat(ctx, name)
	if err != nil || info.IsDir() || info.Size() > int64(min(maxInlineInput, room)) {
		return ""
	}
	data, err := st.ReadFile(ctx, name)
	if err != nil || !utf8.Valid(data) {
		return ""
	}
	return string(data)
}

// toolPath is how the tools of a step name a file of the workspace: by its
// absolute path where there is one.
func (sc *StepContext) toolPath(name string) string {
	if local, ok := sc.run.ws.LocalPath(name); ok {
		return local
	}
	return path.Clean(name)
}
