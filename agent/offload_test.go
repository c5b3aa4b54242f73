package agent_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/workspace"
)

const callKey = "fetch/visit/1/attempt/1/turn/3/tool/2"

// offloaded puts a text into a file and returns the offload, the preview and the
// path that the model was told.
func offloaded(t testing.TB, text string) (o *agent.Offload, preview, path string) {
	t.Helper()
	o = &agent.Offload{Storage: workspace.NewMem(), Folder: "out/large"}
	result, err := o.Result(t.Context(), callKey, agent.TextResult(text))
	require.NoError(t, err)
	preview = result.Text()
	require.Contains(t, preview, "out/large/")
	_, path, _ = strings.Cut(preview, "file\n")
	path, _, _ = strings.Cut(path, "\n")
	return o, preview, path
}

func look(t testing.TB, o *agent.Offload, args map[string]any) (string, error) {
	t.Helper()
	data, err := json.Marshal(args)
	require.NoError(t, err)
	result, err := o.Tool().Call(t.Context(), &agent.ToolCall{Name: agent.OffloadedTool, Arguments: data})
	if err != nil {
		assert.Less(t, len(err.Error()), 2000)
		return "", err
	}
	assert.Less(t, len(result.Text()), 30_000, "a look must never be offloaded itself")
	return result.Text(), nil
}

func mustLook(t testing.TB, o *agent.Offload, args map[string]any) string {
	t.Helper()
	text, err := look(t, o, args)
	require.NoError(t, err)
	return text
}

func numberedLines(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "line %d: the quick brown fox\n", i)
	}
	return b.String()
}

func oneLineJSON(n int) string {
	type item struct {
		ID   int    `json:"id"`
		Name string `json:"name"`
		Note string `json:"note"`
	}
	items := make([]item, n)
	for i := range items {
		items[i] = item{i, fmt.Sprintf("name-%d", i), strings.Repeat("x", 60)}
	}
	data, _ := json.Marshal(map[string]any{"total": n, "items": items})
	return string(data)
}

func TestAResultUpToTheThresholdIsLeftAlone(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	o := &agent.Offload{Storage: st}
	result := agent.TextResult(strings.Repeat("a", 40_000))
	got, err := o.Result(t.Context(), callKey, result)
	require.NoError(t, err)
	assert.Same(t, result, got)
	entries, err := st.ReadDir(t.Context(), ".")
	require.NoError(t, err)
	assert.Empty(t, entries)
}

func TestALargeResultBecomesHeadTailSizeAndPath(t *testing.T) {
	t.Parallel()
	text := numberedLines(2000)
	o, preview, path := offloaded(t, text)
	assert.Less(t, len(preview), 6000)
	assert.Contains(t, preview, fmt.Sprintf("%d bytes", len(text)))
	assert.Contains(t, preview, fmt.Sprintf("%d tokens", agent.EstimateTokens(len(text))))
	assert.Contains(t, preview, "line 1: the quick")
	assert.Contains(t, preview, "line 2000: the quick")
	assert.NotContains(t, preview, "line 1000:")
	assert.Contains(t, preview, agent.OffloadedTool)
	data, err := o.Storage.ReadFile(t.Context(), path)
	require.NoError(t, err)
	assert.Equal(t, text, string(data), "the whole output is kept")
}

func TestTheFileNameDependsOnKeyAndContentAlone(t *testing.T) {
	t.Parallel()
	text := numberedLines(2000)
	_, first, path := offloaded(t, text)
	_, again, _ := offloaded(t, text)
	assert.Equal(t, first, again)
	_, _, other := offloaded(t, text+"x")
	assert.NotEqual(t, path, other)
	o := &agent.Offload{Storage: workspace.NewMem()}
	for _, key := range []string{"", "../../etc/passwd", strings.Repeat("long/", 100), "ü/ key"} {
		result, err := o.Result(t.Context(), key, agent.TextResult(text))
		require.NoError(t, err, key)
		assert.NotContains(t, result.Text(), "..")
	}
	entries, err := o.Storage.ReadDir(t.Context(), "tool_output")
	require.NoError(t, err)
	assert.Len(t, entries, 4)
}

