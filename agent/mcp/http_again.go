package mcp

import (
	"errors"

	"github.com/treadle-dev/treadle/agent"
)

// repeatable reports whether a call that failed so may be made once more on the
// next session. A server that has ended the session refuses a call without
// carrying it out, but a stream that ends with the session says nothing of what
// was done: only what the server promises to be harmless twice is sent twice.
func (t *tool) repeatable(err error) bool {
	harmless := t.spec.Effect == agent.ReadOnly || t.spec.Effect == agent.Idempotent
	return harmless && errors.Is(err, ErrSessionLost)
}
