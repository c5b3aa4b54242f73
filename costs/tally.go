package costs

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// Tally holds the model calls of one run. The zero value is ready and knows no
// prices. It is safe for concurrent use and must not be copied.
type Tally struct {
	prices *Prices

	mu   sync.Mutex
	seen map[string]struct{}
	days map[int64]*dayTally // by days since 1970-01-01 UTC
}

// dayTally is a run's share of one UTC day.
type dayTally struct {
	first, last time.Time
	cells       map[cellKey]*cell
}

type cellKey struct {
	phase, step string
	model       modelID
}

type cell struct {
	bucket
	rates *rates
}

// modelID is a model at a provider.
type modelID struct{ provider, model string }

func (m modelID) String() string {
	if m.provider == "" {
		return m.model
	}
	return m.provider + "/" + m.model
}

// NewTally returns an empty tally that prices calls by the list, which may be nil.
func NewTally(prices *Prices) *Tally { return &Tally{prices: prices} }

// Add counts an entry. It reports false, and changes nothing, when the key has
// been counted before or is empty.
func (t *Tally) Add(e Entry) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.Key == "" {
		return false
	}
	if t.seen == nil {
		t.seen = map[string]struct{}{}
		t.days = map[int64]*dayTally{}
	}
	// One map operation instead of two: this is most of the cost of an entry.
	before := len(t.seen)
	if t.seen[e.Key] = struct{}{}; len(t.seen) == before {
		return false
	}
	at := clampYear(e.Time.UTC())
	c := t.day(at).cell(&e, t.prices)
	c.count(&e.Usage, e.Duration, c.rates)
	return true
}

// clampYear keeps times within the years that RFC 3339 can write.
func clampYear(at time.Time) time.Time {
	switch year := at.Year(); {
	case year < 1:
		return time.Time{}
	case year > 9999:
		return time.Date(9999, time.December, 31, 0, 0, 0, 0, time.UTC)
	}
	return at
}

func (t *Tally) day(at time.Time) *dayTally {
	const seconds = 24 * 60 * 60
	number := at.Unix() / seconds
	if at.Unix()%seconds < 0 {
		number-- // days before 1970 round down too
	}
	day := t.days[number]
	if day == nil {
		day = &dayTally{first: at, last: at, cells: map[cellKey]*cell{}}
		t.days[number] = day
	}
	if at.Before(day.first) {
		day.first = at
	}
	if at.After(day.last) {
		day.last = at
	}
	return day
}

func (d *dayTally) cell(e *Entry, prices *Prices) *cell {
	key := cellKey{validText(e.Phase), validText(e.StepID), modelID{validText(e.Provider), validText(e.Model)}}
	if key.phase == "" {
		key.phase = PhaseExecution
	}
	if key.model.model == "" {
		key.model.model = UnknownModel
	}
	c := d.cells[key]
	if c == nil {
		c = &cell{}
		if price, ok := prices.Lookup(key.model.provider, key.model.model); ok {
			c.rates = newRates(price)
			if prices.Version != "" {
				c.versions = []string{prices.Version}
			}
		}
		d.cells[key] = c
	}
	return c
}

// validText is text that JSON can hold unchanged, as names in a file must be found
// again.
func validText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// Len is the number of calls counted.
func (t *Tally) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.seen)
}

// Days returns the UTC days with calls, sorted, each as 2006-01-02.
func (t *Tally) Days() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	days := make([]string, 0, len(t.days))
	for _, day := range t.days {
		days = append(days, day.name())
	}
	slices.Sort(days)
	return days
}

func (d *dayTally) name() string { return d.first.Format(time.DateOnly) }

// Totals is the sum of all calls.
func (t *Tally) Totals() Amount {
	return t.sum(func(cellKey) bool { return true })
}

// Step is the sum of one step's calls in one phase; the empty phase is
// [PhaseExecution].
func (t *Tally) Step(phase, stepID string) Amount {
	if phase == "" {
		phase = PhaseExecution
	}
	return t.sum(func(k cellKey) bool { return k.phase == phase && k.step == stepID })
}

func (t *Tally) sum(of func(cellKey) bool) Amount {
	t.mu.Lock()
	defer t.mu.Unlock()
	var sum bucket
	for _, day := range t.days {
		for key, c := range day.cells {
			if of(key) {
				sum.merge(&c.bucket)
			}
		}
	}
	return sum.amount()
}

// ByModel returns a row for each model at each provider, sorted.
func (t *Tally) ByModel() []Row { return t.Summary(Run{}).ByModel() }

// ByStep returns a row for each phase and step, sorted.
func (t *Tally) ByStep() []Row { return t.Summary(Run{}).ByStep() }

// Summary returns the calls so far as those of the run, without a ledger between.
func (t *Tally) Summary(run Run) *Summary {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &Summary{}
	for _, day := range t.days {
		for key, c := range day.cells {
			s.add(Key{
				Scope: run.Scope, Group: run.Group, Day: day.name(), RunFolder: run.Folder, RunID: run.ID,
				Phase: key.phase, Step: key.step, Provider: key.model.provider, Model: key.model.model,
			}, &c.bucket)
		}
	}
	return s
}

// shares returns the run's share of each day, by day.
func (t *Tally) shares() map[string]*share {
	t.mu.Lock()
	defer t.mu.Unlock()
	shares := make(map[string]*share, len(t.days))
	for _, day := range t.days {
		sh := newShare()
		sh.created, sh.updated = day.first, day.last
		for key, c := range day.cells {
			sh.byModel.at(key.model).merge(&c.bucket)
			sh.step(stepKey(key.phase, key.step)).at(key.model).merge(&c.bucket)
		}
		shares[day.name()] = sh
	}
	return shares
}

// stepKey is the key of a step in by_step_and_model.
func stepKey(phase, step string) string { return phase + ":" + step }

// splitStepKey undoes stepKey. A key without a phase is all step.
func splitStepKey(key string) (phase, step string) {
	phase, step, found := strings.Cut(key, ":")
	if !found {
		return "", key
	}
	return phase, step
}
