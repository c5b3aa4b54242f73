package workflow

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Plans that are made to take long: every step declares the same output and depends on
// it, and the ways lead from the last step to the first. What it costs is counted, since
// how long it takes is the machine's matter.
func TestAPlanThatIsMadeToTakeLongCostsNoMoreThanItsStepsTimesItsProducers(t *testing.T) {
	t.Parallel()
	const n = 1000
	var b strings.Builder
	fmt.Fprintf(&b, `{"steps":[{"id":"first","type":"regular","next_step_id":"s-%d"}`, n-1)
	for i := range n {
		next := endStep
		if i > 0 {
			next = fmt.Sprintf("s-%d", i-1)
		}
		fmt.Fprintf(&b, `,{"id":"s-%d","type":"regular","context_output":"x","context_dependencies":["x"],"next_step_id":%q}`, i, next)
	}
	b.WriteString(`]}`)
	c := &compiler{src: &Source{Plan: []byte(b.String())}, opts: &CompileOptions{}, program: &Program{byID: map[string]int32{}}}
	c.compile()
	assert.NotZero(t, c.looked)
	assert.Less(t, c.looked, 6*n*n, "each of three questions about a step looks at a node at most twice")
	assert.Condition(t, func() bool {
		for _, d := range c.ds {
			if d.Code == codeDependencyOrder {
				return true
			}
		}
		return false
	}, "nothing is produced before the step that runs first")
}
