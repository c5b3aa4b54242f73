// Package manifest holds what a step type says about itself, as plain data: its
// settings, when each applies, the sentence that sums a step up, and the outputs
// that later steps can read.
//
// A [Manifest] has no functions and comes back unchanged from JSON, so that
// panels, documents, schemas and builders in any language work from the same
// record. [Condition.Matches] and [Manifest.Describe] are the reference for what
// the data means.
package manifest
