package workflow

import (
	"slices"
	"strings"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/stepconfig"
	"github.com/treadle-dev/treadle/workspace"
)

// selection is what a step may use: its own configuration over the workflow's.
// Servers are all where neither chooses, custom tools none.
func (p *Program) selection(s *compiledStep) agent.Selection {
	caps, defaults := &p.settings.Capabilities, &p.settings.ExecutionDefaults
	selected := agent.Selection{
		Servers: caps.SelectedServers, Tools: caps.SelectedTools, Custom: defaults.EnabledCustomTools,
	}
	if s.config == nil {
		return selected
	}
	if len(s.config.SelectedServers) > 0 {
		selected.Servers = s.config.SelectedServers
	}
	if s.config.SelectedTools != nil {
		selected.Tools = s.config.SelectedTools
	}
	if s.config.EnabledCustomTools != nil {
		selected.Custom = s.config.EnabledCustomTools
	}
	return selected
}

// Folders of the workspace's stores that steps get into.
const (
	notesDir       = workspace.KnowledgebaseDir + "/notes"
	globalSkillDir = workspace.LearningsDir + "/_global"
)

// guard is what a visit may touch: its work folder and the folders that steps
// share, what the configuration grants of the stores, and the files of the workspace
// that it depends on.
func (sc *StepContext) guard() *workspace.Guard {
	config := sc.step.config
	if config == nil {
		config = &stepconfig.AgentConfigs{}
	}
	layout := sc.run.layout
	g := &workspace.Guard{
		Write: []string{layout.Work(sc.leaf.key), layout.Downloads()},
		Read:  []string{layout.Execution(""), layout.ToolOutput(sc.step.id), workspace.SoulFile},
	}
	if config.DBAccess == stepconfig.AccessRead {
		g.Read = append(g.Read, workspace.DBDir)
	} else {
		g.Write = append(g.Write, workspace.DBDir)
	}
	switch config.KnowledgebaseAccess {
	case stepconfig.AccessRead:
		g.Read = append(g.Read, workspace.KnowledgebaseDir)
	case stepconfig.AccessWrite:
		g.Write = append(g.Write, notesDir)
	case stepconfig.AccessReadWrite:
		g.Read = append(g.Read, workspace.KnowledgebaseDir)
		g.Write = append(g.Write, notesDir)
	}
	if config.EffectiveLearningsAccess() != stepconfig.AccessNone {
		g.Read = append(g.Read, globalSkillDir, workspace.LearningsDir+"/"+sc.step.id)
	}
	for _, name := range config.AdditionalReadPaths {
		g.Read = append(g.Read, strings.TrimSuffix(name, "/"))
	}
	for _, in := range sc.step.inputs {
		if len(in.producers) > 0 {
			continue // in the execution folder
		}
		if name, _ := sc.run.vars.Expand(in.file); g.Access(name) == workspace.NoAccess {
			g.Read = append(g.Read, name)
		}
	}
	slices.Sort(g.Read)
	g.Read = slices.Compact(g.Read)
	return g
}
