package agent

import (
	"fmt"
	"slices"
	"strings"
)

// messageBytes is the size of a message as a model counts it, in bytes.
func messageBytes(m *Message) int {
	n := messageOverhead
	for _, part := range m.Content {
		if part.Type == PartText {
			n += len(part.Text)
		} else {
			n += mediaBytes
		}
	}
	for _, call := range m.ToolCalls {
		n += messageOverhead + len(call.Name) + len(call.Arguments)
		for _, extra := range call.Extra {
			n += len(extra)
		}
	}
	for _, extra := range m.Extra {
		n += len(extra)
	}
	return n
}

func conversationBytes(messages []Message) int {
	n := 0
	for i := range messages {
		n += messageBytes(&messages[i])
	}
	return n
}

// leastBytes is the size of messages whose texts are cut as far as they may be.
func leastBytes(messages []Message) int {
	n := 0
	for i := range messages {
		n += messageBytes(&messages[i])
		if cuttable(&messages[i]) {
			for _, part := range messages[i].Content {
				n -= max(len(part.Text)-minCut, 0)
			}
		}
	}
	return n
}

// bytesEachToken is what a token of this conversation has shown to be: what the
// last reply reported as sent against the bytes that were sent. It stays between
// one byte and four: dense text and other scripts take fewer than four, and the
// schemas of tools, which are reported but not in the messages, must not make it
// look worse than that.
func bytesEachToken(conv []Message, lastInput int64) float64 {
	sent := conversationBytes(conv[:lastReply(conv)])
	if lastInput <= 0 || sent == 0 {
		return bytesPerToken
	}
	return min(max(float64(sent)/float64(lastInput), 1), bytesPerToken)
}

// estimateConversation is the size in tokens of the next request: what the last
// one had, as reported, and an estimate of what has come since.
func estimateConversation(conv []Message, lastInput int64, perToken float64) int64 {
	if lastInput <= 0 {
		return EstimateTokens(conversationBytes(conv))
	}
	return lastInput + int64(float64(conversationBytes(conv[lastReply(conv):]))/perToken)
}

// lastReply is the index of the last assistant message, or of the end.
func lastReply(conv []Message) int {
	for i, c := range slices.Backward(conv) {
		if c.Role == RoleAssistant {
			return i
		}
	}
	return len(conv)
}

// cutText shortens a text to its head and tail with a note between them, at most
// length bytes in all, when it is longer.
func cutText(text string, length int) string {
	const noteBytes = 120
	if len(text) <= length {
		return text
	}
	head, tail := headTail(text, max(length-noteBytes, 0))
	return fmt.Sprintf("%s\n[%d bytes of %d were cut here, because they do not fit the model's window]\n%s",
		head, len(text)-len(head)-len(tail), len(text), tail)
}

func isBlank(text string) bool { return strings.TrimSpace(text) == "" }
