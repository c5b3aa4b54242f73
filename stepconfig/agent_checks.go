package stepconfig

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/treadle-dev/treadle/internal/openjson"
	"github.com/treadle-dev/treadle/workspace"
)

// retiredKeys are the keys of older formats that no longer do anything, each with
// what to use instead. They stay in the file.
func retiredKeys() map[string]string {
	return map[string]string{
		"learning_llm":                      "the step's own model writes learnings",
		"enabled_mcp_servers":               "use selected_servers",
		"enable_large_output_virtual_tools": "use enable_context_offloading",
		"disable_learning":                  "use learnings_access: none",
		"learning_after_loop_iteration":     "learnings are written once, after the step",
		"use_tool_search_mode":              "remove it",
		"pre_discovered_tools":              "remove it",
		"knowledgebase_write_method":        "use knowledgebase_access",
	}
}

// agentConfigs checks and migrates one agent_configs.
func (r *reader) agentConfigs(a *AgentConfigs, pointer string) {
	if !r.faults(&a.rest, pointer, a) {
		return
	}
	r.models(a, pointer)
	r.enumerations(a, pointer)
	r.counts(a, pointer)
	r.nested(a, pointer)
	r.customTools(a, pointer)
	r.executionMode(a, pointer)
	r.learnings(a, pointer)
	r.readPaths(a, pointer)
	r.modelValidation(a, pointer)
}

// modelValidation tells of settings that have no effect because no model judges the
// step: it takes both that validation is enabled and a mode.
func (r *reader) modelValidation(a *AgentConfigs, pointer string) {
	disabled := first(true, a.DisableValidation)
	judges := a.LLMValidationMode == ValidationAuto || a.LLMValidationMode == ValidationAlways
	known := judges || a.LLMValidationMode == "" || a.LLMValidationMode == ValidationSkip
	if !known || a.rest.Kept("disable_validation") != nil || a.rest.Kept("llm_validation_mode") != nil {
		return // what is meant is not known, which is reported
	}
	if judges && disabled {
		why := "disable_validation is true"
		if a.DisableValidation == nil {
			why += " where it is absent"
		}
		r.advise(codeValidationUnused, pointer+"/llm_validation_mode",
			fmt.Sprintf("llm_validation_mode %s has no effect: %s", a.LLMValidationMode, why), "set disable_validation to false, or remove llm_validation_mode")
	}
	if a.ValidationLLM != nil && (disabled || !judges) {
		r.report(codeValidationUnused, pointer+"/validation_llm", "validation_llm has no effect: no model judges the outputs of the step")
	}
}

func (r *reader) models(a *AgentConfigs, pointer string) {
	for _, model := range []struct {
		key string
		ref *LLMRef
	}{
		{"execution_llm", a.ExecutionLLM},
		{"validation_llm", a.ValidationLLM},
		{"conditional_llm", a.ConditionalLLM},
		{"orchestrator_llm", a.OrchestratorLLM},
		{"sub_agent_llm", a.SubAgentLLM},
	} {
		if model.ref != nil {
			r.model(model.ref, pointer+"/"+model.key)
		}
	}
}

func (r *reader) model(ref *LLMRef, pointer string) {
	if !r.faults(&ref.rest, pointer, ref) {
		return
	}
	for i := range ref.Fallbacks {
		r.model(&ref.Fallbacks[i], pointer+"/fallbacks/"+strconv.Itoa(i))
	}
}

func (r *reader) enumerations(a *AgentConfigs, pointer string) {
	for _, field := range []struct {
		key, value string
		allowed    []string
	}{
		{"execution_tier", a.ExecutionTier, []string{"high", "medium", "low"}},
		{"todo_task_orchestrator_tier", a.TodoTaskOrchestratorTier, []string{"high", "medium", "low"}},
		{"llm_validation_mode", a.LLMValidationMode, []string{ValidationSkip, ValidationAuto, ValidationAlways}},
		{"learnings_access", a.LearningsAccess, []string{AccessRead, AccessReadWrite, AccessNone}},
		{"learning_detail_level", a.LearningDetailLevel, []string{"exact", "general", "none"}},
		{"knowledgebase_access", a.KnowledgebaseAccess, []string{AccessRead, AccessWrite, AccessReadWrite, AccessNone}},
		{"db_access", a.DBAccess, []string{AccessRead, AccessReadWrite}},
		{"declared_execution_mode", a.DeclaredExecutionMode, []string{ModeScripted, ModeAgentic, "learn_code", "code_exec"}},
		{"coding_agent_tmux_lifecycle", a.CodingAgentTmuxLifecycle, []string{"close_on_completion", "keep_alive"}},
	} {
		if field.value != "" && !slices.Contains(field.allowed, field.value) {
			r.advise(codeValueUnknown, pointer+"/"+field.key,
				fmt.Sprintf("unknown value %q", openjson.Excerpt(field.value, 60)), "use one of "+strings.Join(field.allowed, ", "))
		}
	}
}

