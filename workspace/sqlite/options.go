package sqlite

import (
	"net/url"
	"strconv"
	"time"
)

// Options are limits. The zero value, and a nil pointer, have the defaults.
type Options struct {
	// BusyTimeout is how long to wait for another connection's lock; 0 is 5 s,
	// below 0 not at all.
	BusyTimeout time.Duration
	// QueryTime is how long one query may take, its waits included; 0 is 10 s.
	QueryTime time.Duration
	// MaxRows is how many rows one query returns at most, whatever it is asked for;
	// 0 is 100,000.
	MaxRows int
	// MaxBytes is how large all values of a query's rows may be together; 0 is
	// 10 MB. A query that gives more fails.
	MaxBytes int
}

// The defaults of [Options].
const (
	DefaultBusyTimeout = 5 * time.Second
	DefaultQueryTime   = 10 * time.Second
	DefaultMaxRows     = 100_000
	DefaultMaxBytes    = 10 << 20
)

func (o *Options) resolved() Options {
	var r Options
	if o != nil {
		r = *o
	}
	if r.BusyTimeout == 0 {
		r.BusyTimeout = DefaultBusyTimeout
	}
	if r.QueryTime <= 0 {
		r.QueryTime = DefaultQueryTime
	}
	if r.MaxRows <= 0 {
		r.MaxRows = DefaultMaxRows
	}
	if r.MaxBytes <= 0 {
		r.MaxBytes = DefaultMaxBytes
	}
	return r
}

// parameters are what the driver is told for every connection.
func (o *Options) parameters(mode string) url.Values {
	return url.Values{
		"mode":          {mode},
		"_busy_timeout": {strconv.FormatInt(max(0, o.BusyTimeout.Milliseconds()), 10)},
		"_defensive":    {"1"},
		"_dqs":          {"0"},
		"_error_rc":     {"1"},
		"_pragma":       {"trusted_schema(0)", "cell_size_check(1)"},
	}
}
