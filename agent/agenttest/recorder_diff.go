package agenttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/treadle-dev/treadle/workspace"
)

const (
	maxDifferences = 10
	maxShownValue  = 120
)

// compareJSON tells the places where two documents differ.
func compareJSON(recorded, asked json.RawMessage) []string {
	var a, b any
	if json.Unmarshal(recorded, &a) != nil || json.Unmarshal(asked, &b) != nil {
		return []string{"the recorded request cannot be read"}
	}
	var differences []string
	compareValues("", a, b, func(at, what string) { differences = append(differences, at+": "+what) })
	return differences
}

func compareValues(at string, a, b any, report func(at, what string)) {
	switch recorded := a.(type) {
	case map[string]any:
		if asked, ok := b.(map[string]any); ok {
			compareObjects(at, recorded, asked, report)
			return
		}
	case []any:
		if asked, ok := b.([]any); ok {
			for i := range max(len(recorded), len(asked)) {
				place := fmt.Sprintf("%s/%d", at, i)
				switch {
				case i >= len(asked):
					report(place, "only in the recording: "+shown(recorded[i]))
				case i >= len(recorded):
					report(place, "not in the recording: "+shown(asked[i]))
				default:
					compareValues(place, recorded[i], asked[i], report)
				}
			}
			return
		}
	default:
		if a == b { // neither is an object or a list
			return
		}
	}
	before, now := shownPair(a, b)
	report(at, "recorded "+before+", asked "+now)
}

func compareObjects(at string, recorded, asked map[string]any, report func(at, what string)) {
	names := make([]string, 0, len(recorded)+len(asked))
	for name := range recorded {
		names = append(names, name)
	}
	for name := range asked {
		if _, both := recorded[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		place := at + "/" + workspace.PointerEscape(name)
		a, inRecorded := recorded[name]
		b, inAsked := asked[name]
		switch {
		case !inAsked:
			report(place, "only in the recording: "+shown(a))
		case !inRecorded:
			report(place, "not in the recording: "+shown(b))
		default:
			compareValues(place, a, b, report)
		}
	}
}

// shownPair shows two values; of long texts, what stands around their first
// difference.
func shownPair(a, b any) (string, string) {
	before, now := asJSON(a), asJSON(b)
	same := 0
	for same < min(len(before), len(now)) && before[same] == now[same] {
		same++
	}
	if from := same - maxShownValue/3; from > 0 && max(len(before), len(now)) > maxShownValue {
		before, now = "…"+strings.ToValidUTF8(before[from:], ""), "…"+strings.ToValidUTF8(now[from:], "")
	}
	return cutShown(before), cutShown(now)
}

func shown(value any) string { return cutShown(asJSON(value)) }

func asJSON(value any) string {
	data, _ := json.Marshal(value) // decoded JSON always encodes
	return string(data)
}

func cutShown(text string) string {
	if len(text) <= maxShownValue {
		return text
	}
	return strings.ToValidUTF8(text[:maxShownValue], "") + "…"
}

// mapStrings changes every string of a JSON document, names of members included,
// and leaves its form as it is.
func mapStrings(data []byte, change func(string) string) []byte {
	if change == nil {
		return data
	}
	var out bytes.Buffer
	for rest := data; len(rest) > 0; {
		start := bytes.IndexByte(rest, '"')
		if start < 0 {
			out.Write(rest)
			break
		}
		end := start + 1
		for end < len(rest) && rest[end] != '"' {
			if rest[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end+1, len(rest))
		literal := rest[start:end]
		var text string
		if json.Unmarshal(literal, &text) == nil {
			if changed := change(text); changed != text {
				literal, _ = json.Marshal(changed) // a string always encodes
			}
		}
		out.Write(rest[:start])
		out.Write(literal)
		rest = rest[end:]
	}
	return out.Bytes()
}
