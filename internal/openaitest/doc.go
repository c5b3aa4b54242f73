// Package openaitest is an OpenAI-compatible endpoint for tests: a Chat
// Completions server on the loopback interface. It writes and reads the wire's
// JSON by itself, refuses what OpenAI would refuse, can fail in the ways that real
// endpoints do, and keeps its own count of tokens to compare a ledger with.
package openaitest
