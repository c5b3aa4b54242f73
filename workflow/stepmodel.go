package workflow

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/manifest"
	"github.com/treadle-dev/treadle/stepconfig"
	"github.com/treadle-dev/treadle/workspace"
)

// models are the model of a step and its fallbacks in order: what the step's own
// configuration names, else the model of its tier in the workflow's settings, else
// in the host's, else the host's default. Without a tier of its own a step takes
// the high one.
func (p *Program) models(s *compiledStep, config *Config) ([]agent.ModelRef, error) {
	if s.effective.ExecutionLLM != nil {
		return modelRef(s.effective.ExecutionLLM).Chain(), nil
	}
	tier, err := agent.ParseTier(s.effective.ExecutionTier)
	if err != nil {
		return nil, err
	}
	for _, tiers := range []agent.Tiers{p.settings.Capabilities.LLMConfig.tiers(), config.Tiers} {
		ref, err := tiers.Resolve(tier)
		if err != nil {
			return nil, err
		}
		if !ref.IsZero() {
			return ref.Chain(), nil
		}
	}
	return []agent.ModelRef{{Provider: config.Provider, Model: config.Model}}, nil
}

// verdictModels are the models that judge the step's outputs: validation_llm, else
// those of the step itself.
func (p *Program) verdictModels(s *compiledStep, config *Config) ([]agent.ModelRef, error) {
	if s.effective.ValidationLLM != nil {
		return modelRef(s.effective.ValidationLLM).Chain(), nil
	}
	return p.models(s, config)
}

func modelRef(ref *stepconfig.LLMRef) agent.ModelRef {
	out := agent.ModelRef{Provider: ref.Provider, Model: ref.ModelID, Options: ref.Options}
	for i := range ref.Fallbacks {
		out.Fallbacks = append(out.Fallbacks, modelRef(&ref.Fallbacks[i]))
	}
	return out
}

// backends finds the backends of models, the step's own first.
func (c *Controller) backends(ctx context.Context, refs []agent.ModelRef) ([]agent.Fallback, error) {
	if c.config.Models == nil {
		return nil, errors.New("the step needs a model and the host has configured none (Config.Models)")
	}
	backends := make([]agent.Fallback, len(refs))
	for i, ref := range refs {
		llm, err := c.config.Models.LLM(ctx, ref.Provider)
		if err != nil {
			return nil, fmt.Errorf("model %q: %w", ref.Model, err)
		}
		backends[i] = agent.Fallback{LLM: llm, Provider: ref.Provider, Model: ref.Model, Options: ref.Options}
		id, ok := llm.(agent.Identified)
		if !ok {
			continue
		}
		if backends[i].Provider == "" {
			backends[i].Provider = id.Provider()
		}
		if backends[i].Model == "" {
			backends[i].Model = id.DefaultModel()
		}
		if backends[i].Model == "" {
			return nil, errors.New("no model is named: name one in the step's execution_llm, in the workflow's llm_config, or as the host's default")
		}
	}
	return backends, nil
}

// CheckModels reports every step that needs a model and has none that the host can
// serve. It calls no model; a run that starts does the same.
func (c *Controller) CheckModels(ctx context.Context, p *Program) workspace.Diagnostics {
	var ds workspace.Diagnostics
	var last []agent.ModelRef // most steps have the model of the step before
	var lastErr error
	check := func(s *compiledStep, refs []agent.ModelRef, err error, configured *stepconfig.LLMRef, field string) {
		if err == nil {
			if last == nil || !reflect.DeepEqual(refs, last) {
				last = refs
				_, lastErr = c.backends(ctx, refs)
			}
			err = lastErr
		}
		if err == nil {
			return
		}
		d := finding(codeModelMissing, workspace.PlanFile, s.pointer, fmt.Sprintf("step %s: %v", s.id, err), "")
		if configured != nil {
			d.File, d.Pointer = p.configFile, s.configPointer+"/"+field
		}
		ds = append(ds, d)
	}
	for _, s := range p.steps {
		if s.typ.Manifest == nil || s.typ.Manifest.CallsModel != manifest.CallsModelAlways {
			continue
		}
		refs, err := p.models(s, &c.config)
		check(s, refs, err, s.effective.ExecutionLLM, "execution_llm")
		if s.effective.ModelValidation() != stepconfig.ValidationSkip && s.effective.ValidationLLM != nil {
			refs, err := p.verdictModels(s, &c.config)
			check(s, refs, err, s.effective.ValidationLLM, "validation_llm")
		}
	}
	p.source.locate(ds)
	return ds
}
