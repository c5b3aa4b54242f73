package stepconfig

import (
	"encoding/json"

	"github.com/treadle-dev/treadle/agent"
)

// Defaults are what a workflow says for steps that are silent: the execution_defaults
// and capabilities of workflow.json. The zero value is a workflow that is silent, too.
type Defaults struct {
	SelectedServers              []string
	SelectedTools                []string
	EnabledCustomTools           []string
	ExecutionMaxTurns            *int
	DisableParallelToolExecution *bool
	UseCodeExecutionMode         *bool
	GlobalSkillObjective         string
	// DisableLearning keeps every step from writing learnings, also one that asks to.
	DisableLearning *bool
}

// The library's defaults, beside [agent.DefaultMaxTurns] for an execution.
const (
	DefaultValidationMaxTurns         = 100
	DefaultLearningMaxTurns           = 100
	DefaultOrchestrationMaxIterations = 100
	DefaultLearnCodeMaxFixIterations  = 3
)

// Effective is what holds for a step once its own configuration, the workflow's defaults
// and the library's are put together, in this order: where a step speaks, it wins. The
// fields mean what those of [AgentConfigs] mean and have their names; get one from
// [Resolve].
type Effective struct {
	// Models. Nil is the model of the step's tier.
	ExecutionLLM, ValidationLLM, ConditionalLLM, OrchestratorLLM, SubAgentLLM *LLMRef

	ExecutionTier            string // high by default
	TodoTaskOrchestratorTier string // high by default
	DisableTierOptimization  bool

	ExecutionMaxTurns          int
	ValidationMaxTurns         int
	LearningMaxTurns           int
	OrchestrationMaxIterations int

	SelectedServers              []string // nil or empty is all
	SelectedTools                []string // nil is all of the servers
	EnabledCustomTools           []string // nil or empty is none
	EnabledSkills                []string
	AdditionalReadPaths          []string
	DisableParallelToolExecution bool

	DisableValidation bool   // true by default
	LLMValidationMode string // skip by default

	LearningsAccess           string // read by default, and never read-write under a lock
	LearningObjective         string
	LearningDetailLevel       string // exact by default
	GlobalSkillObjective      string
	LockLearnings             bool
	LockLearningsReason       string
	KnowledgebaseAccess       string // none by default
	KnowledgebaseContribution string
	LockKnowledgebase         bool
	LockKnowledgebaseReason   string
	DBAccess                  string // read-write by default

	DeclaredExecutionMode       string // agentic by default
	DeclaredExecutionModeReason string
	UseCodeExecutionMode        bool
	LearnCodeMaxFixIterations   int
	LockCode                    bool
	LockCodeReason              string
	EnableContextOffloading     bool // true by default
	CodingAgentTmuxLifecycle    string

	EnablePrerequisiteDetection bool
	PrerequisiteRules           []PrerequisiteRule

	DescriptionReviewed bool
	ReviewNotes         string
	DriftReview         *DriftReview
	SuccessfulRuns      json.RawMessage
}

// Resolve puts a step's configuration over the workflow's defaults and those over the
// library's. Both may be nil. The result shares lists and pointers with its sources.
//
// Two settings are narrowed and not only chosen: a lock and a workflow that disables
// learning take writing from LearningsAccess. An empty list of servers is no choice, one
// of tools or custom tools is.
func Resolve(step *AgentConfigs, workflow *Defaults) *Effective {
	if step == nil {
		step = &AgentConfigs{}
	}
	if workflow == nil {
		workflow = &Defaults{}
	}
	e := &Effective{}
	e.resolveModels(step)
	e.resolveLimits(step, workflow)
	e.resolveTools(step, workflow)
	e.resolveStores(step, workflow)
	e.resolveExecution(step, workflow)
	e.DescriptionReviewed = first(false, step.DescriptionReviewed)
	e.ReviewNotes, e.DriftReview, e.SuccessfulRuns = step.ReviewNotes, step.DriftReview, step.SuccessfulRuns
	return e
}

// ModelValidation says whether a model judges the outputs of the step after the checks of
// its schema: skip, auto or always. It takes both settings: validation enabled, and a
// mode.
func (e *Effective) ModelValidation() string {
	if e.DisableValidation {
		return ValidationSkip
	}
	return e.LLMValidationMode
}

