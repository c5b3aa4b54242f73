package stepconfig_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/stepconfig"
)

// shown names for each field that has an effect the test that shows it: a function of
// this package or of workflow, or a txtar file of workflow's scenarios.
var shown = map[string]string{
	"File.steps":                   "TestTheFileOfARunIsUsedWholeInsteadOfTheDefault",
	"StepConfig.id":                "TestCompileNamesEveryFaultWithItsPlace",
	"StepConfig.agent_configs":     "TestTheModelOfAStepIsItsOwnElseThatOfItsTierElseTheHosts",
	"StepConfig.validation_schema": "schema-in-the-configuration.txtar",

	"AgentConfigs.execution_llm":                   "TestTheModelOfAStepIsItsOwnElseThatOfItsTierElseTheHosts",
	"AgentConfigs.execution_tier":                  "TestTheModelOfAStepIsItsOwnElseThatOfItsTierElseTheHosts",
	"AgentConfigs.execution_max_turns":             "TestATurnLimitStopsAndALargerOneGoesOn",
	"AgentConfigs.selected_servers":                "TestAServerThatIsNotConfiguredIsRefusedBeforeTheRun",
	"AgentConfigs.selected_tools":                  "selected-tools-hide-the-others.txtar",
	"AgentConfigs.enabled_custom_tools":            "TestCustomToolsNeedToBeEnabledByTheStepOrTheWorkflow",
	"AgentConfigs.enabled_custom_tool_categories":  "TestLegacyToolCategoriesAreReadAsCustomTools",
	"AgentConfigs.additional_read_paths":           "TestAStepMayTouchItsOwnFolderAndWhatItIsGranted",
	"AgentConfigs.disable_parallel_tool_execution": "TestToolCallsOfAReplyRunOneByOneWhenTheStepSaysSo",
	"AgentConfigs.validation_llm":                  "TestTheJudgeIsTheModelOfValidationLLMWithItsOwnTurns",
	"AgentConfigs.validation_max_turns":            "TestTheJudgeIsTheModelOfValidationLLMWithItsOwnTurns",
	"AgentConfigs.disable_validation":              "TestAStepIsJudgedOnlyWhereItsConfigurationSaysSo",
	"AgentConfigs.llm_validation_mode":             "TestAStepIsJudgedOnlyWhereItsConfigurationSaysSo",
	"AgentConfigs.enable_context_offloading":       "TestLargeToolOutputGoesToAFileUnlessTurnedOff",
	"AgentConfigs.learnings_access":                "TestAStepMayTouchItsOwnFolderAndWhatItIsGranted",
	"AgentConfigs.knowledgebase_access":            "TestAStepMayTouchItsOwnFolderAndWhatItIsGranted",
	"AgentConfigs.db_access":                       "TestAStepMayTouchItsOwnFolderAndWhatItIsGranted",

	"LLMRef.provider":  "TestTheModelOfAStepIsItsOwnElseThatOfItsTierElseTheHosts",
	"LLMRef.model_id":  "TestTheModelOfAStepIsItsOwnElseThatOfItsTierElseTheHosts",
	"LLMRef.options":   "TestOptionsOfAModelAreSentAsTheyAre",
	"LLMRef.fallbacks": "TestAFailingModelIsTriedAgainThenReplacedAndEachCallIsCountedOnce",
}

// later has the fields whose effect comes with a later part, and that part. It is to
// be empty in the end: a field of which a row says so moves to the table above.
// Fields in both tables have a part of their effect.
var later = map[string]int{
	"AgentConfigs.conditional_llm":               partControl,
	"AgentConfigs.enable_prerequisite_detection": partControl,
	"AgentConfigs.prerequisite_rules":            partControl,
	"PrerequisiteRule.depends_on_step":           partControl,
	"PrerequisiteRule.description":               partControl,

	"AgentConfigs.orchestrator_llm":             partConversations,
	"AgentConfigs.sub_agent_llm":                partConversations,
	"AgentConfigs.todo_task_orchestrator_tier":  partConversations,
	"AgentConfigs.orchestration_max_iterations": partConversations,

	"AgentConfigs.disable_tier_optimization":  partLearning,
	"AgentConfigs.learning_max_turns":         partLearning,
	"AgentConfigs.enabled_skills":             partLearning,
	"AgentConfigs.learnings_access":           partLearning, // writing
	"AgentConfigs.learning_objective":         partLearning,
	"AgentConfigs.learning_detail_level":      partLearning,
	"AgentConfigs.global_skill_objective":     partLearning,
	"AgentConfigs.lock_learnings":             partLearning,
	"AgentConfigs.lock_learnings_reason":      partLearning,
	"AgentConfigs.review_notes":               partLearning,
	"AgentConfigs.knowledgebase_access":       partLearning, // the tools
	"AgentConfigs.knowledgebase_contribution": partLearning,
	"AgentConfigs.lock_knowledgebase":         partLearning,
	"AgentConfigs.lock_knowledgebase_reason":  partLearning,
	"AgentConfigs.db_access":                  partLearning, // the tools

	"AgentConfigs.declared_execution_mode":        partScripts,
	"AgentConfigs.declared_execution_mode_reason": partScripts,
	"AgentConfigs.use_code_execution_mode":        partScripts,
	"AgentConfigs.learn_code_max_fix_iterations":  partScripts,
	"AgentConfigs.lock_code":                      partScripts,
	"AgentConfigs.lock_code_reason":               partScripts,
	"AgentConfigs.successful_runs":                partScripts,

	"LLMRef.published_llm_id":                  partBuilder, // a registry of models
	"AgentConfigs.coding_agent_tmux_lifecycle": partBuilder, // of coding agents that a host runs
	"AgentConfigs.description_reviewed":        partBuilder,
	"AgentConfigs.drift_review":                partBuilder,
	"DriftReview.needs_review":                 partBuilder,
	"DriftReview.reviewed_at":                  partBuilder,
	"DriftReview.reviewed_by":                  partBuilder,
	"DriftReview.contract_version":             partBuilder,
	"DriftReview.checks":                       partBuilder,
	"DriftCheck.check_id":                      partBuilder,
	"DriftCheck.status":                        partBuilder,
	"DriftCheck.evidence":                      partBuilder,
}

