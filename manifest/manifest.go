package manifest

import (
	"bytes"
	"encoding/json"
)

// Manifest describes one step type. Empty fields are left out of the JSON.
type Manifest struct {
	// Type is the "type" of the steps in a plan; one manifest per type.
	Type string `json:"type"`
	// Version rises when a setting changes its meaning. It starts at 1.
	Version int      `json:"version"`
	Label   string   `json:"label"`
	Summary string   `json:"summary,omitempty"` // one line
	Use     string   `json:"use,omitempty"`     // for the AI builder: what it is best for, its limits, its model calls
	Guide   []string `json:"guide,omitzero"`    // how-to bullets
	// Keywords are further words that a search of the step library matches.
	Keywords   string     `json:"keywords,omitempty"`
	Category   Category   `json:"category,omitempty"`
	CallsModel CallsModel `json:"calls_model,omitempty"`
	Docs       string     `json:"docs,omitempty"` // address
	Research   *Research  `json:"research,omitzero"`
	// CannotRunAlone is the reason why the step is not run by itself; empty means
	// that it can be.
	CannotRunAlone string    `json:"cannot_run_alone,omitempty"`
	Flow           *Flow     `json:"flow,omitzero"`
	Sentence       []Segment `json:"sentence,omitzero"`
	Settings       []Setting `json:"settings,omitzero"` // in the order of the panel
	Parts          []Part    `json:"parts,omitzero"`
	Outputs        []Output  `json:"outputs,omitzero"`
	Presets        []Preset  `json:"presets,omitzero"`
	// Defaults is the configuration of a new step before any preset.
	Defaults map[string]any `json:"defaults,omitzero"`
}

// Category groups step types in a library.
type Category string

// The categories.
const (
	CategoryStart     Category = "start"
	CategoryAI        Category = "ai"
	CategorySafety    Category = "safety"
	CategoryLogic     Category = "logic"
	CategoryKnowledge Category = "knowledge"
	CategoryTools     Category = "tools"
	CategoryAnnotate  Category = "annotate"
)

// CallsModel says whether a step calls a model; empty is never.
type CallsModel string

// The values of [CallsModel].
const (
	CallsModelAlways CallsModel = "always"
	CallsModelSome   CallsModel = "some"
)

// Research names the study that a step type rests on.
type Research struct {
	Title   string `json:"title"`
	Summary string `json:"summary"`
	URL     string `json:"url"`
}

// Flow says how a step goes on.
type Flow struct {
	Kind FlowKind `json:"kind"`
	// Keys are the branches of the kind branches in order, Labels their names.
	Keys   []string          `json:"keys,omitzero"`
	Labels map[string]string `json:"labels,omitzero"`
}

// FlowKind is the way in which a step goes on.
type FlowKind string

// The kinds of flow.
const (
	FlowNext     FlowKind = "next"
	FlowTerminal FlowKind = "terminal"
	FlowNone     FlowKind = "none"
	FlowBranches FlowKind = "branches"
	FlowRoutes   FlowKind = "routes"
	FlowPaths    FlowKind = "paths"
	FlowCases    FlowKind = "cases"
)

// Part is a built-in editor that stands among the settings.
type Part struct {
	ID    string `json:"id"` // such as @routes
	Level Level  `json:"level,omitempty"`
	After string `json:"after,omitempty"` // key of the setting that it stands after
}

// Output is a value that later steps can read.
type Output struct {
	Path  string     `json:"path"`
	Label string     `json:"label"`
	Type  OutputType `json:"type"`
	Item  string     `json:"item,omitempty"` // the fields of a list's items, by name
	Tip   string     `json:"tip,omitempty"`
	When  *Condition `json:"when,omitzero"`
}

// OutputType is the type of an [Output].
type OutputType string

// The types of outputs.
const (
	OutputString  OutputType = "string"
	OutputNumber  OutputType = "number"
	OutputBoolean OutputType = "boolean"
	OutputList    OutputType = "list"
	OutputAny     OutputType = "any"
)

// Preset is a first choice when a step is added. It only fills settings.
type Preset struct {
	ID     string         `json:"id"`
	Label  string         `json:"label"`
	Tip    string         `json:"tip,omitempty"`
	Config map[string]any `json:"config,omitzero"`
}

// UnmarshalJSON implements [json.Unmarshaler]. Numbers of open fields, such as
// defaults, become [json.Number], so that they come back as they were written.
func (m *Manifest) UnmarshalJSON(data []byte) error {
	type plain Manifest
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var decoded plain
	if err := dec.Decode(&decoded); err != nil {
		return err
	}
	*m = Manifest(decoded)
	return nil
}
