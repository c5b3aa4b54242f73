package manifest

// Segment is a piece of the sentence that sums a step up. Segments are joined
// without anything between them. A segment whose placeholders are all empty is
// left out.
type Segment struct {
	// Text has placeholders in braces: {key} is a setting, {@name} a phrase that
	// the host computes.
	Text string     `json:"text"`
	When *Condition `json:"when,omitzero"`
}
