package mcp

import (
	"slices"
	"strings"
)

// minSecret is the length in bytes from which a secret is masked. A shorter one
// would turn ordinary words and numbers into noise without hiding anything.
const minSecret = 4

// redactor masks secrets in text.
type redactor struct {
	replacer *strings.Replacer
	longest  int
}

func newRedactor(secrets []string) *redactor {
	// The longest first: a secret may be a part of another.
	secrets = slices.SortedFunc(slices.Values(secrets), func(a, b string) int { return len(b) - len(a) })
	r := &redactor{}
	var pairs []string
	for _, secret := range secrets {
		if len(secret) < minSecret {
			break
		}
		pairs = append(pairs, secret, "[secret]")
		r.longest = max(r.longest, len(secret))
	}
	r.replacer = strings.NewReplacer(pairs...)
	return r
}

func (r *redactor) text(s string) string { return r.replacer.Replace(s) }
