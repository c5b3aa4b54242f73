package agent

import (
	"encoding/json"
	"fmt"
)

// Tier is how capable, and how dear, a model should be.
type Tier string

// The tiers.
const (
	TierHigh   Tier = "high"
	TierMedium Tier = "medium"
	TierLow    Tier = "low"
)

// UnknownTierError says that a tier is none of those that there are.
type UnknownTierError struct {
	Name string
}

func (e *UnknownTierError) Error() string {
	return fmt.Sprintf("there is no model tier %q; use high, medium or low (or 1, 2 or 3)", e.Name)
}

// ParseTier reads a tier by its name, or by its number: 1 is high, 2 medium and 3
// low. The error is an [*UnknownTierError].
func ParseTier(name string) (Tier, error) {
	switch name {
	case "high", "1":
		return TierHigh, nil
	case "medium", "2":
		return TierMedium, nil
	case "low", "3":
		return TierLow, nil
	}
	return "", &UnknownTierError{Name: name}
}

// ModelRef names a model. The zero value is the host's default model.
type ModelRef struct {
	// Provider chooses the backend; see [Models]. Empty is the host's default.
	Provider string `json:"provider,omitempty"`
	// Model is the backend's own model id. Empty is the backend's default.
	Model string `json:"model_id,omitempty"`
	// Options are further fields of the provider's request body, sent as they are.
	Options map[string]json.RawMessage `json:"options,omitempty"`
	// Fallbacks are tried in order when the model cannot be reached.
	Fallbacks []ModelRef `json:"fallbacks,omitempty"`
}

// IsZero reports whether the reference names nothing.
func (r ModelRef) IsZero() bool {
	return r.Provider == "" && r.Model == "" && len(r.Options) == 0 && len(r.Fallbacks) == 0
}

// Chain returns the model and then its fallbacks, each without fallbacks of its
// own, in the order in which they are tried. A model that has been named before,
// with the same provider, is left out.
func (r ModelRef) Chain() []ModelRef {
	type name struct{ provider, model string }
	var chain []ModelRef
	seen := map[name]bool{}
	var add func(ModelRef)
	add = func(ref ModelRef) {
		fallbacks := ref.Fallbacks
		ref.Fallbacks = nil
		if at := (name{ref.Provider, ref.Model}); !seen[at] {
			seen[at] = true
			chain = append(chain, ref)
		}
		for _, fallback := range fallbacks {
			add(fallback)
		}
	}
	add(r)
	return chain
}

// Tiers says which model serves which tier. It is plain data. The zero value
// resolves every tier to the host's default model.
type Tiers struct {
	High   ModelRef `json:"high,omitzero"`
	Medium ModelRef `json:"medium,omitzero"`
	Low    ModelRef `json:"low,omitzero"`
}

// Resolve returns the model of a tier. A tier that is not set takes the nearest
// one that is: first the more capable, then the less. The error is an
// [*UnknownTierError].
func (t Tiers) Resolve(tier Tier) (ModelRef, error) {
	var order []ModelRef
	switch tier {
	case TierHigh:
		order = []ModelRef{t.High, t.Medium, t.Low}
	case TierMedium:
		order = []ModelRef{t.Medium, t.High, t.Low}
	case TierLow:
		order = []ModelRef{t.Low, t.Medium, t.High}
	default:
		return ModelRef{}, &UnknownTierError{Name: string(tier)}
	}
	for _, ref := range order {
		if !ref.IsZero() {
			return ref, nil
		}
	}
	return ModelRef{}, nil
}
