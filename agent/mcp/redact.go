package mcp

import (
	"slices"
	"strings"
	"sync"
)

// minSecret is the length in bytes from which a secret is masked. A shorter one
// would turn ordinary words and numbers into noise without hiding anything.
const minSecret = 4

// maxLearned is how many secrets that came up later are remembered, the newest. A
// token is renewed every few minutes, and a session may live for days.
const maxLearned = 32

// redactor masks secrets in text. It is safe for concurrent use.
type redactor struct {
	longest int // of the secrets known from the start

	mu       sync.RWMutex
	known    []string
	learned  []string
	replacer *strings.Replacer
}

func newRedactor(secrets []string) *redactor {
	r := &redactor{}
	for _, secret := range secrets {
		if len(secret) >= minSecret {
			r.known = append(r.known, secret)
			r.longest = max(r.longest, len(secret))
		}
	}
	r.build()
	return r
}

func (r *redactor) build() {
	// The longest first: a secret may be a part of another.
	all := slices.Concat(r.known, r.learned)
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, secret := range all {
		pairs = append(pairs, secret, "[secret]")
	}
	r.replacer = strings.NewReplacer(pairs...)
}

// learn adds a secret that came up after the start, such as a new token.
func (r *redactor) learn(secret string) {
	if len(secret) < minSecret {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.learned, secret) || slices.Contains(r.known, secret) {
		return
	}
	r.learned = append(r.learned, secret)
	if len(r.learned) > maxLearned {
		r.learned = r.learned[1:]
	}
	r.build()
}

func (r *redactor) text(s string) string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.replacer.Replace(s)
}
