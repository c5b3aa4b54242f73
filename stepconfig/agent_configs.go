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
	ExecutionLLM             *LLMRef `json:"execution_llm,omitempty"`
	ValidationLLM            *LLMRef `json:"validation_llm,omitempty"`
	ConditionalLLM           *LLMRef `json:"conditional_llm,omitempty"`
	OrchestratorLLM          *LLMRef `json:"orchestrator_llm,omitempty"`
	SubAgentLLM              *LLMRef `json:"sub_agent_llm,omitempty"`
	ExecutionTier            string  `json:"execution_tier,omitempty"` // high, medium or low
	TodoTaskOrchestratorTier string  `json:"todo_task_orchestrator_tier,omitempty"`
	DisableTierOptimization  *bool   `json:"disable_tier_optimization,omitempty"`

	// Limits, in turns of a conversation or passes of a loop.
	ExecutionMaxTurns          *int `json:"execution_max_turns,omitempty"`
	ValidationMaxTurns         *int `json:"validation_max_turns,omitempty"`
	LearningMaxTurns           *int `json:"learning_max_turns,omitempty"`
	OrchestrationMaxIterations *int `json:"orchestration_max_iterations,omitempty"`

	// Tools. Servers and tools are those of MCP, tools as server:tool or server:*;
	// custom tools are category:tool or category:*. The list with NO_SERVERS alone
	// means no server.
	SelectedServers              []string `json:"selected_servers,omitempty"`
	SelectedTools                []string `json:"selected_tools,omitempty"`
	EnabledCustomTools           []string `json:"enabled_custom_tools,omitempty"`
	EnabledSkills                []string `json:"enabled_skills,omitempty"`
	AdditionalReadPaths          []string `json:"additional_read_paths,omitempty"` // in the workspace
	DisableParallelToolExecution *bool    `json:"disable_parallel_tool_execution,omitempty"`

	// Model validation after the checks of the schema.
	DisableValidation *bool  `json:"disable_validation,omitempty"`  // default true
	LLMValidationMode string `json:"llm_validation_mode,omitempty"` // skip (default), auto or always

	// Stores.
	LearningsAccess           string `json:"learnings_access,omitempty"` // read (default), read-write or none
	LearningObjective         string `json:"learning_objective,omitempty"`
	LearningDetailLevel       string `json:"learning_detail_level,omitempty"` // exact (default), general or none
	GlobalSkillObjective      string `json:"global_skill_objective,omitempty"`
	LockLearnings             *bool  `json:"lock_learnings,omitempty"`
	LockLearningsReason       string `json:"lock_learnings_reason,omitempty"`
	KnowledgebaseAccess       string `json:"knowledgebase_access,omitempty"` // read, write, read-write or none (default)
	KnowledgebaseContribution string `json:"knowledgebase_contribution,omitempty"`
	LockKnowledgebase         *bool  `json:"lock_knowledgebase,omitempty"`
	LockKnowledgebaseReason   string `json:"lock_knowledgebase_reason,omitempty"`
	DBAccess                  string `json:"db_access,omitempty"` // read or read-write (default)

	// How the step is carried out.
	DeclaredExecutionMode       string `json:"declared_execution_mode,omitempty"` // scripted or agentic (default)
	DeclaredExecutionModeReason string `json:"declared_execution_mode_reason,omitempty"`
	UseCodeExecutionMode        *bool  `json:"use_code_execution_mode,omitempty"`
	LearnCodeMaxFixIterations   *int   `json:"learn_code_max_fix_iterations,omitempty"`
	LockCode                    *bool  `json:"lock_code,omitempty"`
	LockCodeReason              string `json:"lock_code_reason,omitempty"`
	EnableContextOffloading     *bool  `json:"enable_context_offloading,omitempty"` // default true
	CodingAgentTmuxLifecycle    string `json:"coding_agent_tmux_lifecycle,omitempty"`

	// Jumps back to an earlier step.
	EnablePrerequisiteDetection *bool              `json:"enable_prerequisite_detection,omitempty"` // default false
	PrerequisiteRules           []PrerequisiteRule `json:"prerequisite_rules,omitempty"`

	// Reviews and counters.
	DescriptionReviewed *bool           `json:"description_reviewed,omitempty"`
	ReviewNotes         string          `json:"review_notes,omitempty"`
	DriftReview         *DriftReview    `json:"drift_review,omitempty"`
	SuccessfulRuns      json.RawMessage `json:"successful_runs,omitempty"` // kept as it is

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
