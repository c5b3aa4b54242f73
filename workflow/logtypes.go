package workflow

import (
	"time"

	"github.com/treadle-dev/treadle/agent"
)

// LLMCallLog is a model call in the log of an attempt. Times are in milliseconds.
type LLMCallLog struct {
	Turn         int                `json:"turn"`
	Provider     string             `json:"provider,omitempty"`
	Model        string             `json:"model,omitempty"`
	StartedAt    time.Time          `json:"started_at"`
	DurationMS   int64              `json:"duration_ms"`
	FirstTokenMS int64              `json:"time_to_first_token_ms,omitempty"`
	Finish       agent.FinishReason `json:"finish_reason,omitempty"`
	Usage        agent.Usage        `json:"usage"`
}

// ToolCallLog is a tool call in the log of an attempt. Turn and Index count from 1.
type ToolCallLog struct {
	Turn        int       `json:"turn"`
	Index       int       `json:"index"`
	Name        string    `json:"name"`
	StartedAt   time.Time `json:"started_at"`
	DurationMS  int64     `json:"duration_ms"`
	ArgsBytes   int       `json:"args_bytes"`
	ResultBytes int       `json:"result_bytes"`
	IsError     bool      `json:"is_error,omitempty"`
	InDoubt     bool      `json:"in_doubt,omitempty"`
	// Unwrapped are JSON pointers of arguments that came as JSON text and were taken
	// for the objects that the tool's schema asks for.
	Unwrapped []string `json:"unwrapped,omitempty"`
}

// AttemptLog is execution-attempt-{A}-iteration-{M}.json.
type AttemptLog struct {
	StepIndex              int       `json:"step_index"`
	StepID                 string    `json:"step_id"`
	StepPath               string    `json:"step_path"`
	RunID                  string    `json:"run_id"`
	RetryAttempt           int       `json:"retry_attempt"`
	LoopIteration          int       `json:"loop_iteration"`
	Status                 string    `json:"status"` // passed, failed or interrupted
	ExecutionResult        string    `json:"execution_result"`
	Error                  string    `json:"error,omitempty"`
	Provider               string    `json:"provider,omitempty"`
	Model                  string    `json:"model,omitempty"`
	StartedAt              time.Time `json:"started_at"`
	CompletedAt            time.Time `json:"completed_at"`
	DurationMS             int64     `json:"duration_ms"`
	LLMCallCount           int       `json:"llm_call_count"`
	LLMDurationMS          int64     `json:"llm_duration_ms"`
	LLMTimeToFirstResponse int64     `json:"llm_time_to_first_response_ms,omitempty"`
	ToolCallCount          int       `json:"tool_call_count"`
	ToolDurationMS         int64     `json:"tool_duration_ms"`
	TotalInputTokens       *int64    `json:"total_input_tokens,omitempty"`
	TotalOutputTokens      *int64    `json:"total_output_tokens,omitempty"`
	ToolArgsBytes          int       `json:"tool_args_bytes"`
	ToolResultBytes        int       `json:"tool_result_bytes"`
}

// ConversationLog is the -conversation file of an attempt. It holds the messages
// from FirstMessage on; those before stand in the logs of earlier attempts.
type ConversationLog struct {
	FirstMessage int             `json:"first_message"` // from 0
	History      []agent.Message `json:"conversation_history"`
	LLMCalls     []LLMCallLog    `json:"llm_calls"`
	ToolCalls    []ToolCallLog   `json:"tool_calls"`
}

// PromptsLog is the -prompts file of an attempt; it is written before the call.
type PromptsLog struct {
	SystemPrompt string   `json:"system_prompt,omitempty"`
	UserMessage  string   `json:"user_message"`
	Tools        []string `json:"tools"`
	Provider     string   `json:"provider,omitempty"`
	Model        string   `json:"model,omitempty"`
}

// FinalSummaryLog is execution-final-summary.json.
type FinalSummaryLog struct {
	SchemaVersion   int       `json:"schema_version"`
	StepID          string    `json:"step_id"`
	StepPath        string    `json:"step_path"`
	RunFolder       string    `json:"run_folder"`
	RunID           string    `json:"run_id"`
	Status          string    `json:"status"`
	Attempts        int       `json:"attempts"`
	Iteration       int       `json:"iteration"`
	ExecutionResult string    `json:"execution_result"`
	CompletedAt     time.Time `json:"completed_at"`
}
