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

// overEveryTransport runs a test against a published server that it starts itself,
// and against one behind a URL, for each transport there is.
func overEveryTransport(t *testing.T, test func(t *testing.T, start func(program nodetest.Program) *mcp.Session)) {
	t.Helper()
	t.Run("stdio", func(t *testing.T) {
		t.Parallel()
		test(t, func(program nodetest.Program) *mcp.Session {
			node, args := nodetest.Bin(t, program.Package, program.Script)
			env := map[string]string{}
			for _, variable := range program.Env {
				name, value, _ := strings.Cut(variable, "=")
				env[name] = value
			}
			return open(t, mcp.Server{Name: "real", Command: node, Args: append(args, program.Args...), Env: env})
		})
	})
	for transport, kind := range map[string]mcp.Kind{nodetest.StreamableHTTP: mcp.KindHTTP, nodetest.SSE: mcp.KindSSE} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			test(t, func(program nodetest.Program) *mcp.Session {
				return open(t, mcp.Server{Name: "real", URL: serveProgram(t, program, transport), Kind: kind})
			})
		})
	}
}

// serveProgram puts a published server behind a URL: itself where it can, else by
// way of a gateway.
func serveProgram(t *testing.T, program nodetest.Program, transport string) string {
	t.Helper()
	if !strings.HasSuffix(program.Package, "everything") {
		return program.Gateway(t, transport)
	}
	path := map[string]string{nodetest.StreamableHTTP: "/mcp", nodetest.SSE: "/sse"}[transport]
	program.Args = []string{transport}
	return program.Serve(t) + path
}

func TestEveryToolOfThePublishedFilesystemServerWorks(t *testing.T) {
	t.Parallel()
	overEveryTransport(t, func(t *testing.T, start func(nodetest.Program) *mcp.Session) {
		root, err := filepath.EvalSymlinks(t.TempDir())
		require.NoError(t, err)
		pixel := "\x89PNG\r\n\x1a\n"
		require.NoError(t, os.WriteFile(filepath.Join(root, "pixel.png"), []byte(pixel), 0o600))
		session := start(nodetest.MCPServer("filesystem", root))
		at := func(s string) string { return strings.ReplaceAll(s, "$", filepath.ToSlash(root)) }
		useAll(t, session, []toolUse{
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
		})
		data, err := os.ReadFile(filepath.Join(root, "b.txt"))
		require.NoError(t, err)
		assert.Equal(t, "one\nthree\n", string(data))

		outside := invoke(t, session, "read_text_file", `{"path":"/etc/hostname"}`)
		assert.True(t, outside.IsError)
		assert.Contains(t, outside.Content[0].Text, "denied")
		assert.Equal(t, agent.ReadOnly, find(t, session, "read_text_file").Spec().Effect)
		assert.Equal(t, agent.Idempotent, find(t, session, "write_file").Spec().Effect)
		assert.Equal(t, agent.Unsafe, find(t, session, "move_file").Spec().Effect)
		closeInTime(t, session)
	})
}

func TestEveryToolOfThePublishedEverythingServerWorks(t *testing.T) {
	t.Parallel()
	overEveryTransport(t, func(t *testing.T, start func(nodetest.Program) *mcp.Session) {
		session := start(nodetest.MCPServer("everything", "stdio"))
		require.Eventually(t, func() bool { // it adds tools once it knows its client, and says so
			tools, err := session.Tools(t.Context())
			return err == nil && tools[len(tools)-1].Spec().Origin == "simulate-research-query"
		}, waitTime, 20*time.Millisecond)
		useAll(t, session, []toolUse{
			{"echo", `{"message":"hello"}`, "Echo: hello"},
			{"get-annotated-message", `{"messageType":"error","includeImage":true}`, `"image/png"`},
			{"get-env", `{}`, "PATH"},
			{"get-resource-links", `{"count":2}`, `"uri"`},
			{"get-resource-reference", `{"resourceType":"Text","resourceId":1}`, `"uri"`},
			{"get-resource-reference", `{"resourceType":"Blob","resourceId":2}`, `"uri"`},
			{"get-structured-content", `{"location":"Chicago"}`, `"structured"`},
			{"get-sum", `{"a":2,"b":40}`, "42"},
			{"get-tiny-image", `{}`, `"image/png"`},
			{"gzip-file-as-resource", `{"name":"a.gz","data":"data:text/plain,hello","outputType":"resource"}`, `"application/gzip"`},
			{"toggle-simulated-logging", `{}`, "ogging"},
			{"toggle-subscriber-updates", `{}`, "pdates"},
			{"trigger-long-running-operation", `{"duration":0.4,"steps":4}`, "completed"},
			{"simulate-research-query", `{"topic":"looms"}`, "looms"}, // it runs as a task only
		})
		var images int
		for _, part := range invoke(t, session, "get-tiny-image", `{}`).Content {
			if part.Type == agent.PartImage {
				images++
				assert.Equal(t, "\x89PNG", string(part.Data[:4]))
			}
		}
		assert.Equal(t, 1, images)
		var reading struct{ Temperature *float64 }
		require.NoError(t, json.Unmarshal(invoke(t, session, "get-structured-content", `{"location":"Chicago"}`).Structured, &reading))
		assert.NotNil(t, reading.Temperature)
		assert.True(t, invoke(t, session, "echo", `{}`).IsError, "a missing argument is a failed result")
		closeInTime(t, session)
	})
}

func TestEveryToolOfThePublishedMemoryServerWorks(t *testing.T) {
	t.Parallel()
	overEveryTransport(t, func(t *testing.T, start func(nodetest.Program) *mcp.Session) {
		file := filepath.Join(t.TempDir(), "memory.jsonl")
		program := nodetest.MCPServer("memory")
		program.Env = []string{"MEMORY_FILE_PATH=" + file}
		session := start(program)
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
		closeInTime(t, session)
	})
}

// closeInTime closes a session with a server that has nothing against its end.
func closeInTime(t *testing.T, session *mcp.Session) {
	t.Helper()
	began := time.Now()
	require.NoError(t, session.Close())
	assert.Less(t, time.Since(began), mcp.DefaultCloseTimeout)
	t.Logf("closed in %s", time.Since(began).Round(time.Millisecond))
}
