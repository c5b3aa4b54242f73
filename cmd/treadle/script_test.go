package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/treadle-dev/treadle/costs"
	"github.com/treadle-dev/treadle/internal/openaitest"
	"github.com/treadle-dev/treadle/internal/sandbox"
	"github.com/treadle-dev/treadle/workspace"
)

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, scripts("testdata/script", nil))
}

// scripts are run with commands of our own:
//
//	model FILE              starts a model that gives the replies of the file, a line each
//	await N                 waits until the model was asked N times
//	release                 lets the reply go that waits
//	exits N COMMAND…        runs a command that must exit so
//	signaled SIG W X CMD…   starts a command, sends it the signal, expects exit X; W is what to wait for: how
//	                        often the model is asked, "output", or a file
//	ledger DIR              compares the ledger with what the models counted
//	sqlite FILE SQL         runs statements in a database
//	nowhere TEXT DIR        looks for a text in every file below, and in the last output
func scripts(dir string, env map[string]string) testscript.Params {
	return testscript.Params{
		Dir: dir,
		Setup: func(e *testscript.Env) error {
			m := &models{}
			e.Values["models"] = m
			e.Defer(m.close)
			for name, value := range env {
				e.Setenv(name, value)
			}
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name != "sandbox" {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			if os.Getenv("CI") == "true" {
				return true, nil
			}
			missing, err := sandbox.Probe(context.Background())
			return err == nil && !slices.Contains(missing, sandbox.Namespaces), nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"model": startModel, "await": awaitModel, "release": releaseModel,
			"exits": exits, "signaled": signaled, "ledger": checkLedger, "nowhere": nowhere,
			"sqlite": runSQL,
		},
	}
}

func runSQL(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sqlite FILE SQL")
	}
	file := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(file), 0o755))
	db, err := sql.Open("sqlite", file)
	ts.Check(err)
	_, err = db.Exec(args[1])
	ts.Check(errors.Join(err, db.Close()))
}

// models are the model servers of a script. Only the latest is asked.
type models struct {
	servers []*openaitest.Server
	asked   chan struct{} // one for each request
	release chan struct{}
	once    sync.Once
	ended   chan struct{}
}

func (m *models) close() {
	if m.ended != nil {
		m.once.Do(func() { close(m.ended) })
	}
	for _, s := range m.servers {
		s.Close()
	}
}

// scriptedReply is a line of a model's file.
type scriptedReply struct {
	Text string          `json:"text"`
	Call string          `json:"call"` // the name of a tool
	Args json.RawMessage `json:"args"`
	In   *int64          `json:"in"` // tokens; absent is not reported
	Out  int64           `json:"out"`
	Wait bool            `json:"wait"` // for release
	Fail int             `json:"fail"` // an HTTP status
}

const modelKey = "test-key-0123456789"

func startModel(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: model FILE")
	}
	var replies []scriptedReply
	for line := range strings.SplitSeq(strings.TrimSpace(ts.ReadFile(args[0])), "\n") {
		var r scriptedReply
		ts.Check(json.Unmarshal([]byte(os.Expand(line, ts.Getenv)), &r))
		replies = append(replies, r)
	}
	m := ts.Value("models").(*models)
	m.asked, m.release = make(chan struct{}, 1000), make(chan struct{})
	if m.ended == nil {
		m.ended = make(chan struct{})
	}
	asked, release := m.asked, m.release
	server, err := openaitest.New(func(req openaitest.Request) openaitest.Reply {
		asked <- struct{}{}
		if req.Header.Get("Authorization") != "Bearer "+modelKey {
			return openaitest.Reply{Status: 401, Message: "a wrong key"}
		}
		if req.N > len(replies) {
			return openaitest.Reply{Status: 400, Message: "the script has no reply for this request"}
		}
		r := replies[req.N-1]
		if r.Wait {
			select {
			case <-release:
			case <-m.ended:
			}
		}
		return r.reply()
	})
	ts.Check(err)
	m.servers = append(m.servers, server)
	ts.Setenv("OPENAI_BASE_URL", server.URL())
	ts.Setenv("OPENAI_API_KEY", modelKey)
	ts.Setenv("TREADLE_MODEL", "test-model")
}

func (r *scriptedReply) reply() openaitest.Reply {
	if r.Fail != 0 {
		return openaitest.Reply{Status: r.Fail, Message: "the script fails here"}
	}
	reply := openaitest.Reply{Content: r.Text}
	if r.Call != "" {
		reply.ToolCalls = []openaitest.ToolCall{{Name: r.Call, Arguments: string(r.Args)}}
	}
	if r.In != nil {
		reply.Usage = &openaitest.Usage{Prompt: *r.In, Completion: r.Out}
	}
	return reply
}

const patience = 30 * time.Second

