package workflow

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/treadle-dev/treadle/workspace"
)

// maxGroupFolder bounds the name of a group's folder, in bytes.
const maxGroupFolder = 100

// Folder is the name of the folder that runs of the group have in their iteration: the
// group's name in lower case, with a "-" for everything but letters, digits and "_". It
// is empty when nothing is left of the name.
func (g *Group) Folder() string {
	var b strings.Builder
	for _, r := range strings.ToLower(g.Name) {
		if !unicode.In(r, unicode.L, unicode.N, unicode.M) && r != '_' {
			r = '-'
		}
		if r != '-' || !strings.HasSuffix(b.String(), "-") {
			b.WriteRune(r)
		}
	}
	return strings.Trim(b.String(), "-")
}

// isGroupFolder reports whether a folder in an iteration can be that of a group.
func isGroupFolder(name string) bool {
	canonical := (&Group{Name: name}).Folder()
	return name != "" && len(name) <= maxGroupFolder && name == canonical && !slices.Contains(runNames(), name)
}

// runNames are what a run has in its folder, by the first part of their paths, and what
// ledgers and listings call runs without a group. No group's folder is called so.
func runNames() []string {
	layout := workspace.RunLayout("r")
	names := []string{"batch", "downloads", "evaluation", "journal", workspace.Ungrouped}
	for _, path := range []string{
		layout.Journal(), layout.JournalBlobs(), layout.Lock(), layout.Metadata(), layout.StepConfig(),
		layout.WorkRoot(), layout.Execution(""), layout.StepLogs("s"), layout.ToolOutput("s"), layout.Feedback(),
	} {
		name, _, _ := strings.Cut(strings.TrimPrefix(path, layout.Dir()+"/"), "/")
		names = append(names, name)
	}
	return names
}

// groupOfFolder is the group's part of a run's folder; empty for a run without one.
func groupOfFolder(run string) string {
	_, group, _ := strings.Cut(run, "/")
	return group
}

// Group is the group of a name, or of the name of its folder, or nil.
func (f *VariablesFile) Group(name string) *Group {
	for _, matches := range []func(*Group) bool{
		func(g *Group) bool { return g.Name == name },
		func(g *Group) bool { return g.Folder() == name },
	} {
		if i := slices.IndexFunc(f.Groups, func(g Group) bool { return name != "" && matches(&g) }); i >= 0 {
			return &f.Groups[i]
		}
	}
	return nil
}

// GroupNames are the names of all groups, in the order of the file.
func (f *VariablesFile) GroupNames() []string {
	names := make([]string, 0, len(f.Groups))
	for i := range f.Groups {
		names = append(names, f.Groups[i].Name)
	}
	return names
}

// Values are the values of the variables in a group: the group's own, and for variables
// that it has none of, theirs. Nil is no group. Variables without a value are not in it.
func (f *VariablesFile) Values(group *Group) Variables {
	vars := make(Variables, len(f.Variables))
	for i := range f.Variables {
		v := &f.Variables[i]
		if v.Value != nil {
			vars[v.Name] = *v.Value
		}
		if group == nil {
			continue
		}
		if value, ok := group.Values[v.Name]; ok {
			vars[v.Name] = value
		}
	}
	return vars
}

// chooseGroup is the group that a run is of, nil for none, or why it cannot be.
func (f *VariablesFile) chooseGroup(name string) (*Group, workspace.Diagnostics) {
	r := findings{file: workspace.VariablesFile, table: variablesCodes}
	group := f.Group(name)
	switch {
	case group != nil || name == "" && len(f.Groups) == 0:
	case name == "":
		r.add(codeGroupRequired, "/groups", "the workflow has groups of variables, so a run needs the name of one", "choose one with --group: "+f.groupList())
	case len(f.Groups) == 0:
		r.add(codeGroupUnknown, "/groups", fmt.Sprintf("there is no group %q: the workflow has no groups", name), "run it without a group")
	default:
		r.add(codeGroupUnknown, "/groups", fmt.Sprintf("there is no group %q", name), "choose one of "+f.groupList())
	}
	return group, r.found
}

// groupList names the groups for people.
func (f *VariablesFile) groupList() string {
	const most = 20
	names := f.GroupNames()
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}
