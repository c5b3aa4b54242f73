package manifest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Longest texts, in characters.
const (
	MaxLabel = 40
	MaxTip   = 160
)

// Validate checks the rules that every manifest keeps and returns all that is
// wrong at once, or nil.
func (m *Manifest) Validate() error {
	v := &validator{manifest: m.Type}
	v.head(m)
	for i := range m.Settings {
		v.setting(&m.Settings[i])
	}
	unique(v, "setting", m.Settings, func(s Setting) string { return s.Key })
	v.references(m)
	v.outputs(m)
	v.presets(m)
	return errors.Join(v.problems...)
}

type validator struct {
	manifest string
	problems []error
}

func (v *validator) fail(format string, args ...any) {
	v.problems = append(v.problems, fmt.Errorf("manifest %s: "+format, append([]any{v.manifest}, args...)...))
}

func (v *validator) head(m *Manifest) {
	if m.Type == "" {
		v.fail("has no type")
	}
	if m.Version < 1 {
		v.fail("version is %d, starts at 1", m.Version)
	}
	known(v, "category", m.Category, "", CategoryStart, CategoryAI, CategorySafety, CategoryLogic, CategoryKnowledge, CategoryTools, CategoryAnnotate)
	known(v, "calls_model", m.CallsModel, "", CallsModelAlways, CallsModelSome)
	v.length("label", m.Label, MaxLabel)
	if strings.Contains(m.Summary, "\n") {
		v.fail("summary has more than one line")
	}
	if m.Flow == nil {
		return
	}
	known(v, "flow kind", m.Flow.Kind, FlowNext, FlowTerminal, FlowNone, FlowBranches, FlowRoutes, FlowPaths, FlowCases)
	for _, key := range m.Flow.Keys {
		if m.Flow.Labels[key] == "" {
			v.fail("branch %q has no label", key)
		}
	}
}

func (v *validator) setting(s *Setting) {
	at := "setting " + s.Key
	if s.Key == "" || slices.Contains(strings.Split(s.Key, "."), "") {
		v.fail("setting key %q is no dot path", s.Key)
	}
	known(v, at+": widget", s.Widget, WidgetText, WidgetTextarea, WidgetPrompt, WidgetJSON, WidgetExpr, WidgetNumber, WidgetBoolean,
		WidgetSelect, WidgetModel, WidgetKnowledgeBases, WidgetAgents, WidgetList, WidgetRoutes, WidgetAssignments, WidgetChecks, WidgetFields, WidgetVoice)
	known(v, at+": level", s.Level, LevelSetup, LevelOption, LevelRecovery, LevelAdvanced)
	known(v, at+": loader", s.Loader, "", LoaderVoices, LoaderReasoningEfforts)
	v.length(at+": label", s.Label, MaxLabel)
	v.length(at+": tip", s.Tip, MaxTip)
	if s.Min != nil && s.Max != nil && *s.Min > *s.Max {
		v.fail("%s: min %v is above max %v", at, *s.Min, *s.Max)
	}
	if n := len(s.EmptyChoice); n != 0 && n != 2 {
		v.fail("%s: empty_choice has %d entries, needs 2", at, n)
	}
	for option := range s.OptionLabels {
		if !slices.Contains(s.Options, option) {
			v.fail("%s: label for %q, which is no option", at, option)
		}
	}
	v.defaultFits(s, at+": default", s.Default)
	for i, d := range s.Defaults {
		v.condition(at+": defaults", d.When)
		v.defaultFits(s, fmt.Sprintf("%s: defaults[%d]", at, i), d.Value)
	}
	v.condition(at+": when", s.When)
}

// defaultFits checks a default against the bounds and options of its setting.
func (v *validator) defaultFits(s *Setting, at string, value any) {
	if text, ok := value.(string); ok && len(s.Options) > 0 && !slices.Contains(s.Options, text) {
		v.fail("%s %q is no option", at, text)
	}
	n, ok := number(value)
	if !ok {
		return
	}
	if s.Integer && !n.IsInt() {
		v.fail("%s %v is not whole", at, value)
	}
	f, _ := n.Float64()
	if s.Min != nil && f < *s.Min || s.Max != nil && f > *s.Max {
		v.fail("%s %v is out of bounds", at, value)
	}
}

// references checks what names a setting. The keys of conditions are not checked
// so, since a part owns keys that are no settings.
func (v *validator) references(m *Manifest) {
	keys := map[string]bool{}
	for _, s := range m.Settings {
		keys[s.Key] = true
	}
	for _, part := range m.Parts {
		known(v, "part", part.ID, "@pictures", "@outputs", "@cases", "@loop", "@outcomes", "@routes", "@paths")
		known(v, "part "+part.ID+": level", part.Level, "", LevelSetup, LevelOption, LevelRecovery, LevelAdvanced)
		if part.After != "" && !keys[part.After] {
			v.fail("part %s stands after %q, which is no setting", part.ID, part.After)
		}
	}
	unique(v, "part", m.Parts, func(p Part) string { return p.ID })
	for i, segment := range m.Sentence {
		v.condition(fmt.Sprintf("sentence[%d]: when", i), segment.When)
		for _, name := range segment.Placeholders() {
			if !keys[name] && !slices.Contains(phrases(), name) {
				v.fail("sentence[%d]: placeholder {%s} is neither a setting nor a known phrase", i, name)
			}
		}
	}
}

// phrases are the phrases that hosts provide.
func phrases() []string {
	return []string{
		"@outputs", "@routes", "@paths", "@cases", "@tools", "@checks", "@assignments", "@values", "@exits", "@agent", "@component", "@sends",
	}
}

func (v *validator) outputs(m *Manifest) {
	for _, output := range m.Outputs {
		known(v, "output "+output.Path+": type", output.Type, OutputString, OutputNumber, OutputBoolean, OutputList, OutputAny)
		v.length("output "+output.Path+": label", output.Label, MaxLabel)
		v.length("output "+output.Path+": tip", output.Tip, MaxTip)
		v.condition("output "+output.Path+": when", output.When)
	}
	unique(v, "output", m.Outputs, func(o Output) string { return o.Path })
}

func (v *validator) presets(m *Manifest) {
	for _, preset := range m.Presets {
		v.length("preset "+preset.ID+": label", preset.Label, MaxLabel)
		v.length("preset "+preset.ID+": tip", preset.Tip, MaxTip)
	}
	unique(v, "preset", m.Presets, func(p Preset) string { return p.ID })
}

// condition checks that every condition in a tree has one form.
func (v *validator) condition(at string, c *Condition) {
	if c == nil {
		return
	}
	if n := len(c.forms()); n != 1 {
		v.fail("%s: condition has %d forms, needs exactly one", at, n)
	}
	v.condition(at, c.Not)
	for _, list := range [][]Condition{c.All, c.Any} {
		for i := range list {
			v.condition(at, &list[i])
		}
	}
}

func (v *validator) length(what, text string, limit int) {
	if n := utf8.RuneCountInString(text); n > limit {
		v.fail("%s has %d characters, at most %d are allowed", what, n, limit)
	}
}

func known[T ~string](v *validator, what string, value T, allowed ...T) {
	if !slices.Contains(allowed, value) {
		v.fail("unknown %s %q", what, value)
	}
}

func unique[T any](v *validator, what string, list []T, key func(T) string) {
	seen := map[string]bool{}
	for _, entry := range list {
		if seen[key(entry)] {
			v.fail("%s %q is there twice", what, key(entry))
		}
		seen[key(entry)] = true
	}
}
