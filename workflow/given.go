package workflow

import (
	"encoding/json"

	"github.com/treadle-dev/treadle/agent"
)

// given is what the agent of a visit is told and may call. It is recorded before
// the first model call and used again after a resume, whatever the library's
// prompts or the host's tools are then. Which model serves it is not part of it: a
// resume may use another one.
type given struct {
	Messages []agent.Message  `json:"messages"`
	Tools    []agent.ToolSpec `json:"tools,omitempty"`
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
	if g.Messages, err = sc.messages(r.tools); err != nil {
		return nil, err
	}
	g.Tools = agent.ToolSpecs(tools)
	data, err := json.Marshal(g)
	if err != nil {
		return nil, err
	}
	if redactor := sc.run.ctl.redactor; redactor != nil {
		// The agent is given what the record says, and nothing secret.
		data = redactor.JSON(data)
		g = &given{}
		if err := json.Unmarshal(data, g); err != nil {
			return nil, err
		}
	}
	return g, scope.Note("given", data)
}
