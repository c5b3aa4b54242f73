package stepconfig

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"

	"github.com/treadle-dev/treadle/internal/fileedit"
	"github.com/treadle-dev/treadle/workspace"
)

// Load reads the configuration of a run, found as [Read] does. Without any file the
// result is a file without steps. The error is the storage's; faults in the file are
// diagnostics, and the file is nil when nothing could be read from it.
func Load(ctx context.Context, st workspace.Storage, run string) (*File, workspace.Diagnostics, error) {
	name, data, err := Read(ctx, st, run)
	if err != nil {
		return nil, nil, err
	}
	if data == nil {
		return &File{}, nil, nil
	}
	file, found := Parse(name, data)
	return file, found, nil
}

// Read finds the configuration of a run and says which file it is: the run's own file
// where it exists, used whole, else the default one. An empty run means the default
// file. The run is a folder below runs, such as iteration-1. Without any file the name
// is the default one and the content is nil; that of an empty file is not.
func Read(ctx context.Context, st workspace.Storage, run string) (name string, data []byte, err error) {
	names := []string{workspace.StepConfigFile}
	if run != "" {
		names = []string{workspace.RunLayout(run).StepConfig(), workspace.StepConfigFile}
	}
	for _, name := range names {
		data, err := fileedit.ReadIfExists(ctx, st, name)
		if err != nil || data != nil {
			return name, data, err
		}
	}
	return workspace.StepConfigFile, nil, nil
}

// Name is the name under which the file was parsed; empty when there was no file.
func (f *File) Name() string {
	if f == nil {
		return ""
	}
	return f.name
}

// Pointer is the JSON pointer of the i-th of Steps in the file as it was read, which
// differs between the present form and the legacy list.
func (f *File) Pointer(i int) string {
	if f != nil && f.legacy {
		return "/" + strconv.Itoa(i)
	}
	return "/steps/" + strconv.Itoa(i)
}

// Step returns the configuration of a step, or nil. Where the id stands more than
// once the last entry counts. The result may be changed, which changes the file.
func (f *File) Step(id string) *StepConfig {
	if f == nil || id == "" {
		return nil
	}
	for i := len(f.Steps) - 1; i >= 0; i-- {
		if f.Steps[i].ID == id {
			return &f.Steps[i]
		}
	}
	return nil
}

// Encode is the text of the file in its present form, an object with a list of steps,
// indented by two spaces. It checks nothing: what is wrong with the file stays so. To
// change a file that is stored, use [Update].
func (f *File) Encode() ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(f); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
