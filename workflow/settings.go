package workflow

import (
	"encoding/json"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/internal/openjson"
	"github.com/treadle-dev/treadle/stepconfig"
)

// Settings is workflow.json. A missing file is the zero value. A nil pointer, a nil
// list and an empty string mean that the file is silent; an empty list that is not nil
// was written as []. What the struct cannot hold, such as unknown keys, is kept and
// written again.
//
// A block that is nil may also be one that could not be read: it has a notice, stays in
// the file as it is, and goes only when another value is put in its place.
type Settings struct {
	open

	// SchemaVersion is that of the file's form; nil is [SettingsSchemaVersion].
	SchemaVersion *int `json:"schema_version,omitempty"`
	// Version is the version of the contract between the workflow and what builds it,
	// such as "1.0.35".
	Version   string     `json:"version,omitempty"`
	ID        string     `json:"id,omitempty"`
	Label     string     `json:"label,omitempty"`      // for people
	CreatedAt string     `json:"created_at,omitempty"` // RFC 3339
	UpdatedAt string     `json:"updated_at,omitempty"` // RFC 3339; whoever edits sets it
	Ownership *Ownership `json:"ownership,omitempty"`
	Schedules []Schedule `json:"schedules,omitempty"`
	// RunRetentionCount is how many runs are kept, 1 to 50; nil is
	// [DefaultRunRetention].
	RunRetentionCount *int              `json:"run_retention_count,omitempty"`
	Capabilities      Capabilities      `json:"capabilities,omitzero"`
	ExecutionDefaults ExecutionDefaults `json:"execution_defaults,omitzero"`
	// OversightMode is how much the workflow may change by itself: manual, supervised
	// (the default) or autonomous.
	OversightMode string `json:"oversight_mode,omitempty"`
	// DecisionLogMutability is append_only or append_only_strict.
	DecisionLogMutability string   `json:"decision_log_mutability,omitempty"`
	Pulse                 *Pulse   `json:"pulse,omitempty"`
	Backup                *Backup  `json:"backup,omitempty"`
	Publish               *Publish `json:"publish,omitempty"`

	// PostRunMonitor is the older form of Pulse, into which reading migrates it. It
	// stays only where its form is not known.
	PostRunMonitor json.RawMessage `json:"post_run_monitor,omitempty"`
}

// SettingsSchemaVersion is the version of the form of workflow.json.
const SettingsSchemaVersion = 1

// DefaultRunRetention is how many runs are kept where the settings do not say.
const DefaultRunRetention = 5

// The values of [Settings.OversightMode].
const (
	OversightManual     = "manual"
	OversightSupervised = "supervised"
	OversightAutonomous = "autonomous"
)

// Capabilities say what the steps of a workflow may use.
type Capabilities struct {
	open

	// SelectedServers are the toolsets of steps that do not choose: nil or empty is
	// all that the host has, ["NO_SERVERS"] is none.
	SelectedServers []string `json:"selected_servers,omitempty"`
	// SelectedTools narrows them, as "server:tool" or "server:*".
	SelectedTools  []string `json:"selected_tools,omitempty"`
	SelectedSkills []string `json:"selected_skills,omitempty"` // of the builder; they do not reach steps
	// SelectedSecrets are names of secrets of the workflow, never values.
	SelectedSecrets []string `json:"selected_secrets,omitempty"`
	// SelectedGlobalSecretNames are names of the host's secrets: nil is all, an empty
	// list none.
	SelectedGlobalSecretNames []string `json:"selected_global_secret_names,omitempty"`
	// BrowserMode is none, auto, headless or cdp.
	BrowserMode string `json:"browser_mode,omitempty"`
	// CDPPorts are ports of browsers that run already, 4 at most.
	CDPPorts []int `json:"cdp_ports,omitempty"`
	// UseCodeExecutionMode lets steps that do not choose call tools from code.
	UseCodeExecutionMode *bool `json:"use_code_execution_mode,omitempty"`
	// LLMConfig names the models of the tiers.
	LLMConfig     LLMConfig      `json:"llm_config,omitzero"`
	Notifications *Notifications `json:"notifications,omitempty"`
}

// LLMConfig says which models a workflow uses.
type LLMConfig struct {
	open

	// SchemaVersion is 2.
	SchemaVersion *int `json:"schema_version,omitempty"`
	// Mode is provider_profile (the models of Provider) or explicit.
	Mode     string `json:"mode,omitempty"`
	Provider string `json:"provider,omitempty"`
	// The models of work on the workflow itself.
	BuilderLLM     *stepconfig.LLMRef `json:"builder_llm,omitempty"`
	MaintenanceLLM *stepconfig.LLMRef `json:"maintenance_llm,omitempty"`
	PulseLLM       *stepconfig.LLMRef `json:"pulse_llm,omitempty"`
	// TieredConfig has the models of steps.
	TieredConfig TieredConfig `json:"tiered_config,omitzero"`
}

