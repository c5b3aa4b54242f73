package mcp

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/stretchr/testify/assert"
)

func testInbox() (in *inbox, stray, asked *int) {
	stray, asked = new(int), new(int)
	server := &Server{Logger: slog.New(slog.DiscardHandler)}
	return newInbox(server, newRedactor(nil), func(mcp.RequestId, string) { *asked++ }, func() { *stray++ }), stray, asked
}

func TestAnIDIsTheSameHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	for id, same := range map[string]bool{
		`1001`: true, `"1001"`: true, `1001.0`: true, `1.001e3`: true,
		`1002`: false, `"01001"`: false, `" 1001"`: false, `1001.5`: false, `-1001`: false, `null`: false,
		`[1001]`: false, `{"id":1001}`: false, `true`: false, `1e400`: false, `""`: false,
	} {
		in, _, _ := testInbox()
		own := mcp.NewRequestId(int64(1001))
		answer, forget := in.expect(own)
		in.receive([]byte(`{"jsonrpc":"2.0","id":`+id+`,"result":{}}`), false, nil)
		assert.Len(t, answer, map[bool]int{true: 1, false: 0}[same], id)
		assert.Equal(t, !same, in.waits(own), id)
		forget()
	}
}

func TestOneRequestGetsOneAnswer(t *testing.T) {
	t.Parallel()
	in, stray, asked := testInbox()
	answer, forget := in.expect(mcp.NewRequestId(int64(7)))
	other, forgetOther := in.expect(mcp.NewRequestId(int64(8)))
	defer forgetOther()
	first := `{"jsonrpc":"2.0","id":7,"result":{"n":1}}`
	in.receive([]byte(`[`+first+`,{"jsonrpc":"2.0","id":7,"result":{"n":2}},{"jsonrpc":"2.0","id":7,"error":{}}]`), false, nil)
	in.receive([]byte(first), false, nil) // it blocks nobody
	assert.JSONEq(t, `{"n":1}`, string((<-answer).Result))
	forget()
	in.receive([]byte(first), false, nil)
	assert.Empty(t, other)
	assert.Zero(t, *stray)
	assert.Zero(t, *asked)
}

func TestWhatIsNoMessageIsStrayAndHarmsNothing(t *testing.T) {
	t.Parallel()
	for _, data := range []string{
		`banner`, `{`, `{}`, `[{}]`, `[1,"a",null,[]]`, `{"jsonrpc":"2.0"}`, `{"method":7,"id":1}`, `{"id":7`, "\xff\xfe", "\x00",
		strings.Repeat(`[`, 100_000), strings.Repeat(`{"a":`, 100_000), `{"error":{"code":1}}`, `"text"`,
	} {
		in, stray, asked := testInbox()
		answer, forget := in.expect(mcp.NewRequestId(int64(7)))
		in.receive([]byte(data), false, nil)
		assert.Equal(t, 1, *stray, "%.40q", data)
		assert.Zero(t, *asked, "%.40q", data)
		assert.Empty(t, answer, "%.40q", data)
		forget()
	}
}

// FuzzInbox wants no message to stop a session.
func FuzzInbox(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":7,"result":{}}`, `[{"id":"7","error":"it rains"}]`, `{"id":7,"method":"ping"}`,
		`{"method":"notifications/message","params":{"level":7}}`, "\xff{}", `{"error":{"code":"x"}}`,
	} {
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, replayed bool) {
		in, _, _ := testInbox()
		in.setNotify(func(mcp.JSONRPCNotification) {})
		own := mcp.NewRequestId(int64(7))
		answer, forget := in.expect(own)
		defer forget()
		in.receive(data, replayed, &own)
		in.receive(data, replayed, &own)
		if len(answer) == 1 && in.waits(own) {
			t.Fatal("an answer was given and is still waited for")
		}
	})
}
