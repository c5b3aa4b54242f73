// Package agent runs one agent: a model that is called in turns, with tools,
// until it has an answer.
//
// Its ports are [LLM] (one model backend), [Models] (which backend serves which
// provider), [Tool] and [Toolset] (what the model may call), [Journal] (how a loop
// becomes durable), and [Meter] (how limits on tokens and money reach it). [Loop]
// walks the turns: it bounds them, repeats calls that fail, checks what the model
// asks for, and takes messages from a [Steering] on the way. Adapters for real endpoints
// stand in agent/openai and agent/mcp; the test kit for hosts is
// agent/agenttest.
package agent
