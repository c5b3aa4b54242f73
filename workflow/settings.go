package workflow

import (
	"encoding/json"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/stepconfig"
	"github.com/treadle-dev/treadle/workspace"
)

// Settings is workflow.json as far as runs read it. A missing file is the zero
// value.
type Settings struct {
	ID                string            `json:"id,omitempty"`
	Label             string            `json:"label,omitempty"`
	Capabilities      Capabilities      `json:"capabilities"`
	ExecutionDefaults ExecutionDefaults `json:"execution_defaults"`
}

// Capabilities say what the steps of a workflow may use.
type Capabilities struct {
	// SelectedServers are the toolsets of steps that do not choose: nil or empty is
	// all that the host has, ["NO_SERVERS"] is none.
	SelectedServers []string `json:"selected_servers,omitempty"`
	// SelectedTools narrows them, as "server:tool" or "server:*".
	SelectedTools []string `json:"selected_tools,omitempty"`
	// LLMConfig names the models of the tiers.
	LLMConfig LLMConfig `json:"llm_config,omitzero"`
}

// LLMConfig says which models the steps of a workflow use.
type LLMConfig struct {
	TieredConfig struct {
		Tier1 *stepconfig.LLMRef `json:"tier_1,omitempty"` // high
		Tier2 *stepconfig.LLMRef `json:"tier_2,omitempty"` // medium
		Tier3 *stepconfig.LLMRef `json:"tier_3,omitempty"` // low
	} `json:"tiered_config,omitzero"`
}

// stepDefaults are what holds for steps that do not say otherwise.
func (s *Settings) stepDefaults() *stepconfig.Defaults {
	return &stepconfig.Defaults{
		SelectedServers: s.Capabilities.SelectedServers, SelectedTools: s.Capabilities.SelectedTools,
		EnabledCustomTools: s.ExecutionDefaults.EnabledCustomTools, ExecutionMaxTurns: s.ExecutionDefaults.ExecutionMaxTurns,
		DisableParallelToolExecution: s.ExecutionDefaults.DisableParallelToolExecution,
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

// ExecutionDefaults hold for steps that do not say otherwise.
type ExecutionDefaults struct {
	// ExecutionMaxTurns bounds the model calls of one attempt. Nil is
	// [agent.DefaultMaxTurns].
	ExecutionMaxTurns *int `json:"execution_max_turns,omitempty"`
	// DisableParallelToolExecution runs the tool calls of a reply one by one.
	DisableParallelToolExecution *bool `json:"disable_parallel_tool_execution,omitempty"`
	// EnabledCustomTools are the custom tools of steps that do not choose, as
	// "category:tool" or "category:*". Nil or empty is none.
	EnabledCustomTools []string `json:"enabled_custom_tools,omitempty"`
}

func parseSettings(data []byte) (*Settings, workspace.Diagnostics) {
	settings := &Settings{}
	if data == nil {
		return settings, nil
	}
	if err := json.Unmarshal(data, settings); err != nil {
		return settings, workspace.Diagnostics{jsonDiagnostic("settings", workspace.SettingsFile, "", data, err)}
	}
	return settings, nil
}
