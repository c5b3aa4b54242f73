// Package jsonedit changes JSON text and leaves what it does not change as it was
// spelled: numbers, escapes, the order of keys, keys that stand twice. White space is
// the caller's matter, see [Indent].
//
// Every text that is given to a function must be valid JSON ([json.Valid]).
package jsonedit
