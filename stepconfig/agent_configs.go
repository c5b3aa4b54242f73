package stepconfig

import (
	"encoding/json"

	"github.com/treadle-dev/treadle/internal/openjson"
)

// AgentConfigs says how the agent of a step works. A nil pointer, a nil list and
// an empty string mean that the file is silent and the workflow's or the
// library's default applies. An empty list that is not nil was written as [].
type AgentConfigs struct {
	// Models and tiers.

	// ExecutionLLM is the model that carries the step out. It goes before any tier.
	ExecutionLLM *LLMRef `json:"execution_llm,omitempty"`
	// ValidationLLM is the model that judges the outputs.
	ValidationLLM *LLMRef `json:"validation_llm,omitempty"`
	// ConditionalLLM is the model that decides a condition.
	ConditionalLLM *LLMRef `json:"conditional_llm,omitempty"`
	// OrchestratorLLM is the model of an orchestrator; without it ExecutionLLM.
	OrchestratorLLM *LLMRef `json:"orchestrator_llm,omitempty"`
	// SubAgentLLM is the model of the agents that an orchestrator calls, where they name none.
	SubAgentLLM *LLMRef `json:"sub_agent_llm,omitempty"`
	// ExecutionTier is high, medium or low.
	ExecutionTier string `json:"execution_tier,omitempty"`
	// TodoTaskOrchestratorTier is the tier of an orchestrator: high, medium or low.
	TodoTaskOrchestratorTier string `json:"todo_task_orchestrator_tier,omitempty"`
	// DisableTierOptimization keeps a step in its tier, however often it has succeeded.
	DisableTierOptimization *bool `json:"disable_tier_optimization,omitempty"`

	// Limits, in turns of a conversation or passes of a loop.

	// ExecutionMaxTurns bounds the turns of one attempt.
	ExecutionMaxTurns *int `json:"execution_max_turns,omitempty"`
	// ValidationMaxTurns bounds the turns of the model that judges the outputs.
	ValidationMaxTurns *int `json:"validation_max_turns,omitempty"`
	// LearningMaxTurns bounds the turns of the agent that writes learnings.
	LearningMaxTurns *int `json:"learning_max_turns,omitempty"`
	// OrchestrationMaxIterations bounds the passes of an orchestrator.
	OrchestrationMaxIterations *int `json:"orchestration_max_iterations,omitempty"`

	// Tools.

	// SelectedServers are MCP servers by name: nil or empty are those of the workflow, and
	// NO_SERVERS alone is none.
	SelectedServers []string `json:"selected_servers,omitempty"`
	// SelectedTools are tools of the servers, as server:tool or server:*. Naming one tool of a
	// server hides its others; nil is all of them.
	SelectedTools []string `json:"selected_tools,omitempty"`
	// EnabledCustomTools are as category:tool or category:*; nil are those of the workflow.
	EnabledCustomTools []string `json:"enabled_custom_tools,omitempty"`
	// EnabledSkills are skills of the host by name. They stand in place of the workflow's.
	EnabledSkills []string `json:"enabled_skills,omitempty"`
	// AdditionalReadPaths are folders and files of the workspace that the step may read
	// besides its own.
	AdditionalReadPaths []string `json:"additional_read_paths,omitempty"`
	// DisableParallelToolExecution runs the tool calls of a reply one by one.
	DisableParallelToolExecution *bool `json:"disable_parallel_tool_execution,omitempty"`

	// Model validation after the checks of the schema.

	// DisableValidation leaves out that a model judges the outputs; nil is true.
	DisableValidation *bool `json:"disable_validation,omitempty"`
	// LLMValidationMode is skip (default), auto or always.
	LLMValidationMode string `json:"llm_validation_mode,omitempty"`

	// Stores.

	// LearningsAccess is read (default), read-write or none.
	LearningsAccess string `json:"learnings_access,omitempty"`
	// LearningObjective says what the step records as learnings; read-write needs it.
	LearningObjective string `json:"learning_objective,omitempty"`
	// LearningDetailLevel is exact (default), general or none.
	LearningDetailLevel string `json:"learning_detail_level,omitempty"`
	// GlobalSkillObjective tells who writes learnings what the shared skill is for.
	GlobalSkillObjective string `json:"global_skill_objective,omitempty"`
	// LockLearnings narrows read-write to read.
	LockLearnings *bool `json:"lock_learnings,omitempty"`
	// LockLearningsReason says why LockLearnings is set.
	LockLearningsReason string `json:"lock_learnings_reason,omitempty"`
	// KnowledgebaseAccess is read, write, read-write or none (default).
	KnowledgebaseAccess string `json:"knowledgebase_access,omitempty"`
	// KnowledgebaseContribution says what the step adds to the knowledge base; writing needs it.
	KnowledgebaseContribution string `json:"knowledgebase_contribution,omitempty"`
	// LockKnowledgebase keeps the step from writing to the knowledge base.
	LockKnowledgebase *bool `json:"lock_knowledgebase,omitempty"`
	// LockKnowledgebaseReason says why LockKnowledgebase is set.
	LockKnowledgebaseReason string `json:"lock_knowledgebase_reason,omitempty"`
	// DBAccess is read or read-write (default).
	DBAccess string `json:"db_access,omitempty"`

	// How the step is carried out.

	// DeclaredExecutionMode is scripted or agentic (default). The older names learn_code
	// and code_exec are read.
	DeclaredExecutionMode string `json:"declared_execution_mode,omitempty"`
	// DeclaredExecutionModeReason says why the step has its DeclaredExecutionMode.
	DeclaredExecutionModeReason string `json:"declared_execution_mode_reason,omitempty"`
	// UseCodeExecutionMode lets the agent call its tools from code; nil is what the workflow says.
	UseCodeExecutionMode *bool `json:"use_code_execution_mode,omitempty"`
	// LearnCodeMaxFixIterations bounds how often a saved script is mended in one visit.
	LearnCodeMaxFixIterations *int `json:"learn_code_max_fix_iterations,omitempty"`
	// LockCode keeps a saved script as it is.
	LockCode *bool `json:"lock_code,omitempty"`
	// LockCodeReason says why LockCode is set.
	LockCodeReason string `json:"lock_code_reason,omitempty"`
	// EnableContextOffloading moves large tool results into files; nil is true.
	EnableContextOffloading *bool `json:"enable_context_offloading,omitempty"`
	// CodingAgentTmuxLifecycle says what becomes of the terminal session of a coding agent:
	// close_on_completion or keep_alive.
	CodingAgentTmuxLifecycle string `json:"coding_agent_tmux_lifecycle,omitempty"`

	// Jumps back to an earlier step.

	// EnablePrerequisiteDetection lets PrerequisiteRules send the run back; nil is false.
	EnablePrerequisiteDetection *bool `json:"enable_prerequisite_detection,omitempty"`
	// PrerequisiteRules send the run back to an earlier step.
	PrerequisiteRules []PrerequisiteRule `json:"prerequisite_rules,omitempty"`

	// Reviews and counters.

	// DescriptionReviewed says that somebody has looked at the description since it changed.
	DescriptionReviewed *bool `json:"description_reviewed,omitempty"`
	// ReviewNotes are what the reviewer had to say.
	ReviewNotes string `json:"review_notes,omitempty"`
	// DriftReview is the review of the step's contract.
	DriftReview *DriftReview `json:"drift_review,omitempty"`
	// SuccessfulRuns is a counter of older versions, kept as it is.
	SuccessfulRuns json.RawMessage `json:"successful_runs,omitempty"`

	// EnabledCustomToolCategories is the legacy form of EnabledCustomTools, into
	// which [Parse] migrates it.
	EnabledCustomToolCategories []string `json:"enabled_custom_tool_categories,omitempty"`

	rest openjson.Members
}

