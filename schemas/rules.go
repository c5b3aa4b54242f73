package schemas

import (
	"reflect"

	"github.com/invopop/jsonschema"

	"github.com/treadle-dev/treadle/stepconfig"
	"github.com/treadle-dev/treadle/validation"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

// allRules repeat what the decoders check, because a decoder's code cannot be read as
// data. The tests compare the two on documents with faults in every field.
func allRules() map[reflect.Type]typeRules {
	all := map[reflect.Type]typeRules{}
	planRules(all)
	configRules(all)
	validationRules(all)
	settingsRules(all)
	scheduleRules(all)
	variablesRules(all)
	ledgerRules(all)
	journalRules(all)
	return all
}

func planRules(all map[reflect.Type]typeRules) {
	rulesFor[workflow.StepBase](all, map[string]rule{
		"id":   {required: true, pattern: `^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`},
		"type": {required: true, about: "Which kind of step this is."},
	}, nil)
}

func configRules(all map[reflect.Type]typeRules) {
	rulesFor[stepconfig.File](all, map[string]rule{"steps": {required: true}}, nil)
	rulesFor[stepconfig.StepConfig](all, map[string]rule{"id": {required: true, text: true}}, nil)
	tiers := oneOf("high", "medium", "low")
	rulesFor[stepconfig.AgentConfigs](all, map[string]rule{
		"execution_tier":                 tiers,
		"todo_task_orchestrator_tier":    tiers,
		"llm_validation_mode":            oneOf(stepconfig.ValidationSkip, stepconfig.ValidationAuto, stepconfig.ValidationAlways).by(stepconfig.ValidationSkip),
		"learnings_access":               oneOf(stepconfig.AccessRead, stepconfig.AccessReadWrite, stepconfig.AccessNone).by(stepconfig.AccessRead),
		"learning_detail_level":          oneOf("exact", "general", "none").by("exact"),
		"knowledgebase_access":           oneOf(stepconfig.AccessRead, stepconfig.AccessWrite, stepconfig.AccessReadWrite, stepconfig.AccessNone).by(stepconfig.AccessNone),
		"db_access":                      oneOf(stepconfig.AccessRead, stepconfig.AccessReadWrite).by(stepconfig.AccessReadWrite),
		"declared_execution_mode":        oneOf(stepconfig.ModeScripted, stepconfig.ModeAgentic, "learn_code", "code_exec").by(stepconfig.ModeAgentic),
		"coding_agent_tmux_lifecycle":    oneOf("close_on_completion", "keep_alive"),
		"execution_max_turns":            least(1),
		"validation_max_turns":           least(1),
		"learning_max_turns":             least(1),
		"orchestration_max_iterations":   least(1),
		"learn_code_max_fix_iterations":  least(0),
		"disable_validation":             {initial: true},
		"enable_context_offloading":      {initial: true},
		"enable_prerequisite_detection":  {initial: false},
		"enabled_custom_tool_categories": {old: true},
	}, func(s *jsonschema.Schema) {
		when(s, "learnings_access", stepconfig.AccessReadWrite, needs("learning_objective"))
		s.AllOf = append(s.AllOf, &jsonschema.Schema{
			If:   with("knowledgebase_access", stepconfig.AccessWrite, stepconfig.AccessReadWrite),
			Then: needs("knowledgebase_contribution"),
		})
	})
	rulesFor[stepconfig.PrerequisiteRule](all, map[string]rule{"depends_on_step": {required: true, filled: true}}, nil)
}

func validationRules(all map[reflect.Type]typeRules) {
	rulesFor[validation.Schema](all, map[string]rule{
		"files": {maxItems: validation.MaxFiles}, "db": {maxItems: validation.MaxDBChecks},
	}, nil)
	rulesFor[validation.FileCheck](all, map[string]rule{
		"file_name": {required: true, text: true}, "must_exist": {initial: true},
		"json_checks": {maxItems: validation.MaxChecksPerFile},
	}, nil)
	rulesFor[validation.JSONCheck](all, map[string]rule{
		"path": {required: true, text: true}, "must_exist": {initial: true},
		"value_type": oneOf("string", "number", "boolean", "array", "object"),
		"min_length": least(0), "max_length": least(0),
	}, nil)
	rulesFor[validation.ConsistencyCheck](all, map[string]rule{
		"type":              {required: true, words: []string{"equals", "greater_than", "less_than", "array_length", "in_array"}},
		"compare_with_path": {required: true, text: true},
	}, nil)
	rows := rule{min: "0", max: number(validation.MaxRows)}
	rulesFor[validation.DBCheck](all, map[string]rule{
		"sql": {required: true, text: true}, "min_rows": rows, "max_rows": rows,
		"checks": {maxItems: validation.MaxChecksPerFile},
	}, nil)
}

func settingsRules(all map[reflect.Type]typeRules) {
	rulesFor[workflow.Settings](all, map[string]rule{
		"schema_version":          {numbers: []int{workflow.SettingsSchemaVersion}},
		"run_retention_count":     {min: "1", max: "50", initial: workflow.DefaultRunRetention},
		"oversight_mode":          oneOf(workflow.OversightManual, workflow.OversightSupervised, workflow.OversightAutonomous).by(workflow.OversightSupervised),
		"decision_log_mutability": oneOf("append_only", "append_only_strict"),
		"post_run_monitor":        {old: true},
	}, func(s *jsonschema.Schema) {
		monitor, _ := s.Properties.Get("post_run_monitor")
		monitor.AnyOf = []*jsonschema.Schema{{Type: "boolean"}, {Ref: "#/$defs/Pulse"}, {Type: "null"}}
	})
	rulesFor[workflow.Capabilities](all, map[string]rule{
		"browser_mode": oneOf("none", "auto", "headless", "cdp"),
		"cdp_ports":    {maxItems: 4, min: "1", max: "65535"},
	}, nil)
	rulesFor[workflow.LLMConfig](all, map[string]rule{
		"schema_version": {numbers: []int{1, 2}},
		"mode":           oneOf("provider_profile", "explicit"),
	}, nil)
	rulesFor[workflow.ExecutionDefaults](all, map[string]rule{
		"execution_max_turns": least(1), "max_parallel_steps": least(1).by(1),
		// The later ones are older names.
		"workshop_mode": oneOf("workshop", "run", "builder", "optimizer", "reporting", "ask", "runner", "debugger"),
		"run_mode":      {words: []string{"use_same_run", "create_new_runs_always"}, old: true},
	}, nil)
	rulesFor[workflow.BackupDestination](all, map[string]rule{"type": oneOf("git", "object_store", "huggingface", "local_zip")}, nil)
	rulesFor[workflow.PublishDestination](all, map[string]rule{"method": oneOf("cli", "git", "sync")}, nil)
}

func scheduleRules(all map[reflect.Type]typeRules) {
	rulesFor[workflow.Schedule](all, map[string]rule{
		"id":            {required: true, filled: true},
		"schedule_type": oneOf("cron", "calendar").by("cron"),
		"mode":          oneOf("workshop"),
		"workshop_mode": oneOf("run", "ask", "runner", "debugger"),
		"pulse_mode":    oneOf("off", "basic", "full"),
		"group_ids":     {old: true},
	}, func(s *jsonschema.Schema) {
		cron, items := jsonschema.NewProperties(), jsonschema.NewProperties()
		cron.Set("cron_expression", &jsonschema.Schema{Type: "string", Pattern: `^\s*\S+(\s+\S+){4}\s*$`})
		items.Set("calendar_items", &jsonschema.Schema{
			Type: "array", MinItems: new(uint64(1)), Items: &jsonschema.Schema{Ref: "#/$defs/DatedItem"},
		})
		s.AllOf = append(s.AllOf, &jsonschema.Schema{
			If:   with("schedule_type", "calendar"),
			Then: &jsonschema.Schema{Properties: items, Required: []string{"calendar_items"}},
			Else: &jsonschema.Schema{Properties: cron, Required: []string{"cron_expression"}},
		})
	})
}

// datedItem is what an item of a calendar must say where the calendar is used.
func datedItem() *jsonschema.Schema {
	properties := jsonschema.NewProperties()
	properties.Set("date", &jsonschema.Schema{Type: "string", Pattern: `^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$`})
	properties.Set("time", &jsonschema.Schema{Pattern: `^(([01]?[0-9]|2[0-3]):[0-5][0-9])?$`})
	return &jsonschema.Schema{Description: "An item of a calendar that is in use.", Properties: properties, Required: []string{"date"}}
}

func variablesRules(all map[reflect.Type]typeRules) {
	rulesFor[workflow.Variable](all, map[string]rule{
		"name": {required: true, pattern: `^[A-Za-z_][A-Za-z0-9_]*$`},
	}, nil)
	rulesFor[workflow.Group](all, map[string]rule{
		"enabled": {initial: true}, "display_name": {old: true}, "group_id": {old: true},
	}, func(s *jsonschema.Schema) {
		s.AnyOf = []*jsonschema.Schema{needs("name")}
		for _, old := range []string{"group_id", "display_name"} {
			named := needs(old)
			// An empty name is none; one of white space alone is a name, and a wrong one.
			named.Properties.Set("name", &jsonschema.Schema{Enum: []any{"", nil}})
			if old == "display_name" {
				named.Properties.Set("group_id", &jsonschema.Schema{Enum: []any{"", nil}})
			}
			s.AnyOf = append(s.AnyOf, named)
		}
	})
}

func ledgerRules(all map[reflect.Type]typeRules) {
	usage := map[string]rule{"duration_ms": {min: "0", max: "9223372036854"}}
	for _, key := range []string{
		"cache_read_tokens", "cache_tokens", "cache_write_tokens", "calls_without_price", "calls_without_usage",
		"input_tokens", "llm_call_count", "output_tokens", "reasoning_tokens",
	} {
		usage[key] = least(0)
	}
	for _, key := range []string{
		"cache_cost_usd", "cache_read_cost_usd", "cache_write_cost_usd", "input_cost_usd", "output_cost_usd",
		"reasoning_cost_usd", "total_cost_usd",
	} {
		usage[key] = rule{min: "0", max: "9223372.036854775807"} // 64 bits of 10⁻¹² dollar
	}
	rulesFor[modelUsage](all, usage, nil)
	rulesFor[dailyFile](all, map[string]rule{"executions": {old: true}, "evaluations": {old: true}}, nil)
	rulesFor[runFolderUsage](all, map[string]rule{"execution_id": {old: true}}, nil)
}

func journalRules(all map[reflect.Type]typeRules) {
	hex := func(digits string) rule { return rule{pattern: `^[0-9a-f]{` + digits + `}$`} }
	rulesFor[journalRecord](all, map[string]rule{
		"seq": least(1), "size": least(1), "kind": {filled: true}, "key": {filled: true},
		"input": hex("32"), "blob": hex("64"), "hash": hex("16"), "crc": hex("8"),
	}, nil)
	rulesFor[workflow.RunEvent](all, map[string]rule{"seq": least(1)}, nil)
	rulesFor[workspace.Diagnostic](all, map[string]rule{"line": least(1), "column": least(1)}, nil)
}
