package mcp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/mcp"
	"github.com/treadle-dev/treadle/internal/nodetest"
)

// toolUse is one call of a published server's tool, and a part of what it answers.
type toolUse struct{ tool, arguments, want string }

// useAll makes the calls in order and fails for a tool that none of them is of.
func useAll(t *testing.T, session *mcp.Session, uses []toolUse) {
	t.Helper()
	used := map[string]bool{}
	for _, use := range uses {
		used[use.tool] = true
		result := invoke(t, session, use.tool, use.arguments)
		assert.False(t, result.IsError, "%s: %s", use.tool, result.Text())
		seen, err := json.Marshal(result)
		require.NoError(t, err)
		if !strings.Contains(string(seen), use.want) && !strings.Contains(result.Text(), use.want) {
			assert.Fail(t, "another answer", "%s answered %.2000s, without %q", use.tool, seen, use.want)
		}
	}
	offered := origins(t, session)
	for _, tool := range offered {
		assert.True(t, used[tool], "the server offers %s, which is not called here", tool)
	}
	assert.Len(t, offered, len(used))
	for _, problem := range session.Problems() {
		t.Log(problem)
	}
}

func TestEveryToolOfThePublishedFilesystemServerWorks(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	pixel := "\x89PNG\r\n\x1a\n"
	require.NoError(t, os.WriteFile(filepath.Join(root, "pixel.png"), []byte(pixel), 0o600))
	session := realServer(t, "filesystem", root)
	at := func(s string) string { return strings.ReplaceAll(s, "$", filepath.ToSlash(root)) }
	uses := []toolUse{
		{"list_allowed_directories", `{}`, at("$")},
		{"create_directory", at(`{"path":"$/books"}`), "books"},
		{"write_file", at(`{"path":"$/books/a.txt","content":"one\ntwo\n"}`), "a.txt"},
		{"read_file", at(`{"path":"$/books/a.txt"}`), `one\ntwo`},
		{"read_text_file", at(`{"path":"$/books/a.txt","head":1}`), "one"},
		{"read_multiple_files", at(`{"paths":["$/books/a.txt"]}`), "two"},
		{"edit_file", at(`{"path":"$/books/a.txt","edits":[{"oldText":"two","newText":"three"}]}`), "+three"},
		{"read_media_file", at(`{"path":"$/pixel.png"}`), `"image/png"`},
		{"list_directory", at(`{"path":"$"}`), "[DIR] books"},
		{"list_directory_with_sizes", at(`{"path":"$","sortBy":"size"}`), "pixel.png"},
		{"directory_tree", at(`{"path":"$"}`), "a.txt"},
		{"search_files", at(`{"path":"$","pattern":"**/*.txt"}`), "a.txt"},
		{"get_file_info", at(`{"path":"$/books/a.txt"}`), "size"},
		{"move_file", at(`{"source":"$/books/a.txt","destination":"$/b.txt"}`), "b.txt"},
	}
	useAll(t, session, uses)
	data, err := os.ReadFile(filepath.Join(root, "b.txt"))
	require.NoError(t, err)
	assert.Equal(t, "one\nthree\n", string(data))
}

func TestEveryToolOfThePublishedEverythingServerWorks(t *testing.T) {
	t.Parallel()
	session := realServer(t, "everything", "stdio")
	require.Eventually(t, func() bool { // it adds tools once it knows its client, and says so
		tools, err := session.Tools(t.Context())
		return err == nil && tools[len(tools)-1].Spec().Origin == "simulate-research-query"
	}, 20*time.Second, 20*time.Millisecond)
	useAll(t, session, []toolUse{
		{"echo", `{"message":"hello"}`, "Echo: hello"},
		{"get-annotated-message", `{"messageType":"error","includeImage":true}`, `"image/png"`},
		{"get-env", `{}`, "PATH"},
		{"get-resource-links", `{"count":2}`, `"uri"`},
		{"get-resource-reference", `{"resourceType":"Text","resourceId":1}`, `"uri"`},
		{"get-structured-content", `{"location":"Chicago"}`, `"structured"`},
		{"get-sum", `{"a":2,"b":40}`, "42"},
		{"get-tiny-image", `{}`, `"image/png"`},
		{"gzip-file-as-resource", `{"name":"a.gz","data":"data:text/plain,hello","outputType":"resource"}`, `"application/gzip"`},
		{"toggle-simulated-logging", `{}`, "ogging"},
		{"toggle-subscriber-updates", `{}`, "pdates"},
		{"trigger-long-running-operation", `{"duration":1,"steps":4}`, "completed"},
		{"simulate-research-query", `{"topic":"looms"}`, "looms"}, // it runs as a task only
	})
}

func TestEveryToolOfThePublishedMemoryServerWorks(t *testing.T) {
	t.Parallel()
	node, args := nodetest.Bin(t, "@modelcontextprotocol/server-memory", "dist/index.js")
	file := filepath.Join(t.TempDir(), "memory.jsonl")
	session := open(t, mcp.Server{Name: "memory", Command: node, Args: args, Env: map[string]string{"MEMORY_FILE_PATH": file}})
	useAll(t, session, []toolUse{
		{"create_entities", `{"entities":[{"name":"Ada","entityType":"person","observations":["weaves"]},{"name":"loom","entityType":"machine","observations":[]}]}`, "Ada"},
		{"create_relations", `{"relations":[{"from":"Ada","to":"loom","relationType":"uses"}]}`, "uses"},
		{"add_observations", `{"observations":[{"entityName":"Ada","contents":["counts"]}]}`, "counts"},
		{"read_graph", `{}`, "loom"},
		{"search_nodes", `{"query":"weaves"}`, "Ada"},
		{"open_nodes", `{"names":["loom"]}`, "machine"},
		{"delete_observations", `{"deletions":[{"entityName":"Ada","observations":["counts"]}]}`, "deleted"},
		{"delete_relations", `{"relations":[{"from":"Ada","to":"loom","relationType":"uses"}]}`, "deleted"},
		{"delete_entities", `{"entityNames":["loom"]}`, "deleted"},
	})
	assert.Contains(t, requireFile(t, file), "Ada")
}

func TestProgressOfAPublishedServerExtendsItsCall(t *testing.T) {
	t.Parallel()
	node, args := nodetest.Bin(t, "@modelcontextprotocol/server-everything", "dist/index.js")
	session := open(t, mcp.Server{Name: "everything", Command: node, Args: append(args, "stdio"), CallTimeout: 3 * time.Second})
	result := invoke(t, session, "trigger-long-running-operation", `{"duration":5,"steps":10}`)
	assert.False(t, result.IsError)
	assert.Equal(t, agent.PartText, result.Content[0].Type)
}