// UnmarshalJSON implements [json.Unmarshaler].
func (a *AgentConfigs) UnmarshalJSON(data []byte) error { return a.rest.Decode(data, a) }

// MarshalJSON implements [json.Marshaler].
func (a AgentConfigs) MarshalJSON() ([]byte, error) { return a.rest.Encode(&a) }

// The values of the access fields.
const (
	AccessNone      = "none"
	AccessRead      = "read"
	AccessWrite     = "write"
	AccessReadWrite = "read-write"
)

// The values of DeclaredExecutionMode. [Parse] migrates the legacy names learn_code and
// code_exec.
const (
	ModeAgentic  = "agentic"
	ModeScripted = "scripted"
)

// The values of LLMValidationMode.
const (
	ValidationSkip   = "skip"
	ValidationAuto   = "auto"
	ValidationAlways = "always"
)

// NoServers is the entry of SelectedServers that stands for no server at all.
const NoServers = "NO_SERVERS"

// EffectiveLearningsAccess is what the step may do with the learnings: the access
// as configured, by default read, and never more than read while they are locked.
// A nil receiver has the defaults.
func (a *AgentConfigs) EffectiveLearningsAccess() string {
	access := AccessRead
	if a == nil {
		return access
	}
	switch {
	case a.LearningsAccess != "":
		access = a.LearningsAccess
	case a.LearningObjective != "":
		access = AccessReadWrite
	}
	if access == AccessReadWrite && a.LockLearnings != nil && *a.LockLearnings {
		return AccessRead
	}
	return access
}
