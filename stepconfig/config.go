package stepconfig

import (
	"encoding/json"

	"github.com/treadle-dev/treadle/internal/openjson"
)

// File is one step_config.json. The zero value is a file without steps.
type File struct {
	// Steps are the entries in the order of the file. Where an id stands twice,
	// the later entry counts; see [File.Step].
	Steps []StepConfig `json:"steps,omitempty"`

	name   string // where it was read
	legacy bool   // it was a bare list
	rest   openjson.Members
}

// StepConfig is the configuration of one step.
type StepConfig struct {
	// ID is that of the step in the plan.
	ID string `json:"id,omitempty"`
	// Title is for readers only.
	Title string `json:"title,omitempty"`
	// AgentConfigs is nil when absent or null: the workflow's defaults apply.
	AgentConfigs *AgentConfigs `json:"agent_configs,omitempty"`
	// ValidationSchema is used instead of the step's own schema in the plan when
	// it is not empty. The JSON null counts as absent.
	ValidationSchema json.RawMessage `json:"validation_schema,omitempty"`

	rest openjson.Members
}

// LLMRef names a model.
type LLMRef struct {
	// PublishedLLMID names an entry of the host's registry of models.
	PublishedLLMID string `json:"published_llm_id,omitempty"`
	Provider       string `json:"provider,omitempty"`
	ModelID        string `json:"model_id,omitempty"`
	// Options are further fields of the provider's request, sent as they are.
	Options map[string]json.RawMessage `json:"options,omitempty"`
	// Fallbacks are tried in order when the model cannot be reached.
	Fallbacks []LLMRef `json:"fallbacks,omitempty"`

	rest openjson.Members
}

// PrerequisiteRule sends a step back to an earlier one when a condition, given in
// prose, holds.
type PrerequisiteRule struct {
	DependsOnStep string `json:"depends_on_step,omitempty"`
	Description   string `json:"description,omitempty"`

	rest openjson.Members
}

// DriftReview records whether somebody has looked at a step since its contract
// changed.
type DriftReview struct {
	NeedsReview *bool  `json:"needs_review,omitempty"`
	ReviewedAt  string `json:"reviewed_at,omitempty"` // RFC 3339
	ReviewedBy  string `json:"reviewed_by,omitempty"`
	// ContractVersion is the contract that was reviewed; without it the review is
	// due whatever NeedsReview says.
	ContractVersion *int         `json:"contract_version,omitempty"`
	Checks          []DriftCheck `json:"checks,omitempty"`

	rest openjson.Members
}

// DriftCheck is one thing that a review has looked at.
type DriftCheck struct {
	CheckID  string `json:"check_id,omitempty"`
	Status   string `json:"status,omitempty"`
	Evidence string `json:"evidence,omitempty"`

	rest openjson.Members
}

// UnmarshalJSON implements [json.Unmarshaler]. Any JSON value is taken; what does
// not fit is kept and reported by [Parse].
func (f *File) UnmarshalJSON(data []byte) error { return f.rest.Decode(data, f) }

// MarshalJSON implements [json.Marshaler].
func (f File) MarshalJSON() ([]byte, error) {
	if f.Steps == nil && f.rest.Whole() == nil && f.rest.Blank("steps") == nil && f.rest.Kept("steps") == nil {
		f.Steps = []StepConfig{}
	}
	return f.rest.Encode(&f)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (s *StepConfig) UnmarshalJSON(data []byte) error { return s.rest.Decode(data, s) }

// MarshalJSON implements [json.Marshaler].
func (s StepConfig) MarshalJSON() ([]byte, error) { return s.rest.Encode(&s) }

// UnmarshalJSON implements [json.Unmarshaler].
func (r *LLMRef) UnmarshalJSON(data []byte) error { return r.rest.Decode(data, r) }

// MarshalJSON implements [json.Marshaler].
func (r LLMRef) MarshalJSON() ([]byte, error) { return r.rest.Encode(&r) }

// UnmarshalJSON implements [json.Unmarshaler].
func (p *PrerequisiteRule) UnmarshalJSON(data []byte) error { return p.rest.Decode(data, p) }

// MarshalJSON implements [json.Marshaler].
func (p PrerequisiteRule) MarshalJSON() ([]byte, error) { return p.rest.Encode(&p) }

// UnmarshalJSON implements [json.Unmarshaler].
func (d *DriftReview) UnmarshalJSON(data []byte) error { return d.rest.Decode(data, d) }

// MarshalJSON implements [json.Marshaler].
func (d DriftReview) MarshalJSON() ([]byte, error) { return d.rest.Encode(&d) }

// UnmarshalJSON implements [json.Unmarshaler].
func (d *DriftCheck) UnmarshalJSON(data []byte) error { return d.rest.Decode(data, d) }

// MarshalJSON implements [json.Marshaler].
func (d DriftCheck) MarshalJSON() ([]byte, error) { return d.rest.Encode(&d) }
