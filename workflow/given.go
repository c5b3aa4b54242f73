package workflow

import (
	"encoding/json"
	"reflect"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/internal/journal"
)

// given is what the agent of a visit is told and may call. It is recorded before
// the first model call and used again after a resume, whatever the library's
// prompts or the host's tools are then. Which model serves it is not part of it: a
// resume may use another one.
type given struct {
	Messages []agent.Message  `json:"messages"`
	Tools    []agent.ToolSpec `json:"tools,omitempty"`
	// Verdict says that a model judges the outputs of each attempt.
	Verdict bool `json:"verdict,omitempty"`
}

// recallGiven takes what the agent is given from the journal, or makes and
// records it.
func (r *regularVisit) recallGiven(tools []agent.Tool) (*given, error) {
	sc := r.sc
	scope, err := sc.journal()
	if err != nil {
		return nil, err
	}
	g := &given{}
	if data, ok, err := scope.Recorded("given"); err != nil {
		return nil, err
	} else if ok {
		return g, json.Unmarshal(data, g)
	}
	if err := r.tools.requireNamed(sc.Context()); err != nil {
		return nil, err
	}
	if g.Messages, err = sc.messages(r.tools); err != nil {
		return nil, err
	}
	g.Tools = agent.ToolSpecs(tools)
	if g.Verdict, err = sc.wantsVerdict(sc.run.ctx); err != nil {
		return nil, err
	}
	return g, sc.noteGiven(scope, g)
}

// noteGiven records what an agent is given, and puts what the record says, which
// holds nothing secret, into the value that g points to.
func (sc *StepContext) noteGiven(scope *journal.Scope, g any) error {
	data, err := json.Marshal(g)
	if err != nil {
		return err
	}
	if redactor := sc.run.ctl.redactor; redactor != nil {
		data = redactor.JSON(data)
		reflect.ValueOf(g).Elem().SetZero()
		if err := json.Unmarshal(data, g); err != nil {
			return err
		}
	}
	return scope.Note("given", data)
}
