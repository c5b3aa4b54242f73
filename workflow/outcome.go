package workflow

import "encoding/json"

// Outcome is what the leaf of a step gives back.
type Outcome struct {
	// Result is small JSON that describes what was done; later prompts and logs
	// show it. It is recorded with the step. Files go to the work folder instead.
	Result json.RawMessage
	// Attempts is how many attempts it took; 0 when the type has none.
	Attempts int
}