// TieredConfig has the models of steps by tier. Nil leaves the choice to the host.
type TieredConfig struct {
	open

	Tier1 *stepconfig.LLMRef `json:"tier_1,omitempty"` // high
	Tier2 *stepconfig.LLMRef `json:"tier_2,omitempty"` // medium
	Tier3 *stepconfig.LLMRef `json:"tier_3,omitempty"` // low
}

// ExecutionDefaults hold for steps that do not say otherwise, and for runs.
type ExecutionDefaults struct {
	open

	// AlwaysUseSameRun asks for one run folder that is used again and again.
	AlwaysUseSameRun *bool `json:"always_use_same_run,omitempty"`
	// DisableLearning keeps every step from writing learnings.
	DisableLearning *bool `json:"disable_learning,omitempty"`
	// GlobalSkillObjective tells who writes learnings what the shared skill is for.
	GlobalSkillObjective string `json:"global_skill_objective,omitempty"`
	// DisableParallelToolExecution runs the tool calls of a reply one by one.
	DisableParallelToolExecution *bool `json:"disable_parallel_tool_execution,omitempty"`
	// ExecutionMaxTurns bounds the model calls of one attempt. Nil is
	// [agent.DefaultMaxTurns].
	ExecutionMaxTurns *int `json:"execution_max_turns,omitempty"`
	// MaxParallelSteps is how many independent steps run side by side; nil is 1.
	MaxParallelSteps *int `json:"max_parallel_steps,omitempty"`
	// EnabledCustomTools are the custom tools of steps that do not choose, as
	// "category:tool" or "category:*". Nil or empty is none.
	EnabledCustomTools []string `json:"enabled_custom_tools,omitempty"`
	// WorkshopMode is workshop or run; reading migrates older names.
	WorkshopMode string `json:"workshop_mode,omitempty"`

	// RunMode is the older form of AlwaysUseSameRun, into which reading migrates it.
	RunMode string `json:"run_mode,omitempty"`
}

// stepDefaults are what holds for steps that do not say otherwise.
func (s *Settings) stepDefaults() *stepconfig.Defaults {
	caps, defaults := &s.Capabilities, &s.ExecutionDefaults
	return &stepconfig.Defaults{
		SelectedServers: caps.SelectedServers, SelectedTools: caps.SelectedTools,
		UseCodeExecutionMode: caps.UseCodeExecutionMode,
		EnabledCustomTools:   defaults.EnabledCustomTools, ExecutionMaxTurns: defaults.ExecutionMaxTurns,
		DisableParallelToolExecution: defaults.DisableParallelToolExecution,
		GlobalSkillObjective:         defaults.GlobalSkillObjective, DisableLearning: defaults.DisableLearning,
	}
}

func (c *LLMConfig) tiers() agent.Tiers {
	var tiers agent.Tiers
	for _, t := range []struct {
		ref  *stepconfig.LLMRef
		into *agent.ModelRef
	}{
		{c.TieredConfig.Tier1, &tiers.High},
		{c.TieredConfig.Tier2, &tiers.Medium},
		{c.TieredConfig.Tier3, &tiers.Low},
	} {
		if t.ref != nil {
			*t.into = modelRef(t.ref)
		}
	}
	return tiers
}

// open is the part of an object that its struct cannot hold.
type open struct{ rest openjson.Members }

func (o *open) members() *openjson.Members { return &o.rest }

// UnmarshalJSON implements [json.Unmarshaler]. Any JSON value is taken; what does not
// fit is kept and reported by [ReadSettings].
func (s *Settings) UnmarshalJSON(data []byte) error { return s.rest.Decode(data, s) }

// MarshalJSON implements [json.Marshaler].
func (s Settings) MarshalJSON() ([]byte, error) { return s.rest.Encode(&s) }

// UnmarshalJSON implements [json.Unmarshaler].
func (c *Capabilities) UnmarshalJSON(data []byte) error { return c.rest.Decode(data, c) }

// MarshalJSON implements [json.Marshaler].
func (c Capabilities) MarshalJSON() ([]byte, error) { return c.rest.Encode(&c) }

// UnmarshalJSON implements [json.Unmarshaler].
func (c *LLMConfig) UnmarshalJSON(data []byte) error { return c.rest.Decode(data, c) }

// MarshalJSON implements [json.Marshaler].
func (c LLMConfig) MarshalJSON() ([]byte, error) { return c.rest.Encode(&c) }

// UnmarshalJSON implements [json.Unmarshaler].
func (c *TieredConfig) UnmarshalJSON(data []byte) error { return c.rest.Decode(data, c) }

// MarshalJSON implements [json.Marshaler].
func (c TieredConfig) MarshalJSON() ([]byte, error) { return c.rest.Encode(&c) }

// UnmarshalJSON implements [json.Unmarshaler].
func (d *ExecutionDefaults) UnmarshalJSON(data []byte) error { return d.rest.Decode(data, d) }

// MarshalJSON implements [json.Marshaler].
func (d ExecutionDefaults) MarshalJSON() ([]byte, error) { return d.rest.Encode(&d) }
