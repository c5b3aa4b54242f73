package manifest

import (
	"regexp"
	"strings"
)

// Segment is a piece of the sentence that sums a step up. Segments are joined
// without anything between them. A segment whose placeholders are all empty is
// left out; where only some are, those render as nothing.
type Segment struct {
	// Text has placeholders in braces: {key} is a setting, {@name} a phrase that
	// the host computes.
	Text string     `json:"text"`
	When *Condition `json:"when,omitzero"`
}

// Host gives a sentence what only a host knows. The zero value knows nothing.
type Host struct {
	// Phrase computes a phrase such as @routes; nil or "" is an empty phrase.
	Phrase func(name string) string
	// Name names what an id stands for, by the widget that chose it (model, voice,
	// agents, knowledge_bases); nil or "" shows the id itself.
	Name func(widget Widget, id string) string
}

func (h Host) phrase(name string) string {
	if h.Phrase == nil {
		return ""
	}
	return h.Phrase(name)
}

func (h Host) name(widget Widget, id string) string {
	if h.Name == nil {
		return id
	}
	if name := h.Name(widget, id); name != "" {
		return name
	}
	return id
}

// Describe renders the sentence of a step with a configuration.
func (m *Manifest) Describe(config map[string]any, host Host) string {
	settings := make(map[string]*Setting, len(m.Settings))
	for i := range m.Settings {
		settings[m.Settings[i].Key] = &m.Settings[i]
	}
	fill := func(name string) string {
		if strings.HasPrefix(name, "@") {
			return host.phrase(name)
		}
		if setting, ok := settings[name]; ok {
			return setting.show(lookup(config, name), host)
		}
		return ""
	}
	var sentence strings.Builder
	for _, segment := range m.Sentence {
		if segment.When.Matches(config) {
			sentence.WriteString(segment.render(fill))
		}
	}
	return sentence.String()
}

// render fills the placeholders, and is empty when all of them are.
func (s Segment) render(fill func(name string) string) string {
	found, filled := false, false
	text := placeholderPattern().ReplaceAllStringFunc(s.Text, func(placeholder string) string {
		value := fill(strings.Trim(placeholder, "{}"))
		found, filled = true, filled || value != ""
		return value
	})
	if found && !filled {
		return ""
	}
	return text
}

// Placeholders lists the names in braces in the order of the text, such as
// "prompt" and "@tools".
func (s Segment) Placeholders() []string {
	var names []string
	for _, match := range placeholderPattern().FindAllStringSubmatch(s.Text, -1) {
		names = append(names, match[1])
	}
	return names
}

func placeholderPattern() *regexp.Regexp { return regexp.MustCompile(`\{(@?[\w.-]+)\}`) }
