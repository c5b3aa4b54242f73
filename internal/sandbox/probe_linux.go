package sandbox

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Probe runs a command that does nothing and reports which features the kernel, or the
// place that the host runs in, lacks: those that [Command].Without would have to name,
// and the cgroups. It takes a few milliseconds; a host asks once and keeps the answer.
// The error is an [*UnavailableError] where there is no sandbox at all, or what else
// went wrong.
func Probe(ctx context.Context) ([]Feature, error) {
	return probe(ctx, []Feature{Namespaces, Proc, Landlock, Seccomp})
}

// probe finds out what is missing, one after the other, until what is left works or
// something is missing that was not accepted.
func probe(ctx context.Context, accepted []Feature) (missing []Feature, err error) {
	nothing := &Command{Argv: []string{"true"}, Limits: Limits{Duration: time.Minute}}
	for {
		result, err := run(ctx, nothing, missing)
		if err == nil {
			return result.Missing, nil
		}
		var unavailable *UnavailableError
		if !errors.As(err, &unavailable) || !slices.Contains(accepted, unavailable.Feature) || slices.Contains(missing, unavailable.Feature) {
			return nil, err
		}
		missing = append(missing, unavailable.Feature)
	}
}
