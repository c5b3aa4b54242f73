package workflow

import "time"

// Limits bound what an attempt of a step may take. The zero value has the
// defaults of [agent.Loop].
type Limits struct {
	// AttemptDuration bounds the wall clock; 0 is [agent.DefaultMaxDuration].
	AttemptDuration time.Duration
	// AttemptTokens bounds the tokens sent and received; 0 is no limit.
	AttemptTokens int64
	// ContextWindow is the window, in tokens, of models that do not describe
	// themselves: near it the older part of a conversation is condensed. 0 condenses
	// only when a provider says that a conversation is too long.
	ContextWindow int64
	// ParallelTools bounds the tool calls at one time; 0 is
	// [agent.DefaultMaxParallelTools].
	ParallelTools int
}