func TestAFailedLargeResultStaysFailedAndMediaStaysWhole(t *testing.T) {
	t.Parallel()
	o := &agent.Offload{Storage: workspace.NewMem()}
	image := agent.Part{Type: agent.PartImage, MediaType: "image/png", Data: make([]byte, 100_000)}
	given := &agent.ToolResult{IsError: true, Content: []agent.Part{
		image, {Type: agent.PartText, Text: numberedLines(1000)}, image, {Type: agent.PartText, Text: numberedLines(1000)},
	}}
	before, err := json.Marshal(given)
	require.NoError(t, err)
	got, err := o.Result(t.Context(), callKey, given)
	require.NoError(t, err)
	assert.True(t, got.IsError)
	require.Len(t, got.Content, 3)
	assert.Equal(t, image, got.Content[0])
	assert.Contains(t, got.Content[1].Text, "too large")
	assert.Equal(t, image, got.Content[2])
	after, err := json.Marshal(given)
	require.NoError(t, err)
	assert.Equal(t, before, after, "the given result is not changed")

	onlyMedia := &agent.ToolResult{Content: []agent.Part{image}}
	got, err = o.Result(t.Context(), callKey, onlyMedia)
	require.NoError(t, err)
	assert.Same(t, onlyMedia, got)
}

func TestStructuredResultsAreKeptInFilesToo(t *testing.T) {
	t.Parallel()
	o := &agent.Offload{Storage: workspace.NewMem()}
	structured := oneLineJSON(1000)
	alone, err := o.Result(t.Context(), "a", &agent.ToolResult{Structured: json.RawMessage(structured)})
	require.NoError(t, err)
	assert.Empty(t, alone.Structured)
	assert.Contains(t, alone.Text(), ".json")

	twice, err := o.Result(t.Context(), "b", &agent.ToolResult{Content: agent.Text(structured), Structured: json.RawMessage(structured)})
	require.NoError(t, err)
	assert.Empty(t, twice.Structured)
	assert.Len(t, twice.Content, 1)

	beside, err := o.Result(t.Context(), "c", &agent.ToolResult{Content: agent.Text("done"), Structured: json.RawMessage(structured)})
	require.NoError(t, err)
	assert.Empty(t, beside.Structured)
	require.Len(t, beside.Content, 2)
	assert.Equal(t, "done", beside.Content[0].Text)
	entries, err := o.Storage.ReadDir(t.Context(), "tool_output")
	require.NoError(t, err)
	assert.Len(t, entries, 3)
}

func TestFiveMegabytesOfOneLineCanBeReadSearchedAndQueried(t *testing.T) {
	t.Parallel()
	text := oneLineJSON(50_000)
	require.Greater(t, len(text), 5_000_000)
	o, preview, path := offloaded(t, text)
	assert.Contains(t, preview, "indented")
	read := mustLook(t, o, map[string]any{"operation": "read", "path": path, "start": 100, "end": 104})
	assert.Equal(t, 6, strings.Count(read+"\n", "\n")-1)
	assert.Contains(t, read, `"id"`)
	found := mustLook(t, o, map[string]any{"operation": "search", "path": path, "pattern": `NAME-4999\d"`, "max_results": 3})
	assert.Contains(t, found, `"name-49990"`)
	assert.Contains(t, found, `"name-49992"`)
	assert.NotContains(t, found, `"name-49993"`)
	assert.Contains(t, found, "more matches follow")
	assert.Contains(t, mustLook(t, o, map[string]any{"operation": "search", "path": path, "pattern": "NAME-", "case_sensitive": true}), "no line matches")
	value := mustLook(t, o, map[string]any{"operation": "query", "path": path, "query": "$.items[49998:].name"})
	assert.Equal(t, "[2 matches]\n$['items'][49998]['name'] = \"name-49998\"\n$['items'][49999]['name'] = \"name-49999\"\n", value)
}

func TestQueriesShowPlacesAndSayHowMuchThereIs(t *testing.T) {
	t.Parallel()
	o, _, path := offloaded(t, oneLineJSON(2000))
	filtered := mustLook(t, o, map[string]any{"operation": "query", "path": path, "query": `$..[?@.id > 1998].id`})
	assert.Equal(t, "[1 matches]\n$['items'][1999]['id'] = 1999\n", filtered)
	all := mustLook(t, o, map[string]any{"operation": "query", "path": path, "query": "$.items[*].id", "max_results": 100_000})
	assert.Contains(t, all, "[2000 matches]")
	assert.Contains(t, all, "$['items'][199]['id'] = 199\n")
	assert.Contains(t, all, "[1800 more: narrow the query")
	whole := mustLook(t, o, map[string]any{"operation": "query", "path": path, "query": "$"})
	assert.Contains(t, whole, "bytes in all")
}

