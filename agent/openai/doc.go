// Package openai is an [agent.LLM] over the Chat Completions API: OpenAI itself,
// Azure, and the many servers that speak the same protocol, such as vLLM, Ollama,
// OpenRouter, Groq, DeepSeek and Gemini's compatible endpoint.
//
// [New] takes a [Config]; [FromEnv] reads the usual environment variables. What
// servers do differently is one typed value, a [Profile], chosen by the host of
// the base URL unless the configuration brings its own.
//
// [LLM.Describe] tells what a model can take where [Config].Models or the endpoint
// says it, which is what keeps a long conversation within the model's window.
//
// A reply is read the same way whether it is streamed or not: both end in one
// merge, so both give the same response. Nothing is retried here. Each failure is
// an [*agent.ModelError] that says whether the same call may succeed later, and
// what had arrived when a reply broke off.
package openai
