package costs

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Key says what an amount was spent on. In a [Row] only the fields that the row
// was grouped by are set.
type Key struct {
	Scope     string `json:"scope,omitempty"`
	Group     string `json:"group,omitempty"`
	Day       string `json:"day,omitempty"` // UTC, as 2006-01-02
	RunFolder string `json:"run_folder,omitempty"`
	RunID     string `json:"run_id,omitempty"` // empty for what no run is known of
	Phase     string `json:"phase,omitempty"`
	Step      string `json:"step,omitempty"`
	Provider  string `json:"provider,omitempty"`
	Model     string `json:"model,omitempty"`
}

// String joins the fields that are set for a person to read; a phase and a step
// read "phase:step".
func (k Key) String() string {
	step := k.Step
	if k.Phase != "" && k.Step != "" {
		step = stepKey(k.Phase, k.Step)
	} else if k.Phase != "" {
		step = k.Phase
	}
	parts := []string{k.Scope, k.Group, k.Day, k.RunFolder, k.RunID, step, modelID{k.Provider, k.Model}.String()}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " ")
}

func compareKeys(a, b Key) int {
	return cmp.Or(
		cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Day, b.Day),
		cmp.Compare(a.RunFolder, b.RunFolder), cmp.Compare(a.RunID, b.RunID),
		cmp.Compare(a.Phase, b.Phase), cmp.Compare(a.Step, b.Step),
		cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Model, b.Model),
	)
}

// Row is one line of a summary.
type Row struct {
	Key    Key    `json:"key"`
	Amount Amount `json:"amount"`
}

// Summary is what was spent, by everything that the ledger tells apart. It does
// not change once made and is safe for concurrent use.
type Summary struct {
	cells map[Key]*bucket
}

func (s *Summary) add(key Key, b *bucket) {
	if s.cells == nil {
		s.cells = map[Key]*bucket{}
	}
	cell := s.cells[key]
	if cell == nil {
		cell = &bucket{}
		s.cells[key] = cell
	}
	cell.merge(b)
}

// Total is the sum of everything.
func (s *Summary) Total() Amount {
	var sum bucket
	for _, b := range s.cells {
		sum.merge(b)
	}
	return sum.amount()
}

// By adds up what has the same key after keep, which returns the key with only
// the fields to group by. Rows are sorted by key.
func (s *Summary) By(keep func(Key) Key) []Row {
	var grouped Summary
	for key, b := range s.cells {
		grouped.add(keep(key), b)
	}
	rows := make([]Row, 0, len(grouped.cells))
	for _, key := range slices.SortedFunc(maps.Keys(grouped.cells), compareKeys) {
		rows = append(rows, Row{Key: key, Amount: grouped.cells[key].amount()})
	}
	return rows
}

// ByStep returns a row for each phase and step.
func (s *Summary) ByStep() []Row {
	return s.By(func(k Key) Key { return Key{Phase: k.Phase, Step: k.Step} })
}

// ByModel returns a row for each model at each provider.
func (s *Summary) ByModel() []Row {
	return s.By(func(k Key) Key { return Key{Provider: k.Provider, Model: k.Model} })
}

// ByStepAndModel returns a row for each model that each step used.
func (s *Summary) ByStepAndModel() []Row {
	return s.By(func(k Key) Key {
		return Key{Phase: k.Phase, Step: k.Step, Provider: k.Provider, Model: k.Model}
	})
}

// ByPhase returns a row for each phase.
func (s *Summary) ByPhase() []Row {
	return s.By(func(k Key) Key { return Key{Phase: k.Phase} })
}

// ByRun returns a row for each run, by folder and id. Execution and evaluation of
// a run are separate rows.
func (s *Summary) ByRun() []Row {
	return s.By(func(k Key) Key { return Key{Scope: k.Scope, RunFolder: k.RunFolder, RunID: k.RunID} })
}

// ByRunFolder returns a row for each run folder, all runs in it together.
func (s *Summary) ByRunFolder() []Row {
	return s.By(func(k Key) Key { return Key{RunFolder: k.RunFolder} })
}

// ByDay returns a row for each UTC day.
func (s *Summary) ByDay() []Row {
	return s.By(func(k Key) Key { return Key{Day: k.Day} })
}

// ByGroup returns a row for each group; [workspace.Ungrouped] is none.
func (s *Summary) ByGroup() []Row {
	return s.By(func(k Key) Key { return Key{Group: k.Group} })
}
