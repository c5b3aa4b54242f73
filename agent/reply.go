package agent

import "time"

// Reply is the journal's record of a model call that gave a reply.
type Reply struct {
	Response Response `json:"response"`
	Provider string   `json:"provider,omitempty"` // of the backend that replied
	Model    string   `json:"model,omitempty"`    // as asked for
	// StartedAt, DurationMS and FirstTokenMS are of the try that gave the reply:
	// when it began, how many milliseconds it took, and how many until the first
	// piece arrived; 0 when the reply was not streamed.
	StartedAt    time.Time `json:"started_at"`
	DurationMS   int64     `json:"duration_ms"`
	FirstTokenMS int64     `json:"first_token_ms,omitempty"`
	// Failed are the tries before it, in order.
	Failed []FailedTry `json:"failed_tries,omitempty"`
	// Steered says that messages of a [Steering] entered just before the call.
	// They are recorded under a key of their own.
	Steered bool `json:"steered,omitempty"`
	// Condensed says that the conversation was condensed just before the call, by
	// a record of its own.
	Condensed bool `json:"condensed,omitempty"`
	// Tools are what the model could call from this reply on; nil means what it
	// could call before; see [LiveTools].
	Tools []ToolSpec `json:"tools,omitzero"`
	// Key is the record's position in its loop; that of a summary for a
	// [Condenser] ends in "/condense/reply". Replayed says that this process
	// did not make the call. Neither is stored.
	Key      string `json:"-"`
	Replayed bool   `json:"-"`
}

// Usage is what the reply and the failed tries before it reported together.
func (r *Reply) Usage() Usage {
	usage := r.Response.Usage
	for i := range r.Failed {
		usage = usage.Add(r.Failed[i].Usage)
	}
	return usage
}

// FailedTry is a model call that gave no reply.
type FailedTry struct {
	Provider   string    `json:"provider,omitempty"`
	Model      string    `json:"model,omitempty"` // as asked for
	StartedAt  time.Time `json:"started_at"`
	DurationMS int64     `json:"duration_ms"`
	StatusCode int       `json:"status_code,omitempty"`
	Error      string    `json:"error"` // cut to a sane length
	// Usage is what the provider reported before the reply broke off.
	Usage Usage `json:"usage,omitzero"`
	// Billable says that a part of a reply had arrived, or that the reply was long
	// in coming, so that the provider may charge for it whatever it reported.
	Billable bool `json:"billable,omitempty"`
	// Err is the error itself; it is not stored.
	Err error `json:"-"`
}

// ToolRecord is the journal's record of a tool call.
type ToolRecord struct {
	Name       string     `json:"name"`
	Result     ToolResult `json:"result"`
	StartedAt  time.Time  `json:"started_at"`
	DurationMS int64      `json:"duration_ms"`
	// InDoubt says that an interrupted call was not repeated.
	InDoubt bool `json:"in_doubt,omitempty"`
	// Invalid says that the call was not made because of its arguments.
	Invalid bool `json:"invalid,omitempty"`
	// Unwrapped names, as JSON pointers, the objects in the arguments that the
	// model wrote as strings of their JSON. The tool was given them as the objects
	// that its schema asks for; Call holds what the model wrote.
	Unwrapped []string `json:"unwrapped,omitempty"`

	Call     ToolCall `json:"-"`
	Replayed bool     `json:"-"`
}
