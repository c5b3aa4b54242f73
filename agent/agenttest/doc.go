// Package agenttest is the test kit of package agent: a scripted model, and tools
// made from functions.
package agenttest
