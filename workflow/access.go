package workflow

import (
	"path"
	"slices"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/stepconfig"
	"github.com/treadle-dev/treadle/workspace"
)

// selectionOf is what a step may use.
func selectionOf(e *stepconfig.Effective) agent.Selection {
	return agent.Selection{Servers: e.SelectedServers, Tools: e.SelectedTools, Custom: e.EnabledCustomTools}
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
	config := sc.step.effective
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
	if config.LearningsAccess != stepconfig.AccessNone {
		g.Read = append(g.Read, globalSkillDir, workspace.LearningsDir+"/"+sc.step.id)
	}
	// What is granted for reading takes no right to write away.
	grant := func(name string) {
		if g.Access(name) == workspace.NoAccess {
			g.Read = append(g.Read, name)
		}
	}
	for _, name := range config.AdditionalReadPaths {
		grant(path.Clean(name))
	}
	for _, in := range sc.step.inputs {
		if len(in.producers) > 0 {
			continue // in the execution folder
		}
		name, _ := sc.run.vars.Expand(in.file)
		grant(name)
	}
	slices.Sort(g.Read)
	g.Read = slices.Compact(g.Read)
	return g
}
