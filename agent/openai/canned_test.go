package openai_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/openai"
)

// canned is a transport that answers every request with one response.
type canned struct {
	status int
	header http.Header
	body   func() io.ReadCloser

	mu   sync.Mutex
	sent []map[string]json.RawMessage
	reqs []*http.Request
}

func (c *canned) RoundTrip(req *http.Request) (*http.Response, error) {
	raw, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	var sent map[string]json.RawMessage
	if err := json.Unmarshal(raw, &sent); err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.sent, c.reqs = append(c.sent, sent), append(c.reqs, req)
	c.mu.Unlock()
	status := c.status
	if status == 0 {
		status = http.StatusOK
	}
	header := c.header
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{
		StatusCode: status, Header: header, Request: req,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1,
		Body: c.body(),
	}, nil
}

func (c *canned) last(t *testing.T) map[string]json.RawMessage {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	require.NotEmpty(t, c.sent)
	return c.sent[len(c.sent)-1]
}

func bodyOf(data []byte) func() io.ReadCloser {
	return func() io.ReadCloser { return io.NopCloser(bytes.NewReader(data)) }
}

// pieces is a body that arrives in the given reads.
type pieces struct{ left [][]byte }

func (p *pieces) Read(b []byte) (int, error) {
	for len(p.left) > 0 && len(p.left[0]) == 0 {
		p.left = p.left[1:]
	}
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.left[0])
	p.left[0] = p.left[0][n:]
	return n, nil
}

func splitAt(data []byte, cuts ...int) func() io.ReadCloser {
	return func() io.ReadCloser {
		p, from := &pieces{}, 0
		for _, at := range append(cuts, len(data)) {
			p.left = append(p.left, data[from:at])
			from = at
		}
		return io.NopCloser(p)
	}
}

func over(t *testing.T, transport http.RoundTripper, change ...func(*openai.Config)) *openai.LLM {
	t.Helper()
	cfg := openai.Config{BaseURL: "http://endpoint.test/v1", Model: "test-model", HTTPClient: &http.Client{Transport: transport}}
	for _, f := range change {
		f(&cfg)
	}
	llm, err := openai.New(cfg)
	require.NoError(t, err)
	return llm
}

func ask(tools ...agent.ToolSpec) *agent.Request {
	return &agent.Request{Messages: []agent.Message{agent.UserMessage("go on")}, Tools: tools}
}

func discard(agent.Delta) {}

// fixturesDir is the folder of recorded payload shapes.
func fixturesDir(t *testing.T) string {
	t.Helper()
	root := os.Getenv("TREADLE_FIXTURES")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared", "fixtures")
	}
	dir := filepath.Join(root, "openai")
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("the payload shapes are missing: %v; set TREADLE_FIXTURES", err)
		}
		t.Skipf("the payload shapes are not here (%v); set TREADLE_FIXTURES to the fixtures folder", err)
	}
	return dir
}

func fixture(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(fixturesDir(t), name))
	require.NoError(t, err)
	return data
}

func fixtureLines(t *testing.T, name string) [][]byte {
	t.Helper()
	return bytes.Split(bytes.TrimSpace(fixture(t, name)), []byte("\n"))
}
