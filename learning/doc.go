// Package learning keeps what a workflow learns about its steps: how often each has
// succeeded, and on which description.
package learning