const (
	partControl       = 6
	partConversations = 7
	partLearning      = 9
	partScripts       = 10
	partBuilder       = 13 // behind the evaluation
)

// forReaders has the fields that are for people and never do anything.
var forReaders = map[string]bool{"StepConfig.title": true}

func TestEveryFieldHasATestOfItsEffectOrThePartThatBringsIt(t *testing.T) {
	t.Parallel()
	tests := behaviouralTests(t)
	known := map[string]bool{}
	for _, typ := range documentTypes() {
		for field := range typ.Fields() {
			key := jsonKey(field)
			if key == "" {
				continue
			}
			name := typ.Name() + "." + key
			known[name] = true
			if test := shown[name]; test != "" {
				text, exists := tests[test]
				assert.True(t, exists, "%s: there is no test %s", name, test)
				assert.True(t, !exists || strings.Contains(text, key) || key == "steps", "%s: %s says nothing of %s", name, test, key)
				continue
			}
			assert.True(t, later[name] > 0 || forReaders[name], "%s has neither a test of its effect nor a part that brings it", name)
		}
	}
	for _, table := range []map[string]bool{keys(shown), keys(later), forReaders} {
		for name := range table {
			assert.True(t, known[name], "there is no field %s", name)
		}
	}
}

// documentTypes are the types of a file's objects, found from the file's.
func documentTypes() []reflect.Type {
	found := []reflect.Type{reflect.TypeFor[stepconfig.File]()}
	for i := 0; i < len(found); i++ {
		for field := range found[i].Fields() {
			inner := field.Type
			for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
				inner = inner.Elem()
			}
			if jsonKey(field) != "" && inner.Kind() == reflect.Struct && !slices.Contains(found, inner) {
				found = append(found, inner)
			}
		}
	}
	return found
}

func keys[V any](table map[string]V) map[string]bool {
	set := map[string]bool{}
	for key := range table {
		set[key] = true
	}
	return set
}

// jsonKey is the key of a field in a file; empty when it is not in files.
func jsonKey(field reflect.StructField) string {
	key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return key
}

// behaviouralTests are the texts of the tests of this package and of workflow by name.
func behaviouralTests(t *testing.T) map[string]string {
	t.Helper()
	tests := map[string]string{}
	workflow := filepath.Join("..", "workflow")
	for _, pattern := range []string{"*_test.go", filepath.Join(workflow, "*_test.go")} {
		names, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, names)
		for _, name := range names {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			parsed, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
			require.NoError(t, err)
			for _, decl := range parsed.Decls {
				if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
					tests[fn.Name.Name] = string(text[fn.Pos()-parsed.FileStart : fn.End()-parsed.FileStart])
				}
			}
		}
	}
	names, err := filepath.Glob(filepath.Join(workflow, "testdata", "scenario", "*.txtar"))
	require.NoError(t, err)
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		tests[filepath.Base(name)] = string(text)
	}
	return tests
}

// samples are JSON values that a field takes, none of them its default.
func samples(t *testing.T, key string, typ reflect.Type) []string {
	t.Helper()
	words := map[string][]string{
		"execution_tier": {"medium", "low"}, "todo_task_orchestrator_tier": {"medium", "low"},
		"llm_validation_mode": {"auto", "always"}, "learnings_access": {"read-write", "none"},
		"learning_detail_level": {"general", "none"}, "knowledgebase_access": {"read", "write", "read-write"},
		"db_access": {"read"}, "declared_execution_mode": {"scripted"},
		"coding_agent_tmux_lifecycle": {"close_on_completion", "keep_alive"},
	}
	if list := words[key]; list != nil {
		quoted := make([]string, len(list))
		for i, word := range list {
			quoted[i] = `"` + word + `"`
		}
		return quoted
	}
	switch typ {
	case reflect.TypeFor[*bool]():
		return []string{"true", "false"}
	case reflect.TypeFor[json.RawMessage]():
		return []string{`{"agentic":3,"n":1.0}`}
	}
	return []string{sample(t, typ, 2)}
}

// sample is a JSON value of a type with every field of every object, and keys that
// nobody knows.
func sample(t *testing.T, typ reflect.Type, depth int) string {
	t.Helper()
	switch typ.Kind() {
	case reflect.Pointer:
		return sample(t, typ.Elem(), depth)
	case reflect.Bool:
		return "true"
	case reflect.Int:
		return "7"
	case reflect.String:
		return `"text:*"`
	case reflect.Map:
		return `{"temperature":1.0,"n":{"deep":[null]}}`
	case reflect.Slice:
		return "[" + sample(t, typ.Elem(), depth) + "]"
	case reflect.Struct:
		members := []string{`"x-later":{"n":1.50}`}
		for field := range typ.Fields() {
			if key := jsonKey(field); key != "" && (depth > 0 || field.Type.Kind() != reflect.Slice) {
				members = append(members, `"`+key+`":`+sample(t, field.Type, depth-1))
			}
		}
		return "{" + strings.Join(members, ",") + "}"
	default:
		t.Fatalf("no sample of %s", typ)
		return ""
	}
}
