package filesmcp

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type bundle struct {
	dir    string
	client *client.Client
}

// setup serves a fresh folder with inputs/a.txt in it.
func setup(t *testing.T) *bundle {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "inputs", "old"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "inputs", "a.txt"), []byte("café\r\n"), 0o644))

	files, err := openFolder(dir)
	require.NoError(t, err)
	c, err := client.NewInProcessClient(newServer(files))
	require.NoError(t, err)
	require.NoError(t, c.Start(t.Context()))
	t.Cleanup(func() {
		assert.NoError(t, c.Close())
		assert.NoError(t, files.Close())
	})
	_, err = c.Initialize(t.Context(), mcp.InitializeRequest{})
	require.NoError(t, err)
	return &bundle{dir: dir, client: c}
}

func (b *bundle) call(t *testing.T, tool string, args map[string]any) (text string, isError bool) {
	t.Helper()
	res, err := b.client.CallTool(t.Context(), mcp.CallToolRequest{Params: mcp.CallToolParams{Name: tool, Arguments: args}})
	require.NoError(t, err)
	require.Len(t, res.Content, 1)
	content, ok := mcp.AsTextContent(res.Content[0])
	require.True(t, ok)
	return content.Text, res.IsError
}

func TestToolsSayWhatTheyDoToTheWorld(t *testing.T) {
	t.Parallel()
	b := setup(t)
	list, err := b.client.ListTools(t.Context(), mcp.ListToolsRequest{})
	require.NoError(t, err)
	type hints struct{ readOnly, idempotent bool }
	got := map[string]hints{}
	for _, tool := range list.Tools {
		a := tool.Annotations
		got[tool.Name] = hints{a.ReadOnlyHint != nil && *a.ReadOnlyHint, a.IdempotentHint != nil && *a.IdempotentHint}
	}
	assert.True(t, got[ListDirectory].readOnly)
	assert.True(t, got[ReadTextFile].readOnly)
	assert.False(t, got[WriteFile].readOnly)
	assert.True(t, got[WriteFile].idempotent)
	assert.Len(t, got, 3)
}

func TestListingShowsFilesAndFoldersByName(t *testing.T) {
	t.Parallel()
	b := setup(t)
	text, isError := b.call(t, ListDirectory, map[string]any{"path": "inputs"})
	assert.False(t, isError)
	assert.Equal(t, "[FILE] a.txt\n[DIR] old", text)
}

func TestReadingGivesTheBytesAsTheyAre(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, path := range []string{"inputs/a.txt", "./inputs//a.txt", filepath.Join(b.dir, "inputs", "a.txt")} {
		text, isError := b.call(t, ReadTextFile, map[string]any{"path": path})
		assert.False(t, isError, path)
		assert.Equal(t, "café\r\n", text, path)
	}
}

func TestWritingMakesParentsAndReplacesWhole(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, content := range []string{"first and longer", "second"} {
		text, isError := b.call(t, WriteFile, map[string]any{"path": "runs/x/out.json", "content": content})
		assert.False(t, isError, text)
		data, err := os.ReadFile(filepath.Join(b.dir, "runs", "x", "out.json"))
		require.NoError(t, err)
		assert.Equal(t, content, string(data))
	}
	entries, err := os.ReadDir(filepath.Join(b.dir, "runs", "x"))
	require.NoError(t, err)
	assert.Len(t, entries, 1, "no draft is left")
}

func TestPathsOutsideAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	secret := filepath.Join(t.TempDir(), "secret.txt")
	require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o644))
	require.NoError(t, os.Symlink(filepath.Dir(secret), filepath.Join(b.dir, "link")))

	for _, path := range []string{secret, "../" + filepath.Base(filepath.Dir(secret)) + "/secret.txt", "link/secret.txt", "inputs/../../x", ""} {
		text, isError := b.call(t, ReadTextFile, map[string]any{"path": path})
		assert.True(t, isError, "read %q gave %q", path, text)
		_, isError = b.call(t, WriteFile, map[string]any{"path": path, "content": "x"})
		assert.True(t, isError, "write %q", path)
	}
	data, err := os.ReadFile(secret)
	require.NoError(t, err)
	assert.Equal(t, "secret", string(data))
}

func TestProblemsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, os.WriteFile(filepath.Join(b.dir, "binary"), []byte{0xff, 0xfe, 0x00}, 0o644))
	for _, tt := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{ReadTextFile, map[string]any{"path": "inputs/none.txt"}, "inputs/none.txt"},
		{ReadTextFile, map[string]any{"path": "binary"}, "not UTF-8"},
		{ReadTextFile, map[string]any{}, "path"},
		{ListDirectory, map[string]any{"path": "nowhere"}, "nowhere"},
		{WriteFile, map[string]any{"path": "a.txt"}, "content"},
		{WriteFile, map[string]any{"path": "inputs", "content": "x"}, "inputs"},
		{WriteFile, map[string]any{"path": "big", "content": strings.Repeat("x", maxFileBytes+1)}, "larger"},
	} {
		text, isError := b.call(t, tt.tool, tt.args)
		assert.True(t, isError, "%s %v", tt.tool, tt.want)
		assert.Contains(t, text, tt.want)
		assert.NotContains(t, text, b.dir)
	}
}

func TestServeEndsWhenItsInputEnds(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
	require.NoError(t, Serve(t.Context(), t.TempDir(), in, &out, &errs))
	assert.Contains(t, out.String(), `"id":1`)
	assert.Empty(t, errs.String())
}

func TestServeRefusesAMissingFolder(t *testing.T) {
	t.Parallel()
	err := Serve(t.Context(), filepath.Join(t.TempDir(), "none"), strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})
	assert.ErrorIs(t, err, os.ErrNotExist)
}