func TestOneLineThatIsNotJSONIsReadByOffset(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("söme text without a line break ", 200_000)
	o, _, path := offloaded(t, text)
	first := mustLook(t, o, map[string]any{"operation": "read", "path": path})
	assert.Contains(t, first, "read on with offset ")
	var got strings.Builder
	offset := 0
	for range 3 {
		body := mustLook(t, o, map[string]any{"operation": "read", "path": path, "offset": offset})
		_, body, _ = strings.Cut(body, "]\n")
		cut := strings.LastIndex(body, "\n[cut here: read on with offset ")
		require.Positive(t, cut)
		got.WriteString(body[:cut])
		_, err := fmt.Sscanf(body[cut:], "\n[cut here: read on with offset %d]", &offset)
		require.NoError(t, err)
	}
	assert.True(t, strings.HasPrefix(text, got.String()), "the pieces fit together")
	assert.Equal(t, offset, got.Len())
	hits := mustLook(t, o, map[string]any{"operation": "search", "path": path, "pattern": "without", "max_results": 2})
	assert.Contains(t, hits, "1 (at offset 11): …")
	_, err := look(t, o, map[string]any{"operation": "read", "path": path, "offset": len(text)})
	assert.ErrorContains(t, err, "is not in it")
}

func TestReadingLongFilesGoesOnWhereItWasCut(t *testing.T) {
	t.Parallel()
	text := numberedLines(3000)
	o, _, path := offloaded(t, text)
	var got strings.Builder
	start := 1
	for start > 0 {
		body := mustLook(t, o, map[string]any{"operation": "read", "path": path, "start": start})
		_, body, _ = strings.Cut(body, "\n")
		cut := strings.LastIndex(body, "[cut here: read on with start ")
		if cut < 0 {
			got.WriteString(body)
			break
		}
		got.WriteString(body[:cut])
		_, err := fmt.Sscanf(body[cut:], "[cut here: read on with start %d]", &start)
		require.NoError(t, err)
	}
	assert.Equal(t, text, got.String())
	_, err := look(t, o, map[string]any{"operation": "read", "path": path, "start": 5000})
	assert.ErrorContains(t, err, "3000 lines")
	_, err = look(t, o, map[string]any{"operation": "read", "path": path, "start": 9, "end": 3})
	assert.ErrorContains(t, err, "before its start")
}

func TestOnlyOffloadedFilesCanBeReached(t *testing.T) {
	t.Parallel()
	o, _, path := offloaded(t, numberedLines(2000))
	for _, name := range []string{"secret.txt", "out/secret.txt", "out/large/sub/secret.txt"} {
		require.NoError(t, o.Storage.WriteFile(t.Context(), name, []byte("secret"), workspace.Lazy))
	}
	for _, tried := range []string{
		"", ".", "..", "/", "out/large", "out/large/", "../secret.txt", "out/large/../secret.txt", "out/secret.txt", "/etc/passwd",
		"out/large/sub/secret.txt", "sub/secret.txt", `..\secret.txt`, "out/large/..", "out//large/" + path[len("out/large/"):], "/" + path, "out/large\x00/x",
	} {
		_, err := look(t, o, map[string]any{"operation": "read", "path": tried})
		assert.ErrorContains(t, err, "path_not_allowed", tried)
	}
	_, err := look(t, o, map[string]any{"operation": "read", "path": "secret.txt"})
	assert.ErrorContains(t, err, "there is no file")
	assert.Contains(t, mustLook(t, o, map[string]any{"operation": "read", "path": path[len("out/large/"):], "end": 1}), "line 1:", "a bare name will do")
}

func TestAFileIsFoundByTheNameThatTheModelWasTold(t *testing.T) {
	t.Parallel()
	o := &agent.Offload{Storage: workspace.NewMem(), Show: func(name string) string { return "/home/x/" + name }}
	result, err := o.Result(t.Context(), "k", agent.TextResult(numberedLines(2000)))
	require.NoError(t, err)
	_, path, _ := strings.Cut(result.Text(), "file\n")
	path, _, _ = strings.Cut(path, "\n")
	require.True(t, strings.HasPrefix(path, "/home/x/tool_output/"), path)
	assert.Contains(t, mustLook(t, o, map[string]any{"operation": "read", "path": path, "end": 1}), "line 1:")
	_, err = look(t, o, map[string]any{"operation": "read", "path": "/home/y/" + path[len("/home/x/"):]})
	assert.ErrorContains(t, err, "path_not_allowed")
}

func TestQueriesThatWouldTakeTooLongAreRefused(t *testing.T) {
	t.Parallel()
	o, _, path := offloaded(t, oneLineJSON(2000))
	for query, words := range map[string]string{
		"":                       "needs a JSONPath",
		"items":                  "not a JSONPath",
		"$..a..b":                "more than once",
		"$..[?@..x]":             "..",
		"$.items[?$.items]":      "filter",
		"$[*,*,*,*,*][*,*,*,*]":  "too many",
		"$..[?match(@.a,'n.*')]": "operation search",
		strings.Repeat("$", 600): "at most",
		"$[?length(@.a, @.b)]":   "JSONPath",
	} {
		_, err := look(t, o, map[string]any{"operation": "query", "path": path, "query": query})
		assert.ErrorContains(t, err, words, query)
	}
	assert.Contains(t, mustLook(t, o, map[string]any{"operation": "query", "path": path, "query": "$['a..b?$']"}), "matches nothing")

	deep, _, path := offloaded(t, strings.Repeat("[", 9000)+strings.Repeat("1,", 20_000)+"1"+strings.Repeat("]", 9000))
	started := time.Now()
	_, err := look(t, deep, map[string]any{"operation": "query", "path": path, "query": "$..*"})
	assert.ErrorContains(t, err, "deeper than")
	assert.Less(t, time.Since(started), 5*time.Second)
	info, err := deep.Storage.Stat(t.Context(), path)
	require.NoError(t, err)
	assert.Less(t, info.Size(), int64(1<<20), "indenting must not blow it up")
}

