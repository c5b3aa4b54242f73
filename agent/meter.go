package agent

import (
	"context"
	"sync"
)

// DefaultMaxOutputTokens is the longest reply of a metered loop when neither its
// request nor its backend says: a reply without a bound cannot be reserved for.
const DefaultMaxOutputTokens = 16_384

// Meter is how limits on tokens and money reach a loop. Before each model call
// the loop reserves what the call can cost at worst, and after it settles what it
// did cost; so what is spent and what is reserved stay within the limit together,
// however many loops share the meter. A Meter is safe for concurrent use.
type Meter interface {
	// Reserve sets the worst case of a call aside. It returns how many output
	// tokens the call may have, at most those asked for; the loop asks the model
	// for no more. An error means that the call must not be made: the loop ends
	// with a [*BudgetError] around it, or with a [*TokenLimitError] as it is.
	Reserve(ctx context.Context, call MeteredCall) (maxOutput int64, err error)
	// Settle says what a call used and gives back the rest of its reservation. A
	// call that the journal knows is settled without one. A bucket that usage
	// lacks was not reported; the call then says what it can have been at most.
	// A call that is settled a second time without a reservation counts once.
	Settle(call MeteredCall, usage Usage)
}

// MeteredCall is one model call as a [Meter] sees it. Its figures are upper
// bounds as far as these can be known before a provider has counted: what the
// last reply's usage says was sent, and one token for each byte since.
type MeteredCall struct {
	// Key is the position of the call: the loop's KeyPrefix, the turn and the try.
	Key      string
	Provider string
	Model    string // as asked for
	Input    int64  // tokens
	Output   int64  // tokens
}

// TokenMeter is a [Meter] that counts tokens of all buckets alike. The zero value
// counts and limits nothing. It must not be copied after its first use.
type TokenMeter struct {
	// Limit is the most tokens that all calls together may use; 0 is no limit.
	Limit int64

	mu       sync.Mutex
	spent    int64
	reserved int64
	calls    map[string]int64 // open reservations
	settled  map[string]bool
}

var _ Meter = (*TokenMeter)(nil)

// Reserve sets the input of a call and as much output as is left aside. With no
// room for a token of output it is a [*TokenLimitError].
func (m *TokenMeter) Reserve(_ context.Context, call MeteredCall) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	output := call.Output
	if m.Limit > 0 {
		left := m.Limit - m.spent - m.reserved
		output = min(output, left-call.Input)
		if output < 1 {
			return 0, &TokenLimitError{Limit: m.Limit, Spent: m.spent, Reserved: m.reserved, Needed: call.Input + 1}
		}
	}
	if m.calls == nil {
		m.calls = map[string]int64{}
	}
	tokens := addSaturated(call.Input, output)
	m.reserved += tokens - m.calls[call.Key]
	m.calls[call.Key] = tokens
	return output, nil
}

// Settle counts what a call used. What was not reported counts as the call says.
func (m *TokenMeter) Settle(call MeteredCall, usage Usage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	reservation, held := m.calls[call.Key]
	delete(m.calls, call.Key)
	m.reserved -= reservation
	if m.settled[call.Key] && !held {
		return
	}
	if m.settled == nil {
		m.settled = map[string]bool{}
	}
	m.settled[call.Key] = true
	if usage.sent() == nil {
		usage.Input = &call.Input
	}
	if usage.Output == nil {
		usage.Output = &call.Output
	}
	m.spent = addSaturated(m.spent, usage.Total())
}

// Spent is the sum of the settled calls in tokens.
func (m *TokenMeter) Spent() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.spent
}

// Reserved is what calls under way have set aside, in tokens.
func (m *TokenMeter) Reserved() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reserved
}

// bounds keeps an upper bound of the tokens that a conversation is sent as.
type bounds struct {
	tokens  int64
	counted int // messages in tokens
}

// messageTokens is what an endpoint may add around each message or tool.
const messageTokens = 16

// input brings the bound up to the messages.
func (b *bounds) input(messages []Message, tools []ToolSpec) int64 {
	if b.counted == 0 {
		for i := range tools {
			t := &tools[i]
			b.tokens += int64(len(t.Name)+len(t.Description)+len(t.InputSchema)) + messageTokens
		}
	}
	for ; b.counted < len(messages); b.counted++ {
		b.tokens += messageBound(&messages[b.counted])
	}
	return b.tokens
}

// learn replaces the bound of the first messages by what the provider counted.
func (b *bounds) learn(messages int, usage Usage) {
	if sent := usage.sent(); sent != nil {
		b.tokens, b.counted = *sent, messages
	}
}

// messageBound counts a token for each byte: no tokenizer makes more of text.
func messageBound(m *Message) int64 {
	n := len(m.ToolCallID) + len(m.ToolName)
	for i := range m.Content {
		n += len(m.Content[i].Text) + len(m.Content[i].Data) + len(m.Content[i].URI)
	}
	for i := range m.ToolCalls {
		n += len(m.ToolCalls[i].ID) + len(m.ToolCalls[i].Name) + len(m.ToolCalls[i].Arguments) + messageTokens
	}
	for key, value := range m.Extra {
		n += len(key) + len(value)
	}
	return int64(n) + messageTokens
}
