package workflow

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// orphan is a step that only others refer to.
type orphan struct {
	pointer string
	step    Step // nil when it could not be read
	used    bool
}

// orphanRef is where a step refers to an orphan.
type orphanRef struct {
	from, to string // ids
	pointer  string
}

// resolveOrphans checks what orphan steps say, and who refers to them.
func (c *compiler) resolveOrphans(plan *Plan) {
	for _, ref := range c.ids.refs {
		c.resolveRef(ref)
	}
	for _, step := range plan.OrphanSteps {
		if step == nil {
			continue
		}
		o := c.ids.orphans[step.Base().ID]
		if o == nil || o.step != step {
			continue // its id is reported
		}
		if !o.used {
			c.report(codeOrphanUnused, o.pointer, fmt.Sprintf("no step refers to the orphan step %q", step.Base().ID), "")
		}
		c.resolveShares(o)
		c.resolveOrphan(o)
	}
}

func (c *compiler) resolveRef(ref orphanRef) {
	o := c.ids.orphans[ref.to]
	if o == nil {
		c.report(codeOrphanUnknown, ref.pointer, fmt.Sprintf("there is no orphan step %q", ref.to), "")
		return
	}
	o.used = true
	if o.step == nil {
		return
	}
	if shared := o.step.Base().SharedWith; shared != nil && !slices.Contains(shared.OrchestratorIDs, ref.from) {
		c.report(codeOrphanUnshared, ref.pointer, fmt.Sprintf("the orphan step %q is not shared with %q", ref.to, ref.from), "")
	}
}

func (c *compiler) resolveShares(o *orphan) {
	shared := o.step.Base().SharedWith
	if shared == nil {
		return
	}
	for i, id := range shared.OrchestratorIDs {
		if !c.ids.inPlan(id) {
			c.report(codeOrphanSharedWith, o.pointer+"/shared_with/orchestrator_ids/"+strconv.Itoa(i), fmt.Sprintf("there is no step %q to share with", id), "")
		}
	}
}

// resolveOrphan checks the parts of an orphan step that mean the same wherever it runs.
func (c *compiler) resolveOrphan(o *orphan) {
	base := o.step.Base()
	s := &compiledStep{Step: o.step, id: base.ID, pointer: o.pointer, index: -1, next: -1}
	c.resolveOutputs(s)
	c.resolveSchema(s)
	for i, dependency := range base.ContextDependencies {
		c.checkVariables(dependency, dependencyPointer(s, i))
		if slices.ContainsFunc(c.expansions(strings.TrimSuffix(dependency, "/")), func(name string) bool { return !localName(name) }) {
			c.report(codeDependencyInvalid, dependencyPointer(s, i), fmt.Sprintf("%q is no path in the workspace", dependency), "")
		}
	}
	c.checkVariables(base.Title, s.pointer+"/title")
	c.checkVariables(base.Description, s.pointer+"/description")
}
