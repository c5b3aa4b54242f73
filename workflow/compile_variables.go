package workflow

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/treadle-dev/treadle/workspace"
)

// valueSet is the values that a run may have.
type valueSet struct {
	group  *Group // nil where there are no groups
	values Variables
}

// readVariables finds the values that the plan is compiled for: those of the chosen
// group, or, to check a workflow that is not run now, those of each group.
func (c *compiler) readVariables() {
	file, ds := parseVariables(c.src.Variables)
	c.ds = append(c.ds, ds...)
	c.program.variables, c.program.group = file, c.opts.Group
	c.program.declared = make(map[string]bool, len(file.Variables))
	for i := range file.Variables {
		if name := file.Variables[i].Name; variableName.MatchString(name) {
			c.program.declared[name] = true
		}
	}
	c.program.sets = c.valueSets(file)
	for _, name := range slices.Sorted(maps.Keys(c.opts.Variables)) {
		if !c.program.declared[name] && !isInput(name) && !c.opts.recalled {
			c.variables(codeVariableOverride, workspace.VariablesFile, "",
				fmt.Sprintf("a value was given for %q, which the workflow does not declare", name), c.similar(name))
		}
		for _, set := range c.program.sets {
			set.values[name] = c.opts.Variables[name]
		}
	}
}

func (c *compiler) valueSets(file *VariablesFile) []valueSet {
	switch {
	case c.opts.recalled: // the values are those that the run was started with
		return []valueSet{{values: file.Values(nil)}}
	case c.opts.Group != "" || c.opts.forRun || len(file.Groups) == 0:
		group, ds := file.chooseGroup(c.opts.Group)
		c.ds = append(c.ds, ds...)
		if ds.HasErrors() {
			return nil // no value is missed in a group that there is not
		}
		return []valueSet{{group, file.Values(group)}}
	}
	sets := make([]valueSet, len(file.Groups))
	for i := range file.Groups {
		sets[i] = valueSet{&file.Groups[i], file.Values(&file.Groups[i])}
	}
	return sets
}

// expansions are what a text is with each set of values, and the text itself where there
// is none.
func (c *compiler) expansions(text string) []string {
	if !strings.Contains(text, "{{") || len(c.program.sets) == 0 {
		return []string{text}
	}
	expanded := make([]string, len(c.program.sets))
	for i, set := range c.program.sets {
		expanded[i], _ = set.values.Expand(text)
	}
	return expanded
}

// checkVariables reports the variables of a text that are not declared or have no value.
func (c *compiler) checkVariables(text, pointer string) {
	c.checkVariablesIn(workspace.PlanFile, text, pointer)
}

func (c *compiler) checkVariablesIn(file, text, pointer string) {
	for _, name := range usedVariables(text) {
		c.checkVariable(file, name, pointer)
	}
}

func (c *compiler) checkVariable(file, name, pointer string) {
	if !c.program.declared[name] && !isInput(name) {
		if c.known(name) {
			return
		}
		c.variables(codeVariableUnknown, file, pointer, fmt.Sprintf("the variable %q is not declared", name), c.similar(name))
		return
	}
	for _, set := range c.program.sets {
		_, ok := set.values[name]
		switch {
		case ok:
		case isInput(name):
			c.variables(codeInputMissing, file, pointer, fmt.Sprintf("the run was not given %q", name), "give it when the run is started: --var "+name+"=…")
			return // no group can give it
		case set.group == nil:
			c.variables(codeVariableMissing, file, pointer, fmt.Sprintf("the variable %q has no value", name), "")
		case set.group.IsEnabled() || c.opts.Group != "":
			c.variables(codeVariableMissing, file, pointer, fmt.Sprintf("the variable %q has no value in the group %q", name, set.group.Name), "")
		}
	}
}

// known reports whether the run was started with a value of a variable that has gone.
func (c *compiler) known(name string) bool {
	_, ok := c.opts.Variables[name]
	return ok && c.opts.recalled
}

// similar is a hint where a name is that of a variable but for case.
func (c *compiler) similar(name string) string {
	for i := range c.program.variables.Variables {
		if declared := c.program.variables.Variables[i].Name; strings.EqualFold(declared, name) && declared != name {
			return fmt.Sprintf("write %q: names are case-sensitive", declared)
		}
	}
	return ""
}

func (c *compiler) variables(code, file, pointer, message, hint string) {
	r := findings{file: file, table: variablesCodes}
	r.add(code, pointer, message, hint)
	c.ds = append(c.ds, r.found...)
}

// checkSchedules reports schedules of groups that there are not.
func (c *compiler) checkSchedules() {
	r := findings{file: workspace.SettingsFile, table: settingsCodes}
	file := c.program.variables
	for i := range c.program.settings.Schedules {
		schedule, at := &c.program.settings.Schedules[i], fmt.Sprintf("/schedules/%d/group_names", i)
		if len(file.Groups) > 0 && len(schedule.GroupNames) == 0 {
			r.add(codeSettingsScheduleGroups, at, "the schedule names no group", "name at least one of "+file.groupList())
		}
		for j, name := range schedule.GroupNames {
			if file.Group(name) == nil {
				r.add(codeSettingsScheduleGroups, fmt.Sprintf("%s/%d", at, j), fmt.Sprintf("there is no group %q", name), "")
			}
		}
	}
	c.ds = append(c.ds, r.found...)
}

// groupOf is the group of a new run, nil for none and for a run that is taken up.
func (p *Program) groupOf(recorded *runRecord, opts *RunOptions) (*Group, error) {
	if recorded != nil {
		return nil, nil
	}
	name := opts.Group
	if name == "" {
		name = p.group
	}
	group, ds := p.variables.chooseGroup(name)
	return group, ds.Err()
}

// valuesFor are the values of a new run of the program.
func (p *Program) valuesFor(group *Group, given Variables) (Variables, error) {
	values := p.variables.Values(group)
	for name, value := range given {
		if !p.declared[name] && !isInput(name) {
			return nil, fmt.Errorf("a value was given for %q, which the workflow does not declare", name)
		}
		values[name] = value
	}
	return values, p.checkValues(values)
}

// checkValues reports texts of the plan that cannot be used with some values. A program
// may have been compiled for others.
func (p *Program) checkValues(values Variables) error {
	for _, s := range p.steps {
		base := s.Base()
		for _, text := range []string{base.Title, base.Description} {
			if _, missing := values.Expand(text); len(missing) > 0 {
				return fmt.Errorf("step %s: the variable %q has no value", s.id, missing[0])
			}
		}
		for _, names := range [][]string{base.ContextOutput, base.ContextDependencies} {
			for _, name := range names {
				if !strings.Contains(name, "{{") {
					continue
				}
				expanded, missing := values.Expand(name)
				switch {
				case len(missing) > 0:
					return fmt.Errorf("step %s: the variable %q has no value", s.id, missing[0])
				case !localName(strings.TrimSuffix(expanded, "/")):
					return fmt.Errorf("step %s: %q is with its variables no name of a file in a folder", s.id, name)
				}
			}
		}
	}
	return nil
}
