package costs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// share is the usage of one run, or of a run folder, in one daily file.
type share struct {
	created, updated time.Time // of the first and the last call; zero is unknown
	byModel          models
	byStep           map[string]models // by "phase:step"
}

// models is usage by model.
type models map[modelID]*bucket

func newShare() *share { return &share{byModel: models{}, byStep: map[string]models{}} }

func (m models) at(id modelID) *bucket {
	b := m[id]
	if b == nil {
		b = &bucket{}
		m[id] = b
	}
	return b
}

func (m models) merge(n models) {
	for id, b := range n {
		m.at(id).merge(b)
	}
}

func (m models) calls() int64 {
	var calls int64
	for _, b := range m {
		calls = addSaturated(calls, b.calls)
	}
	return calls
}

func (s *share) step(key string) models {
	m := s.byStep[key]
	if m == nil {
		m = models{}
		s.byStep[key] = m
	}
	return m
}

func (s *share) merge(t *share) {
	if s.created.IsZero() || (!t.created.IsZero() && t.created.Before(s.created)) {
		s.created = t.created
	}
	if t.updated.After(s.updated) {
		s.updated = t.updated
	}
	s.byModel.merge(t.byModel)
	for key, m := range t.byStep {
		s.step(key).merge(m)
	}
}

// The fields of a share.
const (
	fieldCreated = "created_at"
	fieldUpdated = "updated_at"
	fieldByModel = "by_model"
	fieldByStep  = "by_step_and_model"
)

// readShare reads a run folder's or an execution's usage.
func readShare(o object) (*share, error) {
	s := newShare()
	var err error
	if s.created, err = o.time(fieldCreated); err != nil {
		return nil, err
	}
	if s.updated, err = o.time(fieldUpdated); err != nil {
		return nil, err
	}
	if s.byModel, err = readModels(o[fieldByModel]); err != nil {
		return nil, fmt.Errorf("%s: %w", fieldByModel, err)
	}
	steps, err := readObject(o[fieldByStep])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", fieldByStep, err)
	}
	for key, raw := range steps {
		if s.byStep[key], err = readModels(raw); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", fieldByStep, key, err)
		}
	}
	return s, nil
}

func readModels(raw json.RawMessage) (models, error) {
	usages, err := readObject(raw)
	if err != nil {
		return nil, err
	}
	m := make(models, len(usages))
	for key, raw := range usages {
		u, err := readUsage(raw)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", key, err)
		}
		b, err := u.bucket()
		if err != nil {
			return nil, fmt.Errorf("%q: %w", key, err)
		}
		m.at(u.model(key)).merge(b)
	}
	return m, nil
}

// model undoes [models.keys].
func (u *usageJSON) model(key string) modelID {
	id := modelID{u.Provider, u.PricingModel}
	if id.provider != "" && id.model != "" && (key == id.String() || strings.HasPrefix(key, id.String()+"#")) {
		return id
	}
	return modelID{u.Provider, key}
}

// write puts the share into what an object has already; other fields stay.
func (s *share) write(o object) error {
	o.setTime(fieldCreated, s.created)
	o.setTime(fieldUpdated, s.updated)
	byModel, err := s.byModel.write(o[fieldByModel])
	if err != nil {
		return err
	}
	o[fieldByModel] = byModel
	old, err := readObject(o[fieldByStep])
	if err != nil {
		return err
	}
	steps := make(object, len(s.byStep))
	for key, m := range s.byStep {
		if steps[key], err = m.write(old[key]); err != nil {
			return err
		}
	}
	o[fieldByStep] = steps.encode()
	return nil
}

// write returns the JSON of the map; unknown fields of the usages that it replaces
// stay.
func (m models) write(old json.RawMessage) (json.RawMessage, error) {
	before, err := readObject(old)
	if err != nil {
		return nil, err
	}
	after := make(object, len(m))
	for key, id := range m.keys() {
		usage := m[id].amount().usage()
		usage.Provider = id.provider
		if key != id.model {
			usage.PricingModel = id.model
		}
		if after[key], err = usage.write(before[key]); err != nil {
			return nil, err
		}
	}
	return after.encode(), nil
}

// keys names the models for a file. The key is the model alone; only where several
// providers serve the same model is it "provider/model", with "#2" and so on in
// the rare case that this is the name of something else.
func (m models) keys() map[string]modelID {
	providers := map[string]int{}
	for id := range m {
		providers[id.model]++
	}
	keys := make(map[string]modelID, len(m))
	var ambiguous []modelID
	for id := range m {
		if providers[id.model] == 1 || id.provider == "" {
			keys[id.model] = id
		} else {
			ambiguous = append(ambiguous, id)
		}
	}
	slices.SortFunc(ambiguous, func(a, b modelID) int {
		return cmp.Or(cmp.Compare(a.provider, b.provider), cmp.Compare(a.model, b.model))
	})
	for _, id := range ambiguous {
		key := id.String()
		for n := 2; ; n++ {
			if _, taken := keys[key]; !taken {
				break
			}
			key = fmt.Sprintf("%s#%d", id, n)
		}
		keys[key] = id
	}
	return keys
}

func (u usageJSON) write(old json.RawMessage) (json.RawMessage, error) {
	encoded, err := json.Marshal(u)
	if err != nil || len(old) == 0 {
		return encoded, err
	}
	merged, err := readObject(old)
	if err != nil {
		return nil, err
	}
	for name := range merged {
		if isUsageField(name) {
			delete(merged, name)
		}
	}
	if len(merged) == 0 {
		return encoded, nil
	}
	known, err := readObject(encoded)
	if err != nil {
		return nil, err
	}
	maps.Copy(merged, known)
	return merged.encode(), nil
}
