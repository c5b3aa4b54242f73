package openai

import (
	"encoding/json"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// longestWait keeps a wait that a provider asks for inside a duration that callers
// can still add to.
const longestWait = 365 * 24 * time.Hour

// retryAfter reads how long the provider asks to wait: milliseconds or seconds, or
// a date.
func retryAfter(header http.Header, now time.Time) time.Duration {
	for _, h := range []struct {
		name string
		unit time.Duration
	}{{"Retry-After-Ms", time.Millisecond}, {"Retry-After", time.Second}} {
		f, err := strconv.ParseFloat(strings.TrimSpace(header.Get(h.name)), 64)
		switch {
		case err != nil, math.IsNaN(f), f < 0:
			continue
		case f > float64(longestWait)/float64(h.unit):
			return longestWait
		}
		return time.Duration(f * float64(h.unit))
	}
	if at, err := http.ParseTime(header.Get("Retry-After")); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}

var (
	waitPhrase = regexp.MustCompile(`(?i)\b(?:try again|retry) (?:in|after) ((?:[0-9]+(?:\.[0-9]+)? ?(?:ms|milliseconds?|seconds?|s|minutes?|m|hours?|h)[ ,]*)+)`)
	waitPart   = regexp.MustCompile(`([0-9.]+) ?([a-z]+)`)
)

// waitInWords is how long the words of an error ask to wait, for providers that
// send no header: a retryDelay in its details, or a phrase such as "try again in
// 1m3.5s"; 0 without one.
func waitInWords(message string, details json.RawMessage) time.Duration {
	for _, detail := range asList(details) {
		if wait, err := time.ParseDuration(text(asObject(detail)["retryDelay"])); err == nil && wait > 0 {
			return min(wait, longestWait)
		}
	}
	phrase := waitPhrase.FindStringSubmatch(clip(message, 8<<10))
	if phrase == nil {
		return 0
	}
	wait := 0.0
	for _, part := range waitPart.FindAllStringSubmatch(strings.ToLower(phrase[1]), -1) {
		n, err := strconv.ParseFloat(part[1], 64)
		if err != nil {
			return 0
		}
		wait += n * float64(waitUnit(part[2]))
	}
	return time.Duration(min(wait, float64(longestWait)))
}

func waitUnit(word string) time.Duration {
	switch {
	case word == "ms", strings.HasPrefix(word, "milli"):
		return time.Millisecond
	case strings.HasPrefix(word, "h"):
		return time.Hour
	case strings.HasPrefix(word, "m"):
		return time.Minute
	}
	return time.Second
}
