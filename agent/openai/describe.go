package openai

import (
	"context"
	"time"

	"github.com/treadle-dev/treadle/agent"
)

const (
	// describeTimeout bounds the request for the list that tells of the models.
	describeTimeout = 10 * time.Second
	// describeAgain is how long the list is not asked for after it failed or did
	// not have the model.
	describeAgain = 5 * time.Minute
)

// described is what is known of the endpoint's models. Only who has taken the turn
// may read or write the rest.
type described struct {
	turn   chan struct{} // holds the turn while nobody has taken it
	models map[string]agent.ModelInfo
	asked  time.Time // the last time; zero when never
	err    error     // of the last time
}

func newDescribed() *described {
	d := &described{turn: make(chan struct{}, 1)}
	d.turn <- struct{}{}
	return d
}

// Describe says what a model can take; an empty model is the default one. It is
// what Config.Models says, else what the endpoint's list of models tells, where
// the profile says that it tells. The list is asked for once; after a failure, or
// for a model that it lacks, not again for 5 minutes. A request takes 10 seconds
// at most.
//
// What nobody tells is zero, without an error. When the list could not be had the
// error is an [*agent.ModelError] and everything is unknown, also for the calls in
// the minutes after it.
func (l *LLM) Describe(ctx context.Context, model string) (agent.ModelInfo, error) {
	if model == "" {
		model = l.cfg.Model
	}
	unknown := agent.ModelInfo{Model: model}
	for _, told := range l.cfg.Models {
		if told.Model == model {
			return told, nil
		}
	}
	if model == "" || !l.profile.DescribesModels {
		return unknown, nil
	}
	d := l.described
	select {
	case <-d.turn:
		defer func() { d.turn <- struct{}{} }()
	case <-ctx.Done():
		return unknown, context.Cause(ctx)
	}
	if info, known := d.models[model]; known {
		return info, nil
	}
	if d.asked.IsZero() || time.Since(d.asked) >= describeAgain {
		l.askForModels(ctx)
	}
	if info, known := d.models[model]; known {
		return info, nil
	}
	if err := context.Cause(ctx); err != nil {
		return unknown, err
	}
	return unknown, d.err
}

// askForModels is called with the turn taken. A caller that leaves says nothing
// about the endpoint.
func (l *LLM) askForModels(ctx context.Context) {
	bound := describeTimeout
	if l.cfg.RequestTimeout > 0 {
		bound = min(bound, l.cfg.RequestTimeout)
	}
	list, err := l.listModels(ctx, bound)
	if err != nil && ctx.Err() != nil {
		return
	}
	d := l.described
	d.asked, d.err = time.Now(), err
	if err != nil {
		return
	}
	d.models = make(map[string]agent.ModelInfo, len(list))
	for i := range list {
		d.models[list[i].ID] = list[i].info()
	}
}
