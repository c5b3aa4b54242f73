package mcp

import (
	"encoding/json"
	"strings"
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
		`{"content":{"type":"text","text":"single"}}`:                               agent.TextResult("single"),
		`{"content":["bare"]}`:                                                      agent.TextResult("bare"),
		`{"content":[7]}`:                                                           agent.TextResult("[content that is not of the protocol's form, as received] 7"),
		`{"content":[{"type":"image","data":"not base64 !"}]}`:                      agent.TextResult(`[image content whose data is not base64, as received] {"type":"image","data":"not base64 !"}`),
		`{"content":[{"type":"audio","data":"` + strings.Repeat("!", 5000) + `"}]}`: agent.TextResult("[audio content whose data is not base64: 5000 characters left out]"),
		`{"content":[{"type":"text","text":"for a person","annotations":{"audience":["user"],"priority":0.1}}]}`: agent.TextResult("for a person"),
		`{"content":[{"text":"no type"}]}`:                           agent.TextResult(`[content without a type, as received] {"text":"no type"}`),
		`{"structuredContent":"words"}`:                              {Content: agent.Text(`"words"`), Structured: json.RawMessage(`"words"`)},
		`[]`:                                                         {},
		`["a",{"type":"text","text":"b"}]`:                           {Content: []agent.Part{{Type: agent.PartText, Text: "a"}, {Type: agent.PartText, Text: "b"}}},
		`{"content":[{"type":"resource"}]}`:                          agent.TextResult(`[a resource without text or blob, as received] {"type":"resource"}`),
		`{"content":[],"structuredContent":null}`:                    {},
		`{"content":[{"type":"text","text":"{\"success\":false}"}]}`: agent.TextResult(`{"success":false}`),
		`{"content":[{"type":"text","text":"t"}],"structuredContent":{"n": 12345678901234567890}}`: {
			Content: agent.Text("t"), Structured: json.RawMessage(`{"n":12345678901234567890}`),
		},
		`{"content":[{"type":"image","data":"iVBORw0KGgo"}]}`: {
			Content: []agent.Part{{Type: agent.PartImage, MediaType: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")}},
		},
	} {
		got, _, err := toolResult(json.RawMessage(given))
		require.NoError(t, err, given)
		assert.Equal(t, want, got, given)
	}
}

func TestWhatIsNoResultIsAnError(t *testing.T) {
	t.Parallel()
	for _, given := range []string{``, `"text"`, `7`, `{"isError":"yes"}`, `{"resultType":"input_required"}`} {
		_, _, err := toolResult(json.RawMessage(given))
		assert.Error(t, err, given)
	}
}

func FuzzToolResult(f *testing.F) {
	f.Add(`{"content":[{"type":"text","text":"a"},{"type":"image","data":"AAAA","mimeType":"image/png"}],"structuredContent":[1]}`)
	f.Add(`{"content":[{"type":"resource","resource":{"uri":"a","blob":"AAAA"}},{"type":"resource_link","uri":"b"}],"isError":true}`)
	f.Fuzz(func(t *testing.T, given string) {
		result, _, err := toolResult(json.RawMessage(given))
		if err != nil {
			return
		}
		_, err = json.Marshal(result) // what a journal does with it
		require.NoError(t, err)
	})
}
