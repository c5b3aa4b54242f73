package workflow

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/treadle-dev/treadle/stepconfig"
	"github.com/treadle-dev/treadle/workspace"
)

// Source is the files that a program is compiled from. A nil file is absent; only
// the plan is required.
type Source struct {
	Plan       []byte // planning/plan.json
	StepConfig []byte // planning/step_config.json
	Settings   []byte // workflow.json
	Variables  []byte // variables/variables.json
	Soul       []byte // soul/soul.md
	Evaluation []byte // evaluation/evaluation_plan.json, whose ids are also those of steps

	// StepConfigFile is where StepConfig was found; empty is the default place.
	StepConfigFile string
}

// LoadSource reads the files of a workflow. With a run folder, such as
// "iteration-1", that run's own step configuration is used, where it exists,
// instead of the default one.
func LoadSource(ctx context.Context, ws *workspace.Workspace, runFolder string) (*Source, error) {
	src := &Source{}
	for name, into := range map[string]*[]byte{
		workspace.PlanFile:           &src.Plan,
		workspace.SettingsFile:       &src.Settings,
		workspace.VariablesFile:      &src.Variables,
		workspace.SoulFile:           &src.Soul,
		workspace.EvaluationPlanFile: &src.Evaluation,
	} {
		data, err := readIfExists(ctx, ws.Storage(), name)
		if err != nil {
			return nil, err
		}
		*into = data
	}
	var err error
	src.StepConfigFile, src.StepConfig, err = stepconfig.Read(ctx, ws.Storage(), runFolder)
	if err != nil {
		return nil, err
	}
	return src, nil
}

// locate enters the lines of findings about the files.
func (s *Source) locate(ds workspace.Diagnostics) {
	if len(ds) == 0 {
		return
	}
	config := s.StepConfigFile
	if config == "" {
		config = workspace.StepConfigFile
	}
	ds.Locate(workspace.PlanFile, s.Plan)
	ds.Locate(config, s.StepConfig)
	ds.Locate(workspace.SettingsFile, s.Settings)
	ds.Locate(workspace.VariablesFile, s.Variables)
	ds.Locate(workspace.EvaluationPlanFile, s.Evaluation)
}

// readIfExists returns nil for a file that does not exist.
func readIfExists(ctx context.Context, st workspace.Storage, name string) ([]byte, error) {
	data, err := st.ReadFile(ctx, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, err)
	case data == nil:
		return []byte{}, nil
	}
	return data, nil
}
