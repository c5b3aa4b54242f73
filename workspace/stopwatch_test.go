package workspace_test

import (
	"slices"
	"time"
)

// stopwatch keeps single times, because a disk that is shared has outliers which
// a mean cannot bear.
type stopwatch struct{ times []time.Duration }

func newStopwatch() *stopwatch { return &stopwatch{} }

func (s *stopwatch) measure(do func()) {
	begin := time.Now()
	do()
	s.times = append(s.times, time.Since(begin))
}

func (s *stopwatch) median() float64 {
	slices.Sort(s.times)
	return float64(s.times[len(s.times)/2])
}
