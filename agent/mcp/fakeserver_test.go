package mcp_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// fakeVariable makes the test binary an MCP server. Its value lists habits,
// separated by commas; a habit may have a value, such as "pages=101".
const fakeVariable = "TREADLE_FAKE_MCP"

// fakeServer is an MCP server with every trouble that servers were seen to make.
// It is written on bare JSON lines, so that it can break the protocol.
type fakeServer struct {
	habits map[string]string
	mu     sync.Mutex // guards out and canceled
	out    *bufio.Writer

	canceled map[string]json.RawMessage // params of notifications/cancelled by request id
	extra    bool                       // the list has changed
	broken   bool                       // the list cannot be read
	polls    int                        // of a task
}

type fakeRequest struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

func runFakeServer(habits string) {
	f := &fakeServer{habits: map[string]string{}, out: bufio.NewWriter(os.Stdout), canceled: map[string]json.RawMessage{}}
	for habit := range strings.SplitSeq(habits, ",") {
		name, value, _ := strings.Cut(habit, "=")
		f.habits[name] = value
	}
	f.mark("count", "x") // one byte a start
	if f.has("exit-early") {
		fmt.Fprintln(os.Stderr, "cannot open the database")
		os.Exit(7)
	}
	if f.has("fail-after-first") {
		if data, _ := os.ReadFile(f.habits["count"]); len(data) > 1 {
			os.Exit(9)
		}
	}
	if f.has("ignore-term") {
		signal.Ignore(syscall.SIGTERM)
	}
	if f.has("grandchild") {
		startGrandchild(f.habits["grandchild"])
	}
	if f.has("stray") {
		fmt.Println("Server listening...")
		fmt.Println(`{"level":"info","msg":"not of the protocol"}`)
		fmt.Println("{half a message")
		fmt.Println()
	}
	if f.has("stderr-flood") {
		fmt.Fprint(os.Stderr, strings.Repeat("noise ", 50_000)+"the last words")
	}
	f.serve()
	if f.has("slow-farewell") {
		_ = os.Stdout.Close()
		time.Sleep(time.Second) // what a server may need to save its work
		_ = os.WriteFile(f.habits["slow-farewell"], []byte("saved"), 0o600)
	}
	if f.has("ignore-term") {
		select {} // and the end of its input, too
	}
}

// startGrandchild leaves a process that holds this one's output open, and writes
// its number to a file.
func startGrandchild(pidFile string) {
	cmd := exec.Command("sleep", "300")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	_ = os.WriteFile(pidFile, []byte(strconv.Itoa(cmd.Process.Pid)), 0o600)
}

func (f *fakeServer) has(habit string) bool { _, ok := f.habits[habit]; return ok }

func (f *fakeServer) serve() {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var request fakeRequest
		if err := json.Unmarshal(line, &request); err != nil {
			fmt.Fprintln(os.Stderr, "bad line:", err)
			continue
		}
		f.mark("log-methods", request.Method+"\n")
		f.handle(&request)
	}
}

func (f *fakeServer) handle(r *fakeRequest) {
	switch r.Method {
	case "initialize":
		f.initialize(r)
	case "server/discover":
		f.discover(r)
	case "notifications/cancelled":
		var params struct {
			RequestID json.RawMessage `json:"requestId"`
		}
		_ = json.Unmarshal(r.Params, &params)
		f.mu.Lock()
		f.canceled[string(params.RequestID)] = r.Params
		f.mu.Unlock()
		if f.has("die-when-canceled") {
			os.Exit(5)
		}
		f.result(params.RequestID, textResult("too late")) // the protocol allows a late answer
	case "tools/list":
		f.list(r)
	case "tools/call":
		var params struct {
			Name      string                     `json:"name"`
			Arguments map[string]json.RawMessage `json:"arguments"`
			Meta      json.RawMessage            `json:"_meta"`
		}
		_ = json.Unmarshal(r.Params, &params)
		f.call(r, params.Name, params.Arguments, params.Meta)
	case "tasks/get", "tasks/result", "tasks/cancel":
		f.task(r)
	default:
		if len(r.ID) > 0 && r.Method != "" {
			f.fail(r.ID, -32601, "no method "+r.Method)
		}
	}
}

