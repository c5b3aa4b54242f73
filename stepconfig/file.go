package stepconfig

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"

	"github.com/treadle-dev/treadle/workspace"
)

// Load reads the configuration of a run: the run's own file where it exists, used
// whole, else the default one. An empty run means the default file. The run is a
// folder below runs, such as iteration-1. Without any file the result is a file
// without steps. The error is the storage's; faults in the file are diagnostics,
// and the file is nil when nothing could be read from it.
func Load(ctx context.Context, st workspace.Storage, run string) (*File, workspace.Diagnostics, error) {
	names := []string{workspace.StepConfigFile}
	if run != "" {
		names = []string{workspace.RunLayout(run).StepConfig(), workspace.StepConfigFile}
	}
	for _, name := range names {
		data, err := st.ReadFile(ctx, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		file, found := Parse(name, data)
		return file, found, nil
	}
	return &File{}, nil, nil
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

// Encode writes the file in its present form, an object with a list of steps,
// indented by two spaces.
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
