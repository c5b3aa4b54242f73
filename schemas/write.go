package schemas

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/treadle-dev/treadle/manifest"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

// ManifestsFile is the name of the file with the manifests of all step types.
const ManifestsFile = "steps.json"

// Manifests is the JSON of the manifests of the built-in step types and a host's own:
// an object with a list "steps", in the order of the types' names. A type without a
// manifest has none there. The errors are that of [workflow.StepTypes], and one for a
// manifest that JSON cannot hold.
func Manifests(types ...*workflow.StepType) ([]byte, error) {
	all, err := workflow.StepTypes(types...)
	if err != nil {
		return nil, err
	}
	list := struct {
		Steps []*manifest.Manifest `json:"steps"`
	}{Steps: []*manifest.Manifest{}}
	for _, t := range all {
		if t.Manifest == nil {
			continue
		}
		if _, err := json.Marshal(t.Manifest); err != nil {
			return nil, fmt.Errorf("the manifest of step type %q: %w", t.Name, err)
		}
		list.Steps = append(list.Steps, t.Manifest)
	}
	return indented(plain(list)), nil
}

// Write puts every schema and the manifests into a storage, such as a folder that
// [workspace.NewDir] has opened, and returns the names of the files. A file of such a
// name is replaced, whole or not at all; others are left alone. The error is the
// storage's or that of [All] and [Manifests], which comes before anything is written.
func Write(ctx context.Context, st workspace.Storage, types ...*workflow.StepType) ([]string, error) {
	all, err := All(types...)
	if err != nil {
		return nil, err
	}
	manifests, err := Manifests(types...)
	if err != nil {
		return nil, err
	}
	var names []string
	write := func(name string, text []byte) error {
		if err := st.WriteFile(ctx, name, text, workspace.Durable); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
		names = append(names, name)
		return nil
	}
	for _, d := range all {
		if err := write(d.FileName(), d.JSON()); err != nil {
			return names, err
		}
	}
	err = write(ManifestsFile, manifests)
	return names, err
}
