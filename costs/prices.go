package costs

import (
	"errors"
	"fmt"
	"strings"
)

// Prices is a price list. It is plain data that a host supplies; a nil list, like
// the zero value, knows no price. It must not change while a [Tally] uses it.
type Prices struct {
	// Version is stamped on every amount that the list priced, such as
	// "2026-11-01". It contains no comma.
	Version string       `json:"version"`
	Models  []ModelPrice `json:"models"`
}

// ModelPrice is what one model costs in US dollars per million tokens. A nil rate
// is unknown, which is not free: write new(costs.Dollars(0)) for free.
type ModelPrice struct {
	// Provider is compared as it is; empty prices the model at every provider
	// that has no price of its own for it.
	Provider string `json:"provider,omitempty"`
	// Model is the model id, compared as it is.
	Model string `json:"model"`

	Input      *USD `json:"input,omitempty"`
	Output     *USD `json:"output,omitempty"` // of all output, reasoning included
	CacheRead  *USD `json:"cache_read,omitempty"`
	CacheWrite *USD `json:"cache_write,omitempty"`
}

// Lookup returns the price of a model at a provider, and false when the list has
// none.
func (p *Prices) Lookup(provider, model string) (ModelPrice, bool) {
	if p == nil {
		return ModelPrice{}, false
	}
	anywhere := -1
	for i := range p.Models {
		switch price := &p.Models[i]; {
		case price.Model != model:
		case price.Provider == provider:
			return *price, true
		case price.Provider == "" && anywhere < 0:
			anywhere = i
		}
	}
	if anywhere < 0 {
		return ModelPrice{}, false
	}
	return p.Models[anywhere], true
}

// Validate finds every mistake of the list at once; the error matches
// [ErrInvalidPrice]. A nil list is valid.
func (p *Prices) Validate() error {
	if p == nil {
		return nil
	}
	var errs []error
	wrong := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: "+format, append([]any{ErrInvalidPrice}, args...)...))
	}
	if strings.Contains(p.Version, ",") {
		wrong("version %q contains a comma", p.Version)
	}
	if p.Version == "" && len(p.Models) > 0 {
		wrong("the list has no version; a date will do")
	}
	seen := make(map[modelID]bool, len(p.Models))
	for i, price := range p.Models {
		id := modelID{price.Provider, price.Model}
		switch {
		case price.Model == "":
			wrong("models[%d] names no model", i)
		case seen[id]:
			wrong("models[%d] prices %s a second time", i, id)
		}
		seen[id] = true
		for _, rate := range []struct {
			name string
			usd  *USD
		}{{"input", price.Input}, {"output", price.Output}, {"cache_read", price.CacheRead}, {"cache_write", price.CacheWrite}} {
			if rate.usd != nil && *rate.usd < 0 {
				wrong("models[%d].%s of %s is negative", i, rate.name, id)
			}
		}
	}
	return errors.Join(errs...)
}