func (e *Effective) resolveModels(step *AgentConfigs) {
	e.ExecutionLLM, e.ValidationLLM, e.ConditionalLLM = step.ExecutionLLM, step.ValidationLLM, step.ConditionalLLM
	e.OrchestratorLLM, e.SubAgentLLM = step.OrchestratorLLM, step.SubAgentLLM
	e.ExecutionTier = firstText(step.ExecutionTier, string(agent.TierHigh))
	e.TodoTaskOrchestratorTier = firstText(step.TodoTaskOrchestratorTier, string(agent.TierHigh))
	e.DisableTierOptimization = first(false, step.DisableTierOptimization)
}

func (e *Effective) resolveLimits(step *AgentConfigs, workflow *Defaults) {
	e.ExecutionMaxTurns = first(agent.DefaultMaxTurns, step.ExecutionMaxTurns, workflow.ExecutionMaxTurns)
	e.ValidationMaxTurns = first(DefaultValidationMaxTurns, step.ValidationMaxTurns)
	e.LearningMaxTurns = first(DefaultLearningMaxTurns, step.LearningMaxTurns)
	e.OrchestrationMaxIterations = first(DefaultOrchestrationMaxIterations, step.OrchestrationMaxIterations)
	e.LearnCodeMaxFixIterations = first(DefaultLearnCodeMaxFixIterations, step.LearnCodeMaxFixIterations)
}

func (e *Effective) resolveTools(step *AgentConfigs, workflow *Defaults) {
	e.SelectedServers = step.SelectedServers
	if len(e.SelectedServers) == 0 {
		e.SelectedServers = workflow.SelectedServers
	}
	e.SelectedTools = firstList(step.SelectedTools, workflow.SelectedTools)
	e.EnabledCustomTools = firstList(step.EnabledCustomTools, workflow.EnabledCustomTools)
	e.EnabledSkills, e.AdditionalReadPaths = step.EnabledSkills, step.AdditionalReadPaths
	e.DisableParallelToolExecution = first(false, step.DisableParallelToolExecution, workflow.DisableParallelToolExecution)
}

func (e *Effective) resolveStores(step *AgentConfigs, workflow *Defaults) {
	e.LearningsAccess = step.EffectiveLearningsAccess()
	if e.LearningsAccess == AccessReadWrite && first(false, workflow.DisableLearning) {
		e.LearningsAccess = AccessRead
	}
	e.LearningObjective = step.LearningObjective
	e.LearningDetailLevel = firstText(step.LearningDetailLevel, "exact")
	e.GlobalSkillObjective = firstText(step.GlobalSkillObjective, workflow.GlobalSkillObjective)
	e.LockLearnings, e.LockLearningsReason = first(false, step.LockLearnings), step.LockLearningsReason
	e.KnowledgebaseAccess = firstText(step.KnowledgebaseAccess, AccessNone)
	e.KnowledgebaseContribution = step.KnowledgebaseContribution
	e.LockKnowledgebase, e.LockKnowledgebaseReason = first(false, step.LockKnowledgebase), step.LockKnowledgebaseReason
	e.DBAccess = firstText(step.DBAccess, AccessReadWrite)
}

func (e *Effective) resolveExecution(step *AgentConfigs, workflow *Defaults) {
	e.DisableValidation = first(true, step.DisableValidation)
	e.LLMValidationMode = firstText(step.LLMValidationMode, ValidationSkip)
	e.DeclaredExecutionMode = firstText(step.DeclaredExecutionMode, ModeAgentic)
	e.DeclaredExecutionModeReason = step.DeclaredExecutionModeReason
	e.UseCodeExecutionMode = first(false, step.UseCodeExecutionMode, workflow.UseCodeExecutionMode)
	e.LockCode, e.LockCodeReason = first(false, step.LockCode), step.LockCodeReason
	e.EnableContextOffloading = first(true, step.EnableContextOffloading)
	e.CodingAgentTmuxLifecycle = step.CodingAgentTmuxLifecycle
	e.EnablePrerequisiteDetection = first(false, step.EnablePrerequisiteDetection)
	e.PrerequisiteRules = step.PrerequisiteRules
}

// first is the first value that is there.
func first[T any](otherwise T, values ...*T) T {
	for _, value := range values {
		if value != nil {
			return *value
		}
	}
	return otherwise
}

func firstText(values ...string) string {
	for _, value := range values {
		if value != "" {
			return value
		}
	}
	return ""
}

func firstList(values ...[]string) []string {
	for _, value := range values {
		if value != nil {
			return value
		}
	}
	return nil
}
