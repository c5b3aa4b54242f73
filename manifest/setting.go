package manifest

// Setting is one thing that an author decides about a step.
type Setting struct {
	// Key is the dot path of the value in the step's configuration, such as
	// params.temperature.
	Key         string `json:"key"`
	Label       string `json:"label"` // at most 40 characters
	Widget      Widget `json:"widget"`
	Level       Level  `json:"level"`
	Tip         string `json:"tip,omitempty"` // at most 160 characters; ends with the default
	Placeholder string `json:"placeholder,omitempty"`
	// Default is what an unset value means. It is not written into the
	// configuration.
	Default any `json:"default,omitzero"`
	// Defaults are defaults that depend on other settings; the first one that
	// holds counts before Default.
	Defaults []ConditionalDefault `json:"defaults,omitzero"`
	// When shows the setting only while it holds; nil is always.
	When *Condition `json:"when,omitzero"`
	// UnusedNote is shown when the setting is saved but When does not hold.
	UnusedNote string   `json:"unused_note,omitempty"`
	Min        *float64 `json:"min,omitzero"` // inclusive
	Max        *float64 `json:"max,omitzero"` // inclusive
	Integer    bool     `json:"integer,omitempty"`
	// Options are the choices of a select, OptionLabels their names.
	Options      []string          `json:"options,omitzero"`
	OptionLabels map[string]string `json:"option_labels,omitzero"`
	// Refs lets the author insert fields of earlier steps.
	Refs bool `json:"refs,omitempty"`
	// Value marks a template that yields one value.
	Value bool   `json:"value,omitempty"`
	Empty string `json:"empty,omitempty"` // what an empty value means, in words
	// EmptyChoice names a first choice: to leave the setting empty, or to give a
	// value. It has two entries or none.
	EmptyChoice []string `json:"empty_choice,omitzero"`
	Loader      Loader   `json:"loader,omitempty"`
	AI          string   `json:"ai,omitempty"` // further note for the AI builder
	// RecordedAs is the key of the resolved value in a run's trace; empty is Key.
	RecordedAs string `json:"recorded_as,omitempty"`
}

// ConditionalDefault is a default that holds under a condition.
type ConditionalDefault struct {
	When  *Condition `json:"when,omitzero"`
	Value any        `json:"value"`
}

// Level says how prominent a setting is.
type Level string

// The levels.
const (
	// LevelSetup is what every author decides; it is always shown.
	LevelSetup Level = "setup"
	// LevelOption is shown when set, and offered otherwise.
	LevelOption Level = "option"
	// LevelRecovery is an option of what happens when something goes wrong.
	LevelRecovery Level = "recovery"
	// LevelAdvanced is an option that sorts last.
	LevelAdvanced Level = "advanced"
)

// Loader names where the options of a setting come from when they depend on the
// step's model.
type Loader string

// The loaders.
const (
	LoaderVoices           Loader = "voices"
	LoaderReasoningEfforts Loader = "reasoning_efforts"
)

// Widget is the editor of a setting.
type Widget string

// The widgets.
const (
	WidgetText           Widget = "text"
	WidgetTextarea       Widget = "textarea"
	WidgetPrompt         Widget = "prompt"
	WidgetJSON           Widget = "json"
	WidgetExpr           Widget = "expr"
	WidgetNumber         Widget = "number"
	WidgetBoolean        Widget = "boolean"
	WidgetSelect         Widget = "select"
	WidgetModel          Widget = "model"
	WidgetKnowledgeBases Widget = "knowledge_bases"
	WidgetAgents         Widget = "agents"
	WidgetList           Widget = "list"
	WidgetRoutes         Widget = "routes"
	WidgetAssignments    Widget = "assignments"
	WidgetChecks         Widget = "checks"
	WidgetFields         Widget = "fields"
	WidgetVoice          Widget = "voice"
)

// EffectiveDefault is what an unset value of the setting means in a
// configuration: the first conditional default that holds, else Default.
func (s *Setting) EffectiveDefault(config map[string]any) any {
	for _, d := range s.Defaults {
		if d.When.Matches(config) {
			return d.Value
		}
	}
	return s.Default
}
