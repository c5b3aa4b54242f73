package workflow

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/treadle-dev/treadle/internal/openjson"
	"github.com/treadle-dev/treadle/workspace"
)

// VariablesFile is variables/variables.json. A missing file is the zero value. What the
// struct cannot hold, such as unknown keys, is kept and written again.
type VariablesFile struct {
	open

	Variables []Variable `json:"variables,omitempty"`
	// Groups are the sets of values that the workflow is run with, one a run. Without
	// groups the variables have their own values alone.
	Groups []Group `json:"groups,omitempty"`
	// ExtractionDate is when the variables were taken out of the plan, as RFC 3339.
	ExtractionDate string `json:"extraction_date,omitempty"`
}

// Variable is a name that texts of the plan may use as {{NAME}}.
type Variable struct {
	open

	Name string `json:"name,omitempty"`
	// Value is the value where neither a group nor the run gives another; nil is none.
	Value       *string `json:"value,omitempty"`
	Description string  `json:"description,omitempty"`
	// Type says what the variable is meant to hold, such as "object". It is kept and not
	// checked.
	Type string `json:"type,omitempty"`
}

// Group is a named set of values.
type Group struct {
	open

	Name string `json:"name,omitempty"`
	// Values are by the names of variables.
	Values Values `json:"values,omitempty"`
	// Enabled says whether the group is run when all groups are; nil is true. A group
	// that is not enabled can still be run by its name.
	Enabled *bool `json:"enabled,omitempty"`
	// DisplayName is a title of older files. It is the name of a group that has no
	// other.
	DisplayName string `json:"display_name,omitempty"`

	// GroupID is the older form of Name, into which reading migrates it.
	GroupID string `json:"group_id,omitempty"`
}

// IsEnabled reports whether the group is run when all groups are.
func (g *Group) IsEnabled() bool { return g.Enabled == nil || *g.Enabled }

// UnmarshalJSON implements [json.Unmarshaler]. Any JSON value is taken; what does not
// fit is kept and reported by [ReadVariables].
func (f *VariablesFile) UnmarshalJSON(data []byte) error { return f.rest.Decode(data, f) }

// MarshalJSON implements [json.Marshaler].
func (f VariablesFile) MarshalJSON() ([]byte, error) { return f.rest.Encode(&f) }

// UnmarshalJSON implements [json.Unmarshaler].
func (v *Variable) UnmarshalJSON(data []byte) error { return v.rest.Decode(data, v) }

// MarshalJSON implements [json.Marshaler].
func (v Variable) MarshalJSON() ([]byte, error) { return v.rest.Encode(&v) }

// UnmarshalJSON implements [json.Unmarshaler].
func (g *Group) UnmarshalJSON(data []byte) error { return g.rest.Decode(data, g) }

// MarshalJSON implements [json.Marshaler].
func (g Group) MarshalJSON() ([]byte, error) { return g.rest.Encode(&g) }

// ReadVariables reads variables/variables.json with everything that is wrong with it. A
// file that does not exist gives the zero value. The result is nil only when nothing
// could be read from the file: it is no JSON, or no object. The error is the storage's.
func ReadVariables(ctx context.Context, ws *workspace.Workspace) (*VariablesFile, workspace.Diagnostics, error) {
	data, err := readIfExists(ctx, ws.Storage(), workspace.VariablesFile)
	if err != nil {
		return nil, nil, err
	}
	file, ds := decodeVariables(data)
	ds.Locate(workspace.VariablesFile, data)
	return file, ds, nil
}

// parseVariables is never nil.
func parseVariables(data []byte) (*VariablesFile, workspace.Diagnostics) {
	file, ds := decodeVariables(data)
	if file == nil {
		file = &VariablesFile{}
	}
	return file, ds
}

func decodeVariables(data []byte) (*VariablesFile, workspace.Diagnostics) {
	f := &VariablesFile{}
	if data == nil {
		return f, nil
	}
	r := &variablesReader{findings: findings{file: workspace.VariablesFile, table: variablesCodes}, read: f}
	if !r.decode(data, f, codeVariablesJSON, codeVariablesType) {
		return nil, r.found
	}
	codes := faultCodes{codeVariablesType, codeVariablesKeyUnknown, codeVariablesKeyDuplicate}
	r.objects("", f, codes, r.wrongType)
	r.variables()
	r.groups()
	return f, r.found
}

type variablesReader struct {
	findings
	read     *VariablesFile
	declared map[string]int
}

