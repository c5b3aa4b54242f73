package learning

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/treadle-dev/treadle/internal/openjson"
	"github.com/treadle-dev/treadle/workspace"
)

// Metadata is learnings/{step}/.learning_metadata.json. Members that this version
// does not know are kept as they are.
type Metadata struct {
	StepID string `json:"step_id"`
	// SuccessfulRuns counts the visits of the step that passed, over all runs.
	SuccessfulRuns int `json:"successful_runs"`
	// LastDescriptionHash is the [DescriptionHash] at the last success, and
	// DescriptionHashRuns the number of successes in a row with it.
	LastDescriptionHash string `json:"last_description_hash,omitempty"`
	DescriptionHashRuns int    `json:"description_hash_runs"`
	// LastSuccess names the last visit that was counted, so that it is not counted
	// again when the visit is resumed.
	LastSuccess string `json:"last_success,omitempty"`

	rest openjson.Members
}

// UnmarshalJSON implements [json.Unmarshaler].
func (m *Metadata) UnmarshalJSON(data []byte) error { return m.rest.Decode(data, m) }

// MarshalJSON implements [json.Marshaler].
func (m Metadata) MarshalJSON() ([]byte, error) { return m.rest.Encode(&m) }

// DescriptionHash names a step's description: the SHA-256, in hexadecimal, of the
// text without the white space around it.
func DescriptionHash(description string) string {
	sum := sha256.Sum256([]byte(strings.TrimSpace(description)))
	return hex.EncodeToString(sum[:])
}

// ReadMetadata reads the metadata of a step; a missing file is that of a step that
// has never succeeded. The error is the storage's, or says what the file is instead.
func ReadMetadata(ctx context.Context, st workspace.Storage, step string) (*Metadata, error) {
	m := &Metadata{StepID: step}
	name := workspace.LearningMetadata(step)
	data, err := st.ReadFile(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return nil, err
	}
	if m, err = ParseMetadata(step, data); err != nil {
		return nil, fmt.Errorf("%s: %w; mend or remove the file", name, err)
	}
	return m, nil
}

// FieldError says which field of a metadata file has a value of another type than it
// takes.
type FieldError struct {
	Key          string
	Found, Wants string // in words, such as "a string"
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("%q must be %s, is %s", e.Key, e.Wants, e.Found)
}

// ParseMetadata reads the content of the metadata file of a step. The error may be a
// [*FieldError].
func ParseMetadata(step string, data []byte) (*Metadata, error) {
	m := &Metadata{}
	if err := json.Unmarshal(data, m); err != nil {
		return nil, err
	}
	for _, fault := range m.rest.Faults() {
		if fault.Kind == openjson.WrongType {
			return nil, &FieldError{fault.Key, fault.Found, fault.Wants}
		}
	}
	m.StepID = step // a copied file says another one, and Write would go there
	return m, nil
}

// Steady reports whether the step has succeeded n times in a row with a description.
func (m *Metadata) Steady(description string, n int) bool {
	return m.DescriptionHashRuns >= n && m.LastDescriptionHash == DescriptionHash(description)
}

// Succeeded counts a visit that passed, once. The visit is its run's id and its key.
func (m *Metadata) Succeeded(visit, description string) {
	if m.LastSuccess == visit {
		return
	}
	m.LastSuccess = visit
	m.SuccessfulRuns++
	if hash := DescriptionHash(description); m.LastDescriptionHash != hash {
		m.LastDescriptionHash, m.DescriptionHashRuns = hash, 0
	}
	m.DescriptionHashRuns++
}

// Write writes the file, without sync. Of two writers at the same moment one is
// lost.
func (m *Metadata) Write(ctx context.Context, st workspace.Storage) error {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(m); err != nil {
		return err
	}
	return st.WriteFile(ctx, workspace.LearningMetadata(m.StepID), out.Bytes(), workspace.Lazy)
}
