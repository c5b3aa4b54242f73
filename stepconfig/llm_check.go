package stepconfig

import "github.com/treadle-dev/treadle/workspace"

// Check reports what is wrong with a reference, and with its fallbacks, that was decoded
// from a place of another file than step_config.json. Nil is right.
func (r *LLMRef) Check(file, pointer string) workspace.Diagnostics {
	if r == nil {
		return nil
	}
	reading := &reader{file: file}
	reading.model(r, pointer)
	return reading.found
}