func TestWrongArgumentsGetWordsThatHelp(t *testing.T) {
	t.Parallel()
	o, _, path := offloaded(t, numberedLines(2000))
	for words, args := range map[string]map[string]any{
		"use read, search or query":    {"operation": "grep", "path": path},
		"needs a pattern":              {"operation": "search", "path": path},
		"RE2":                          {"operation": "search", "path": path, "pattern": "(?=x)"},
		"at most":                      {"operation": "search", "path": path, "pattern": strings.Repeat("x", 2000)},
		"is not JSON":                  {"operation": "query", "path": path, "query": "$.a"},
		"the arguments do not fit":     {"operation": "read", "path": 7},
		"there is no operation \"xxxx": {"operation": strings.Repeat("x", 100_000), "path": path},
	} {
		_, err := look(t, o, args)
		assert.ErrorContains(t, err, words)
	}
}

func TestTheToolIsReadOnlyAndItsSchemaIsJSON(t *testing.T) {
	t.Parallel()
	spec := (&agent.Offload{}).Tool().Spec()
	assert.Equal(t, "search_large_output", spec.Name)
	assert.Equal(t, agent.ReadOnly, spec.Effect)
	assert.True(t, json.Valid(spec.InputSchema))
	assert.NotEmpty(t, spec.Description)
}

func TestAnyTextSurvivesOffloadingWithinTheBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		piece := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(rt, "piece")
		text := strings.Repeat(piece+rapid.SampledFrom([]string{"", "\n", "é"}).Draw(rt, "between"), rapid.IntRange(0, 400).Draw(rt, "times"))
		o := &agent.Offload{Storage: workspace.NewMem(), Threshold: 250}
		result, err := o.Result(t.Context(), "k", agent.TextResult(text))
		require.NoError(rt, err)
		if len(text) <= 1000 {
			require.Equal(rt, text, result.Text())
			return
		}
		require.Less(rt, len(result.Text()), 1000, "what is shown is small")
		require.True(rt, !utf8.ValidString(text) || utf8.ValidString(result.Text()))
		again, err := o.Result(t.Context(), "k", result)
		require.NoError(rt, err)
		require.Equal(rt, result, again, "what is shown is not offloaded again")
	})
}

func TestSecretsReachNeitherTheFileNorThePreview(t *testing.T) {
	t.Parallel()
	o := &agent.Offload{Storage: workspace.NewMem(), Redact: func(text string) string { return strings.ReplaceAll(text, "s3cret", "[secret:KEY]") }}
	result, err := o.Result(t.Context(), "k", agent.TextResult("key s3cret\n"+numberedLines(2000)+"s3cret"))
	require.NoError(t, err)
	assert.NotContains(t, result.Text(), "s3cret")
	assert.Contains(t, result.Text(), "[secret:KEY]")
	entries, err := o.Storage.ReadDir(t.Context(), "tool_output")
	require.NoError(t, err)
	require.Len(t, entries, 1)
	data, err := o.Storage.ReadFile(t.Context(), "tool_output/"+entries[0].Name())
	require.NoError(t, err)
	assert.NotContains(t, string(data), "s3cret")
}

func FuzzLookingIntoLargeOutput(f *testing.F) {
	o, _, path := offloaded(f, oneLineJSON(400)+strings.Repeat(" ", 40_000))
	for _, args := range []string{
		`{"operation":"read","start":3,"end":2}`, `{"operation":"read","offset":99}`, `{"operation":"search","pattern":"(a|b)*x{2,9}"}`,
		`{"operation":"query","query":"$..[?match(@.name, 'n.*9')].id"}`, `{"operation":"query","query":"$.items[::-3,'x',0]"}`,
		`{"operation":"query","query":"$[?length(@)>count(@.*)]"}`,
	} {
		f.Add(args)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		var args map[string]any
		if json.Unmarshal([]byte(raw), &args) != nil || args == nil {
			return
		}
		args["path"] = path
		_, _ = look(t, o, args)
	})
}