func (m *models) await(ts *testscript.TestScript, n int) {
	for range n {
		select {
		case <-m.asked:
		case <-time.After(patience):
			ts.Fatalf("the model was not asked in time")
		}
	}
}

func awaitModel(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	ts.Value("models").(*models).await(ts, n)
}

func releaseModel(ts *testscript.TestScript, _ bool, _ []string) {
	close(ts.Value("models").(*models).release)
}

func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := exitCode(ts, ts.Exec(args[1], args[2:]...)); got != want {
		ts.Fatalf("exit status %d, want %d\nstdout: %s\nstderr: %s", got, want, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

func exitCode(ts *testscript.TestScript, err error) int {
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		ts.Fatalf("%v", err)
	}
	if exit == nil {
		return 0
	}
	return exit.ExitCode()
}

// signaled leaves the outputs in stdout.txt and stderr.txt.
func signaled(ts *testscript.TestScript, _ bool, args []string) {
	signals := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL}
	want, err := strconv.Atoi(args[2])
	ts.Check(err)
	path, err := exec.LookPath(filepath.Join(binDir(ts), args[3]))
	ts.Check(err)
	cmd := exec.Command(path, args[4:]...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), append(os.Environ(), environment(ts)...)
	var stdout, stderr output
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	ts.Check(cmd.Start())
	if asked, err := strconv.Atoi(args[1]); err == nil {
		ts.Value("models").(*models).await(ts, asked)
	} else {
		eventually(ts, "no file "+args[1], func() bool {
			_, err := os.Stat(ts.MkAbs(args[1]))
			return err == nil || (args[1] == "output" && stdout.text() != "")
		})
	}
	for i, name := range strings.Split(args[0], "+") {
		if i > 0 {
			eventually(ts, "the first signal was not seen", func() bool { return strings.Contains(stderr.text(), "canceling") })
		}
		ts.Check(cmd.Process.Signal(signals[name]))
	}
	got := exitCode(ts, cmd.Wait())
	ts.Check(os.WriteFile(ts.MkAbs("stdout.txt"), []byte(stdout.text()), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("stderr.txt"), []byte(stderr.text()), 0o600))
	if got != want {
		ts.Fatalf("exit status %d, want %d\nstdout: %s\nstderr: %s", got, want, stdout.text(), stderr.text())
	}
}

// output is what a process has written so far.
type output struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.Write(p)
}

func (o *output) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.String()
}

// eventually waits for what another process does.
func eventually(ts *testscript.TestScript, complaint string, is func() bool) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for !is() {
		select {
		case <-tick.C:
		case <-late:
			ts.Fatalf("%s", complaint)
		}
	}
}

func binDir(ts *testscript.TestScript) string {
	first, _, _ := strings.Cut(ts.Getenv("PATH"), string(os.PathListSeparator))
	return first
}

func environment(ts *testscript.TestScript) []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "OPENAI_BASE_URL", "OPENAI_API_KEY", "TREADLE_MODEL", "TOKEN", "TESTSCRIPT_COMMAND"} {
		env = append(env, name+"="+ts.Getenv(name))
	}
	return env
}

func checkLedger(ts *testscript.TestScript, _ bool, args []string) {
	ws, err := workspace.OpenDir(ts.MkAbs(args[0]))
	ts.Check(err)
	defer ws.Close()
	summary, err := costs.Read(context.Background(), ws.Storage(), costs.Filter{})
	ts.Check(err)
	total := summary.Total()
	var calls, in, out int64
	for _, server := range ts.Value("models").(*models).servers {
		for _, call := range server.Calls() {
			calls++
			if call.Prompt != nil {
				in += *call.Prompt
			}
			if call.Completion != nil {
				out += *call.Completion
			}
		}
	}
	if total.Calls != calls || sum(total.Usage.Input, total.Usage.CacheRead, total.Usage.CacheWrite) != in || sum(total.Usage.Output) != out {
		ts.Fatalf("the ledger has %+v; the model counted %d calls, %d in, %d out", total, calls, in, out)
	}
	if calls == 0 {
		ts.Fatalf("the model was never asked, so this compares nothing")
	}
}

func nowhere(ts *testscript.TestScript, _ bool, args []string) {
	text := os.Expand(args[0], ts.Getenv)
	for _, output := range []string{"stdout", "stderr"} {
		if strings.Contains(ts.ReadFile(output), text) {
			ts.Fatalf("%s has %q", output, text)
		}
	}
	files := 0
	ts.Check(filepath.WalkDir(ts.MkAbs(args[1]), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		if bytes.Contains(data, []byte(text)) {
			ts.Fatalf("%s has %q", path, text)
		}
		return nil
	}))
	if files == 0 {
		ts.Fatalf("there are no files in %s", args[1])
	}
}