// wrongType names each value of a group that is no string.
func (r *variablesReader) wrongType(at string, owner openObject, fault openjson.Fault) {
	if _, isGroup := owner.(*Group); isGroup && fault.Key == "values" {
		wrong := wrongValues(owner.members().Kept(fault.Key))
		for _, m := range wrong {
			r.add(codeVariablesType, at+"/"+workspace.PointerEscape(m.Key), "must be a string, is "+openjson.KindOf(m.Value), "")
		}
		if len(wrong) > 0 {
			return
		}
	}
	r.add(codeVariablesType, at, fmt.Sprintf("must be %s, is %s", fault.Wants, fault.Found), "")
}

func (r *variablesReader) variables() {
	r.declared = map[string]int{}
	folded := map[string]string{}
	for i := range r.read.Variables {
		v, at := &r.read.Variables[i], fmt.Sprintf("/variables/%d/name", i)
		_, twice := r.declared[v.Name]
		lower := strings.ToLower(v.Name)
		switch {
		case v.rest.Whole() != nil || v.rest.Kept("name") != nil:
			continue // it has no name that is a text, which has been reported
		case !variableName.MatchString(v.Name):
			r.add(codeVariableName, at, fmt.Sprintf("%q is no variable name", openjson.Excerpt(v.Name, 60)), "")
			continue
		case twice:
			r.add(codeVariableDuplicate, at, fmt.Sprintf("the variable %q is declared twice", v.Name), "")
			continue
		case folded[lower] != "":
			r.add(codeVariableCase, at, fmt.Sprintf("the variable %q differs from %q only by case", v.Name, folded[lower]), "")
		case v.Name == "GROUP_NAME":
			r.add(codeVariableReserved, at, "scripts get the name of the run's group as VAR_GROUP_NAME", "")
		}
		r.declared[v.Name], folded[lower] = i, v.Name
	}
}

func (r *variablesReader) groups() {
	names, folders := map[string]bool{}, map[string]string{}
	for i := range r.read.Groups {
		g, at := &r.read.Groups[i], "/groups/"+strconv.Itoa(i)
		if g.rest.Whole() != nil || g.rest.Kept("name") != nil {
			continue // it has no name that is a text, which has been reported
		}
		r.migrateGroup(g, at)
		r.groupName(g, at, names, folders)
		r.groupValues(g, at)
	}
}

// migrateGroup gives a group of an older form its name.
func (r *variablesReader) migrateGroup(g *Group, at string) {
	switch {
	case g.GroupID != "":
		r.add(codeGroupLegacy, at+"/group_id", "group_id is the older form of name", "")
		if g.Name == "" {
			g.Name = g.GroupID
		}
		g.GroupID = ""
	case g.Name == "" && g.DisplayName != "":
		r.add(codeGroupLegacy, at+"/display_name", "display_name is the older form of name", "")
		g.Name = g.DisplayName
	}
}

func (r *variablesReader) groupName(g *Group, at string, names map[string]bool, folders map[string]string) {
	at += "/name"
	folder := g.Folder()
	switch {
	case strings.TrimSpace(g.Name) == "":
		r.add(codeGroupName, at, "the group has no name", "")
		return
	case names[g.Name]:
		r.add(codeGroupDuplicate, at, fmt.Sprintf("the group %q stands twice", g.Name), "")
		return
	case slices.Contains(runNames(), folder):
		r.add(codeGroupReserved, at, fmt.Sprintf("the folder of the group %q would be %q, which has a meaning of its own", g.Name, folder), "")
	case !isGroupFolder(folder):
		r.add(codeGroupFolder, at, fmt.Sprintf("no folder can be called after the group %q", openjson.Excerpt(g.Name, 60)), "")
	case folders[folder] != "":
		r.add(codeGroupCollision, at, fmt.Sprintf("the groups %q and %q would both have the folder %q", folders[folder], g.Name, folder), "")
	}
	names[g.Name], folders[folder] = true, g.Name
}

func (r *variablesReader) groupValues(g *Group, at string) {
	at += "/values"
	for _, name := range slices.Sorted(maps.Keys(g.Values)) {
		if _, ok := r.declared[name]; !ok {
			r.add(codeGroupUndeclared, at+"/"+workspace.PointerEscape(name), fmt.Sprintf("the variable %q is not declared", openjson.Excerpt(name, 60)), "")
		}
	}
	if g.rest.Kept("values") != nil {
		return // which values there are is not known
	}
	for i := range r.read.Variables {
		v := &r.read.Variables[i]
		if _, given := g.Values[v.Name]; given || v.Value != nil || v.Type != "" || r.declared[v.Name] != i || v.Name == "" {
			continue
		}
		if v.rest.Kept("value") == nil {
			r.add(codeGroupValueMissing, at, fmt.Sprintf("the group %q has no value for the variable %q, which has none of its own", g.Name, v.Name), "")
		}
	}
}
