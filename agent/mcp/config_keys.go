package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/treadle-dev/treadle/agent"
)

// sharing reads how sessions are shared; nil where the file does not say.
func (p *place) sharing(entry object) *agent.Sharing {
	raw, ok := entry.get("sharing")
	if !ok || isNull(raw) {
		return nil
	}
	word := p.literal(entry, "sharing")
	switch {
	case p.failed("sharing"): // it is no string
	case word == "run":
		return new(agent.SharePerRun)
	case word == "group":
		return new(agent.SharePerGroup)
	case word == "step":
		return new(agent.SharePerStep)
	default:
		p.problem(codeConfigSharing, "sharing", fmt.Sprintf("sharing %q is not known", word), `use "run", "group" or "step"`)
	}
	return nil
}

// flag reads true or false.
func (p *place) flag(entry object, field string, absent bool) bool {
	raw, ok := entry.get(field)
	if !ok || isNull(raw) {
		return absent
	}
	var value bool
	if json.Unmarshal(raw, &value) != nil {
		p.wrongType(field, field, raw, "true or false")
		return absent
	}
	return value
}

// duration reads a limit; 0 where the file does not say.
func (p *place) duration(entry object, field string) time.Duration {
	raw, ok := entry.get(field)
	if !ok || isNull(raw) {
		return 0
	}
	var word string
	if json.Unmarshal(raw, &word) != nil {
		// A bare number is milliseconds to one client and seconds to another.
		p.problem(codeConfigType, field, fmt.Sprintf("%s is %s, not a duration", field, jsonKind(raw)),
			`write a number with its unit as a string, such as "30s"`)
		return 0
	}
	value, err := time.ParseDuration(strings.TrimSpace(word))
	if err != nil || value <= 0 {
		p.problem(codeConfigDuration, field, fmt.Sprintf("%s %q is not a duration above zero", field, word),
			`write a number with its unit, such as "30s" or "2m30s"`)
		return 0
	}
	return value
}
