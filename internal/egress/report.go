package egress

import (
	"strings"
	"sync"
)

// maxDenials is how many different refusals are kept.
const maxDenials = 100

// Stats counts what a proxy did so far.
type Stats struct {
	Requests int   // those that could be read, refused ones included
	Denials  int   // of Requests
	Bytes    int64 // passed to and from hosts
	// Denied are the refusals in the order of their first time, at most 100 different
	// ones.
	Denied []Denial
}

// Denial is a refused target.
type Denial struct {
	Target string // as it was asked for, without user information; cut where it is long
	Reason string
	Count  int
}

// Stats returns the counts.
func (p *Proxy) Stats() Stats {
	s := p.report.stats()
	s.Bytes = min(p.bytes.Load(), p.config.MaxBytes)
	return s
}

type report struct {
	mu     sync.Mutex
	counts Stats
}

func (r *report) request() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.Requests++
}

func (r *report) denial(target, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.Denials++
	for i := range r.counts.Denied {
		if d := &r.counts.Denied[i]; d.Target == target && d.Reason == reason {
			d.Count++
			return
		}
	}
	if len(r.counts.Denied) < maxDenials {
		r.counts.Denied = append(r.counts.Denied, Denial{Target: target, Reason: reason, Count: 1})
	}
}

func (r *report) stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.counts
	s.Denied = append([]Denial(nil), r.counts.Denied...)
	return s
}

// shown is the host part of a request's target, fit for a log: without user information,
// path and query, which may hold secrets, and without what a terminal would obey.
func shown(uri string) string {
	if _, rest, ok := strings.Cut(uri, "://"); ok {
		uri = rest
	}
	if i := strings.IndexAny(uri, "/?#"); i >= 0 {
		uri = uri[:i]
	}
	if i := strings.LastIndexByte(uri, '@'); i >= 0 {
		uri = uri[i+1:]
	}
	uri = strings.Map(func(r rune) rune {
		if r <= ' ' || r >= 0x7f {
			return '?'
		}
		return r
	}, uri)
	if len(uri) > maxAuthority {
		uri = uri[:maxAuthority] + "..."
	}
	return uri
}
