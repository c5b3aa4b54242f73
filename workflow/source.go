package workflow

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/treadle-dev/treadle/internal/fileedit"
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
	src, faulty, err := loadSource(ctx, ws.Storage(), runFolder)
	switch {
	case err != nil:
		return nil, err
	case len(faulty) > 0:
		return nil, faulty[0].err
	}
	return src, nil
}

// faultyFile is a name where a file belongs and none can be read.
type faultyFile struct {
	name string
	err  error
}

// loadSource reads what it can: a folder in place of a file, or a file that may not be
// read, is the workflow's fault. The error is the storage's.
func loadSource(ctx context.Context, st workspace.Storage, runFolder string) (*Source, []faultyFile, error) {
	src := &Source{}
	var faulty []faultyFile
	note := func(name string, err error) error {
		if err == nil || !isFileFault(ctx, st, name, err) {
			return err
		}
		faulty = append(faulty, faultyFile{name, err})
		return nil
	}
	for _, file := range []struct {
		name string
		into *[]byte
	}{
		{workspace.PlanFile, &src.Plan},
		{workspace.SettingsFile, &src.Settings},
		{workspace.VariablesFile, &src.Variables},
		{workspace.SoulFile, &src.Soul},
		{workspace.EvaluationPlanFile, &src.Evaluation},
	} {
		data, err := readIfExists(ctx, st, file.name)
		if err := note(file.name, err); err != nil {
			return nil, nil, err
		}
		*file.into = data
	}
	var err error
	src.StepConfigFile, src.StepConfig, err = stepconfig.Read(ctx, st, runFolder)
	if err := note(src.StepConfigFile, err); err != nil {
		return nil, nil, err
	}
	return src, faulty, nil
}

// isFileFault tells what is there instead of a file from a storage that does not work.
func isFileFault(ctx context.Context, st workspace.Storage, name string, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrInvalid) || errors.Is(err, syscall.ELOOP) {
		return true
	}
	info, statErr := st.Stat(ctx, name)
	return statErr == nil && !info.Mode().IsRegular()
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
	return fileedit.ReadIfExists(ctx, st, name)
}
