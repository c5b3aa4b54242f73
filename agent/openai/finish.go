package openai

import (
	"strconv"
	"strings"

	"github.com/treadle-dev/treadle/agent"
)

// response is what has arrived so far as a response; nil when nothing has.
func (m *replyMerge) response(req *agent.Request) *agent.Response {
	resp := &agent.Response{ID: m.id, Model: m.model, Usage: m.usage.buckets()}
	if raw := m.usage.raw(); raw != nil {
		resp.Extra = object{"usage": raw}
	}
	resp.Message.Role = agent.RoleAssistant
	choice := m.first()
	if choice == nil {
		if m.id == "" && resp.Extra == nil {
			return nil
		}
		return resp
	}
	if choice.text.Len() > 0 {
		resp.Message.Content = agent.Text(choice.text.String())
	}
	if choice.refusal.Len() > 0 {
		resp.Message.Content = append(resp.Message.Content, agent.Text(choice.refusal.String())...)
	}
	resp.Message.ToolCalls = choice.asked().result(strconv.Itoa(len(req.Messages)), req.Tools)
	resp.Message.Extra = choice.extras.result()
	resp.Finish = choice.reason()
	return resp
}

// reason maps the provider's finish reason. Whether tools are to run is decided by
// the presence of calls, since servers say "stop" with them.
func (c *choiceMerge) reason() agent.FinishReason {
	switch strings.ToLower(c.finish) {
	case "content_filter", "content_filtered", "sensitive", "safety", "recitation", "blocklist", "prohibited_content", "spii":
		return agent.FinishContentFilter
	}
	switch finish := strings.ToLower(c.finish); {
	case c.refusal.Len() > 0, finish == "refusal":
		return agent.FinishRefusal
	case finish == "length", finish == "max_tokens", finish == "max_output_tokens", finish == "model_length":
		return agent.FinishLength
	case len(c.asked().calls) > 0:
		return agent.FinishToolCalls
	}
	return agent.FinishStop
}

// failure is the error of a complete reply that cannot be used; nil when it can.
func (m *replyMerge) failure() *agent.ModelError {
	choice := m.first()
	if choice == nil {
		return &agent.ModelError{Message: "the reply holds no choice", Retryable: true, Err: agent.ErrReplyEmpty}
	}
	switch finish := strings.ToLower(choice.finish); finish {
	case "error", "network_error", "insufficient_system_resource", "abort":
		return &agent.ModelError{
			Code: choice.finish, Message: "the provider broke the reply off", Retryable: true, Err: agent.ErrReplyCut,
		}
	case "malformed_function_call", "unexpected_tool_call":
		return &agent.ModelError{
			Code: choice.finish, Message: "the provider could not read the tool call of its model", Err: agent.ErrModelToolCall,
		}
	}
	switch choice.reason() {
	case agent.FinishStop, agent.FinishToolCalls:
		if choice.empty() {
			return &agent.ModelError{
				Message: "the reply holds neither text nor a tool call", Retryable: true, Err: agent.ErrReplyEmpty,
			}
		}
	}
	return nil
}
