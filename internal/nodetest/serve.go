package nodetest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

const (
	// startTime is how long a server may take to answer: Node starts slowly where several
	// tests start it at once.
	startTime = 60 * time.Second
	// portTries are the ports that are tried: between its choice and its use another
	// program may take one.
	portTries = 5
)

// Program is a script of an installed package, and what it is started with.
type Program struct {
	Package string
	Script  string
	Args    []string
	Env     []string // "NAME=value", added to the test's own
}

// MCPServer is one of the reference servers: "everything", "filesystem" or "memory". It
// speaks stdio; "everything" serves HTTP when its first argument is "sse" (at /sse) or
// "streamableHttp" (at /mcp). "memory" needs MEMORY_FILE_PATH in its Env, else it writes
// where it is installed.
func MCPServer(name string, args ...string) Program {
	return Program{Package: "@modelcontextprotocol/server-" + name, Script: "dist/index.js", Args: args}
}

// Serve starts a program that serves HTTP, waits until it answers and returns its address,
// such as "http://127.0.0.1:40123". The program finds its port in the environment as PORT,
// and in Args in place of "$PORT". When the test ends it is stopped, and nothing of it is
// left. What it wrote is logged when the test failed.
func (program Program) Serve(t testing.TB) string {
	t.Helper()
	node, command := Bin(t, program.Package, program.Script)
	command = append(command, program.Args...)
	var problems []error
	for range portTries {
		address, err := freeAddress()
		if err != nil {
			t.Fatal(err)
		}
		p, err := start(node, command, program.Env, address)
		if err == nil {
			t.Cleanup(func() { p.end(t) })
			return "http://" + address
		}
		problems = append(problems, err)
		if !errors.Is(err, errEnded) {
			break
		}
	}
	t.Fatalf("%s %s does not serve: %v", program.Package, program.Script, errors.Join(problems...))
	return ""
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// errEnded is of a program that ended before it answered: its port may have been taken.
var errEnded = errors.New("it ended")

// start starts a program and returns once it answers requests.
func start(node string, args, env []string, address string) (*process, error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	p := newProcess(node)
	for _, arg := range args {
		p.cmd.Args = append(p.cmd.Args, strings.ReplaceAll(arg, "$PORT", port))
	}
	p.cmd.Env = append(append(os.Environ(), env...), "PORT="+port)
	if err := p.begin(); err != nil {
		return nil, err
	}
	if err := p.answers(address, port); err != nil {
		p.stop()
		return nil, fmt.Errorf("%w; it wrote:\n%s", err, p.output.String())
	}
	return p, nil
}

// answers waits until the program answers a request, with whatever status.
func (p *process) answers(address, port string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/", http.NoBody)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err == nil {
			return response.Body.Close()
		}
		select {
		case <-p.ended:
			return fmt.Errorf("%w with %s on port %s", errEnded, p.cmd.ProcessState, port)
		case <-ctx.Done():
			return fmt.Errorf("no answer on port %s within %s", port, startTime)
		case <-again.C:
		}
	}
}