func (f *fakeServer) initialize(r *fakeRequest) {
	switch {
	case f.has("mute"):
		fmt.Fprintln(os.Stderr, "waiting for the licence server")
	case f.has("modern"):
		f.fail(r.ID, -32601, "initialize was removed")
	case f.has("refuse"):
		f.fail(r.ID, -32000, "no licence for key "+os.Getenv("TOKEN"))
	default:
		f.result(r.ID, map[string]any{
			"protocolVersion": "2025-06-18",
			"capabilities":    map[string]any{"tools": map[string]any{}},
			"serverInfo":      map[string]any{"name": "fake", "version": "1"},
		})
	}
}

func (f *fakeServer) discover(r *fakeRequest) {
	if !f.has("modern") {
		f.fail(r.ID, -32601, "no method server/discover")
		return
	}
	f.result(r.ID, map[string]any{
		"supportedVersions": []string{"2026-07-28"},
		"capabilities":      map[string]any{"tools": map[string]any{}},
		"resultType":        "complete",
	})
}

// mark appends to a file whose name a habit gives.
func (f *fakeServer) mark(habit, text string) {
	if !f.has(habit) {
		return
	}
	file, err := os.OpenFile(f.habits[habit], os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	_, _ = file.WriteString(text)
	_ = file.Close()
}

func (f *fakeServer) list(r *fakeRequest) {
	f.mark("count-lists", "x")
	if f.broken {
		f.fail(r.ID, -32603, "the registry is locked")
		return
	}
	var params struct {
		Cursor string `json:"cursor"`
	}
	_ = json.Unmarshal(r.Params, &params)
	switch {
	case f.has("repeat-cursor"):
		f.result(r.ID, map[string]any{"tools": []any{fakeTool("echo")}, "nextCursor": "again"})
	case f.has("endless"):
		n, _ := strconv.Atoi(params.Cursor)
		f.result(r.ID, map[string]any{"tools": []any{}, "nextCursor": strconv.Itoa(n + 1)})
	case f.has("no-tools"):
		f.fail(r.ID, -32601, "no tools")
	case f.has("pages"):
		total, _ := strconv.Atoi(f.habits["pages"])
		from, _ := strconv.Atoi(params.Cursor)
		page := map[string]any{}
		tools := []any{}
		for i := from; i < min(from+50, total); i++ {
			tools = append(tools, fakeTool(fmt.Sprintf("tool-%03d", i)))
		}
		page["tools"] = tools
		if from+50 < total {
			page["nextCursor"] = strconv.Itoa(from + 50)
		}
		f.result(r.ID, page)
	case f.has("names"):
		tools := []any{}
		for _, name := range oddNames() {
			tools = append(tools, fakeTool(name))
		}
		f.result(r.ID, map[string]any{"tools": tools})
	case f.has("schema"): // a habit cannot hold JSON, which has commas
		f.result(r.ID, map[string]any{"tools": []any{
			map[string]any{"name": "odd", "inputSchema": json.RawMessage(os.Getenv("SCHEMA"))}, fakeTool("echo"),
		}})
	case f.has("odd-hints"):
		f.result(r.ID, map[string]any{"tools": []any{
			json.RawMessage(`{"name":"both","annotations":{"readOnlyHint":true,"destructiveHint":true}}`),
			json.RawMessage(`{"name":"words","description":["a"],"title":5,"annotations":{"readOnlyHint":"yes","title":"Words"}}`),
			json.RawMessage(`{"name":"none","annotations":"none"}`),
		}})
	case f.has("odd-schemas"):
		f.result(r.ID, map[string]any{"tools": []any{
			json.RawMessage(`{"name":"absent"}`),
			json.RawMessage(`{"name":"null","inputSchema":null}`),
			json.RawMessage(`{"name":"array","inputSchema":[]}`),
			json.RawMessage(`{"name":"string","inputSchema":{"type":"string"}}`),
			json.RawMessage(`{"name":"php","inputSchema":{"type":"object","properties":[]}}`),
			json.RawMessage(`{"name":17}`),
			json.RawMessage(`{"description":"nameless"}`),
			json.RawMessage(`{"name":"php","inputSchema":{"type":"object"}}`),
		}})
	default:
		tools := []any{
			json.RawMessage(`{"name":"look","annotations":{"readOnlyHint":true},"description":"looks","inputSchema":{"type":"object","properties":{"b":{},"a":{}}}}`),
			json.RawMessage(`{"name":"put","annotations":{"idempotentHint":true},"title":"Puts"}`),
			json.RawMessage(`{"name":"a.b"}`), json.RawMessage(`{"name":"a/b"}`), json.RawMessage(`{"name":"a_b"}`),
			json.RawMessage(`{"name":"typed-silent","outputSchema":{"type":"object"}}`),
			json.RawMessage(`{"name":"typed-text","outputSchema":{"type":"object"}}`),
			json.RawMessage(`{"name":"task","execution":{"taskSupport":"required"}}`),
		}
		for _, name := range []string{
			"echo", "die", "slow", "fail", "refuse", "structured", "structured-list", "content", "big", "environment", "cwd", "meta",
			"stall", "close-output", "change", "ask", "canceled", "flood", "leave-grandchild", "twice", "odd-error", "close-input",
			"change-in-a-call", "progress", "bare-list", "silent-fail", "log", "run", "odd-text",
		} {
			tools = append(tools, fakeTool(name))
		}
		if f.extra { // one more, one less, one changed
			tools[0] = json.RawMessage(`{"name":"look","description":"looks twice"}`)
			tools = append(tools[:1:1], tools[2:]...)
			tools = append(tools, fakeTool("extra"), fakeTool("another"))
		}
		f.result(r.ID, map[string]any{"tools": tools})
	}
}

func fakeTool(name string) any {
	return map[string]any{"name": name, "inputSchema": map[string]any{"type": "object", "properties": map[string]any{}}}
}

func (f *fakeServer) call(r *fakeRequest, name string, args map[string]json.RawMessage, meta json.RawMessage) {
	text := func(key string) string {
		var s string
		_ = json.Unmarshal(args[key], &s)
		return s
	}
	switch name {
	case "echo":
		all, _ := json.Marshal(args)
		f.result(r.ID, textResult(string(all)))
	case "die":
		fmt.Fprintln(os.Stderr, "panic: out of cheese; token is "+os.Getenv("TOKEN"))
		os.Exit(3)
	case "slow": // answers when it is canceled
		_ = os.WriteFile(text("mark"), r.ID, 0o600)
	case "canceled":
		f.mu.Lock()
		all, _ := json.Marshal(slices.Collect(maps.Values(f.canceled)))
		f.mu.Unlock()
		f.result(r.ID, textResult(string(all)))
	case "fail":
		f.result(r.ID, map[string]any{"isError": true, "content": []any{textBlock("the disk is full")}})
	case "refuse":
		f.fail(r.ID, -32602, "city is required; token is "+os.Getenv("TOKEN"))
	case "structured":
		f.result(r.ID, map[string]any{"content": []any{}, "structuredContent": map[string]any{"total": 12}})
	case "structured-list":
		f.result(r.ID, map[string]any{"structuredContent": []int{1, 2}})
	case "typed-silent":
		f.result(r.ID, map[string]any{"content": []any{}})
	case "typed-text":
		f.result(r.ID, textResult("only words"))
	case "content":
		f.result(r.ID, map[string]any{"content": []any{
			textBlock("words"),
			map[string]any{"type": "image", "data": base64.StdEncoding.EncodeToString([]byte("img")), "mimeType": "image/png"},
			map[string]any{"type": "audio", "data": base64.StdEncoding.EncodeToString([]byte("snd")), "mimeType": "audio/wav"},
			map[string]any{"type": "resource", "resource": map[string]any{"uri": "file:///a.txt", "mimeType": "text/plain", "text": "inside"}},
			map[string]any{"type": "resource", "resource": map[string]any{"uri": "file:///a.pdf", "mimeType": "application/pdf", "blob": base64.StdEncoding.EncodeToString([]byte("%PDF"))}},
			map[string]any{"type": "resource_link", "uri": "file:///b.csv", "name": "b.csv", "mimeType": "text/csv", "description": "the ledger"},
			map[string]any{"type": "hologram", "depth": 3},
		}})
	case "big":
		n, _ := strconv.Atoi(text("bytes"))
		f.result(r.ID, textResult(strings.Repeat("x", n)))
	case "flood": // one line that never ends
		for {
			if _, err := os.Stdout.WriteString(strings.Repeat("y", 1<<20)); err != nil {
				os.Exit(1)
			}
		}
	case "environment":
		env := os.Environ()
		slices.Sort(env)
		f.result(r.ID, textResult(strings.Join(env, "\n")))
	case "cwd":
		wd, _ := os.Getwd()
		f.result(r.ID, textResult(wd))
	case "meta":
		f.result(r.ID, textResult(string(meta)))
	case "odd-error": // and an id that comes back as text
		f.send(map[string]any{"jsonrpc": "2.0", "id": string(r.ID), "error": "it rains"})
	case "twice": // two answers, in a batch
		answer := map[string]any{"jsonrpc": "2.0", "id": r.ID, "result": textResult("one of two")}
		f.send([]any{answer, answer})
	default:
		if f.notifies(r, name, text, meta) || f.misbehaves(r, name, text) {
			return
		}
		if f.has("change-on-unknown") {
			f.notify("tools/list_changed", nil)
		}
		if f.has("names") || f.has("change-on-unknown") {
			f.result(r.ID, textResult(name))
			return
		}
		f.fail(r.ID, -32602, "no tool "+name)
	}
}

// notifies makes calls that say something unasked before they are answered.
func (f *fakeServer) notifies(r *fakeRequest, name string, text func(string) string, meta json.RawMessage) bool {
	switch name {
	case "change": // in a burst
		f.extra = true
		f.broken = text("broken") != ""
		for range 30 {
			f.notify("tools/list_changed", nil)
		}
		f.result(r.ID, textResult("changed"))
	case "change-in-a-call": // and answer when a file appears
		f.extra = true
		f.notify("tools/list_changed", nil)
		go func() {
			for {
				if _, err := os.Stat(text("until")); err == nil {
					f.result(r.ID, textResult("not disturbed"))
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
		}()
	case "progress":
		go f.reportProgress(r, meta, text("token"), text("reports"))
	case "task":
		if text("until") == "at once" {
			f.result(r.ID, textResult("no task was needed"))
			return true
		}
		f.polls = 0
		f.result(r.ID, map[string]any{"task": map[string]any{"taskId": text("until"), "status": "working", "pollInterval": 100}})
	case "log":
		n, _ := strconv.Atoi(text("lines"))
		for i := range n {
			f.notify("message", map[string]any{"level": "warning", "logger": "db", "data": map[string]any{"line": i, "auth": os.Getenv("TOKEN"), "fill": strings.Repeat("z", 5000)}})
		}
		f.result(r.ID, textResult("logged"))
	default:
		return false
	}
	return true
}

// misbehaves makes calls that go at the pipes and the process.
func (f *fakeServer) misbehaves(r *fakeRequest, name string, text func(string) string) bool {
	switch name {
	case "stall": // answers, and never reads again
		f.result(r.ID, textResult("good night"))
		select {}
	case "close-output":
		_ = os.Stdout.Close()
		time.Sleep(time.Minute) // ends with the process
	case "close-input":
		_ = os.Stdin.Close()
		f.result(r.ID, textResult("closed"))
		time.Sleep(time.Minute) // ends with the process
	case "leave-grandchild":
		startGrandchild(text("pid"))
		os.Exit(4)
	case "bare-list":
		f.result(r.ID, []any{})
	case "silent-fail":
		f.result(r.ID, map[string]any{"isError": true})
	case "odd-text":
		f.result(r.ID, textResult(`{"success":false}`))
	case "run":
		f.result(r.ID, textResult("by "+os.Getenv("OWN_NAME")))
	case "ask": // a request of the server's own, and a ping, before the answer
		f.send(map[string]any{"jsonrpc": "2.0", "id": "s1", "method": "sampling/createMessage", "params": map[string]any{}})
		f.send(map[string]any{"jsonrpc": "2.0", "id": "s2", "method": "ping"})
		in := bufio.NewReader(os.Stdin)
		one, _ := in.ReadString('\n')
		two, _ := in.ReadString('\n')
		f.result(r.ID, textResult(one+two))
	default:
		return false
	}
	return true
}

// oddNames are names of tools that the protocol allows, or that servers use.
func oddNames() []string {
	return []string{"a.b", "a/b", "a_b", "a b", "a-b", "😀", "ünï", strings.Repeat("long", 20), strings.Repeat("long", 20) + "er"}
}

// reportProgress reports every 100 ms that a call is under way, and then answers; or
// reports for ever.
func (f *fakeServer) reportProgress(r *fakeRequest, meta json.RawMessage, token, reports string) {
	var sent struct {
		Token json.RawMessage `json:"progressToken"`
	}
	_ = json.Unmarshal(meta, &sent)
	switch token {
	case "text":
		sent.Token = json.RawMessage(`"` + string(sent.Token) + `"`)
	case "other":
		sent.Token = json.RawMessage(`"another"`)
	}
	limit, err := strconv.Atoi(reports)
	for i := 0; err != nil || i < limit; i++ {
		time.Sleep(100 * time.Millisecond)
		f.notify("progress", map[string]any{"progressToken": sent.Token, "progress": i, "total": limit, "message": "step"})
	}
	f.result(r.ID, textResult("done"))
}

// task answers for a task whose id is the state that it reaches after some polls.
func (f *fakeServer) task(r *fakeRequest) {
	var params struct {
		ID string `json:"taskId"`
	}
	_ = json.Unmarshal(r.Params, &params)
	state := map[string]any{"taskId": params.ID, "status": "working", "statusMessage": "thinking", "pollInterval": 100}
	if f.polls++; f.polls > 15 && params.ID != "never" {
		state["status"] = params.ID
	}
	if r.Method == "tasks/result" {
		state = map[string]any{"isError": params.ID == "failed", "content": []any{textBlock("the task " + params.ID)}}
	}
	f.result(r.ID, state)
}

func (f *fakeServer) notify(what string, params any) {
	message := map[string]any{"jsonrpc": "2.0", "method": "notifications/" + what}
	if params != nil {
		message["params"] = params
	}
	f.send(message)
}

func textBlock(text string) any { return map[string]any{"type": "text", "text": text} }

func textResult(text string) any { return map[string]any{"content": []any{textBlock(text)}} }

func (f *fakeServer) result(id json.RawMessage, result any) {
	f.send(map[string]any{"jsonrpc": "2.0", "id": id, "result": result})
}

func (f *fakeServer) fail(id json.RawMessage, code int, message string) {
	f.send(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": message}})
}

func (f *fakeServer) send(msg any) {
	data, err := json.Marshal(msg)
	if err != nil {
		panic(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_, _ = f.out.Write(append(data, '\n'))
	_ = f.out.Flush()
}
