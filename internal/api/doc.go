// Package api holds the listing of the module's public API: for every package that
// others can import one text file, {package}.txt with dots for slashes, in the order
// of "go doc -all" and without its prose.
//
// A listing is checked in so that a change of the API is seen in review, and is told in
// CHANGELOG.md. A test fails when a listing is stale; this writes it anew:
//
//	go test ./internal/api -update
//
// Doc comments are left out on purpose: improving a sentence is not a change of the
// API, and a diff here should always be one. Files for other systems than Linux are
// left out too, so that the listing is the same wherever it is made.
package api
