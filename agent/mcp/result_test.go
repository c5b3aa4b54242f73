package mcp

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
)

func TestOddResultsAreReadAsFarAsTheyGo(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]*agent.ToolResult{
		`{}`:                              {},
		`{"content":null,"isError":true}`: {IsError: true},
		`{"content":"bare"}`:              agent.TextResult("bare"),
		`{"content":{"type":"text","text":"single"}}`:                agent.TextResult("single"),
		`{"content":["bare"]}`:                                       agent.TextResult("bare"),
		`{"content":[7]}`:                                            agent.TextResult("7"),
		`{"content":[{"type":"image","data":"not base64 !"}]}`:       agent.TextResult(`{"type":"image","data":"not base64 !"}`),
		`{"content":[{"type":"resource"}]}`:                          agent.TextResult(`{"type":"resource"}`),
		`{"content":[],"structuredContent":null}`:                    {},
		`{"content":[{"type":"text","text":"{\"success\":false}"}]}`: agent.TextResult(`{"success":false}`),
		`{"content":[{"type":"text","text":"t"}],"structuredContent":{"n": 12345678901234567890}}`: {
			Content: agent.Text("t"), Structured: json.RawMessage(`{"n":12345678901234567890}`),
		},
		`{"content":[{"type":"image","data":"iVBORw0KGgo"}]}`: {
			Content: []agent.Part{{Type: agent.PartImage, MediaType: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")}},
		},
	} {
		got, err := toolResult(json.RawMessage(given))
		require.NoError(t, err, given)
		assert.Equal(t, want, got, given)
	}
}

func TestWhatIsNoResultIsAnError(t *testing.T) {
	t.Parallel()
	for _, given := range []string{``, `[]`, `"text"`, `{"isError":"yes"}`, `{"resultType":"input_required"}`} {
		_, err := toolResult(json.RawMessage(given))
		assert.Error(t, err, given)
	}
}

func FuzzToolResult(f *testing.F) {
	f.Add(`{"content":[{"type":"text","text":"a"},{"type":"image","data":"AAAA","mimeType":"image/png"}],"structuredContent":[1]}`)
	f.Add(`{"content":[{"type":"resource","resource":{"uri":"a","blob":"AAAA"}},{"type":"resource_link","uri":"b"}],"isError":true}`)
	f.Fuzz(func(t *testing.T, given string) {
		result, err := toolResult(json.RawMessage(given))
		if err != nil {
			return
		}
		_, err = json.Marshal(result) // what a journal does with it
		require.NoError(t, err)
	})
}