func (r *reader) counts(a *AgentConfigs, pointer string) {
	for _, field := range []struct {
		key   string
		value *int
		least int
	}{
		{"execution_max_turns", a.ExecutionMaxTurns, 1},
		{"validation_max_turns", a.ValidationMaxTurns, 1},
		{"learning_max_turns", a.LearningMaxTurns, 1},
		{"orchestration_max_iterations", a.OrchestrationMaxIterations, 1},
		{"learn_code_max_fix_iterations", a.LearnCodeMaxFixIterations, 0},
	} {
		if field.value != nil && *field.value < field.least {
			r.report(codeValueRange, pointer+"/"+field.key,
				fmt.Sprintf("is %d, must be at least %d", *field.value, field.least))
		}
	}
}

func (r *reader) nested(a *AgentConfigs, pointer string) {
	for i := range a.PrerequisiteRules {
		rule, at := &a.PrerequisiteRules[i], pointer+"/prerequisite_rules/"+strconv.Itoa(i)
		if r.faults(&rule.rest, at, rule) && rule.DependsOnStep == "" {
			r.report(codePrerequisiteStep, at, "the rule names no step")
		}
	}
	if a.DriftReview == nil {
		return
	}
	at := pointer + "/drift_review"
	r.faults(&a.DriftReview.rest, at, a.DriftReview)
	for i := range a.DriftReview.Checks {
		check := &a.DriftReview.Checks[i]
		r.faults(&check.rest, at+"/checks/"+strconv.Itoa(i), check)
	}
}

// customTools migrates the legacy categories and reports names of no category.
func (r *reader) customTools(a *AgentConfigs, pointer string) {
	if a.EnabledCustomToolCategories != nil {
		at := pointer + "/enabled_custom_tool_categories"
		if a.EnabledCustomTools != nil {
			r.advise(codeCustomToolsLegacy, at, "legacy categories have no effect beside enabled_custom_tools", "remove them")
		} else {
			r.report(codeCustomToolsLegacy, at, "legacy categories are read as enabled_custom_tools")
			a.EnabledCustomTools = make([]string, 0, len(a.EnabledCustomToolCategories))
			for _, category := range a.EnabledCustomToolCategories {
				a.EnabledCustomTools = append(a.EnabledCustomTools, category+":*")
			}
			a.EnabledCustomToolCategories = nil
		}
	}
	for i, tool := range a.EnabledCustomTools {
		category, name, ok := strings.Cut(tool, ":")
		if !ok || category == "" || name == "" {
			r.report(codeCustomToolFormat, pointer+"/enabled_custom_tools/"+strconv.Itoa(i),
				fmt.Sprintf("%q is not of the form category:tool and enables nothing", openjson.Excerpt(tool, 60)))
		}
	}
}

// learnings migrates an objective without access and refuses writing without an
// objective.
func (r *reader) learnings(a *AgentConfigs, pointer string) {
	objective := strings.TrimSpace(a.LearningObjective)
	switch {
	case a.LearningsAccess == "" && objective != "" && a.rest.Kept("learnings_access") == nil:
		r.report(codeLearningsLegacy, pointer+"/learning_objective",
			"an objective without learnings_access is read as learnings_access: read-write")
		a.LearningsAccess = AccessReadWrite
	case a.LearningsAccess == AccessReadWrite && objective == "":
		r.report(codeLearningObjective, pointer+"/learning_objective",
			"learnings_access: read-write needs a learning_objective")
	}
	writes := a.KnowledgebaseAccess == AccessWrite || a.KnowledgebaseAccess == AccessReadWrite
	if writes && strings.TrimSpace(a.KnowledgebaseContribution) == "" {
		r.report(codeContribution, pointer+"/knowledgebase_contribution",
			"writing to the knowledge base needs a knowledgebase_contribution")
	}
}

func (r *reader) readPaths(a *AgentConfigs, pointer string) {
	for i, name := range a.AdditionalReadPaths {
		at := pointer + "/additional_read_paths/" + strconv.Itoa(i)
		switch {
		case !safePath(name):
			r.report(codeReadPathOutside, at, fmt.Sprintf("%q is not a path inside the workspace", openjson.Excerpt(name, 100)))
		case path.Clean(name) == "." || path.Clean(name) == workspace.MCPFile || path.Clean(name) == workspace.RunsDir:
			r.report(codeReadPathWide, at, fmt.Sprintf("%q shows what no step may see, such as the secrets of servers or the journals of runs", openjson.Excerpt(name, 100)))
		}
	}
}

// executionMode migrates the names of older formats.
func (r *reader) executionMode(a *AgentConfigs, pointer string) {
	present := map[string]string{"learn_code": ModeScripted, "code_exec": ModeAgentic}[a.DeclaredExecutionMode]
	if present == "" {
		return
	}
	r.report(codeExecutionModeLegacy, pointer+"/declared_execution_mode",
		fmt.Sprintf("%q is the legacy name of %q", a.DeclaredExecutionMode, present))
	a.DeclaredExecutionMode = present
}

func safePath(name string) bool {
	return name != "" && !strings.HasPrefix(name, "/") && !strings.ContainsAny(name, "\\\x00") && !slices.Contains(strings.Split(name, "/"), "..")
}
