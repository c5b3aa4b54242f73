// Package agenttest is the test kit of package agent: a scripted model, a recorder
// of real ones, tools made from functions, and the suites that an implementation of
// a port must pass: [TestLLM] for a model backend, [TestToolset] for a toolset.
package agenttest
