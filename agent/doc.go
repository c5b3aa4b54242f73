// Package agent runs one agent: a model that is called in turns, with tools,
// until it has an answer.
//
// Its ports are [LLM] (one model backend), [Models] (which backend serves which
// provider), [Tool] and [Toolset] (what the model may call), and [Journal] (how
// a loop becomes durable). [Loop] walks the turns. Adapters for real endpoints
// stand in agent/openai and agent/mcp; the test kit for hosts is
// agent/agenttest.
package agent
