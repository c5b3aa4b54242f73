//go:build linux && !amd64 && !arm64

package helper

import "errors"

// filterSyscalls has no table for this architecture.
func filterSyscalls(*Config) error {
	return lacking(FeatureSeccomp, "seccomp: %w", errors.New("the filter knows amd64 and arm64 only"))
}
