package nodetest

import (
	"bytes"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// stopTime is how long a program may take to end when it is asked to, before it is killed:
// a gateway gives its own servers five seconds.
const stopTime = 7 * time.Second

// process is a running program.
type process struct {
	cmd    *exec.Cmd
	output output
	ended  chan struct{} // closed when it has ended and been waited for
}

func newProcess(node string) *process {
	p := &process{cmd: exec.Command(node), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	p.cmd.WaitDelay = stopTime // for a grandchild that keeps the output open
	setGroup(p.cmd)
	return p
}

// begin starts the program. It dies with the thread that started it, which is thus kept: a
// test binary that is killed leaves no program behind.
func (p *process) begin() error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := p.cmd.Start(); err != nil {
			started <- err
			return
		}
		close(started)
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	return <-started
}

// end stops the program, and fails the test if something of it is left.
func (p *process) end(t testing.TB) {
	t.Helper()
	p.stop()
	if groupLives(p.cmd) {
		t.Errorf("processes of %s are left", strings.Join(p.cmd.Args, " "))
	}
	if t.Failed() {
		t.Logf("%s wrote:\n%s", strings.Join(p.cmd.Args, " "), p.output.String())
	}
}

// stop asks the program to end, and kills it, with what it started, if it does not.
func (p *process) stop() {
	terminateGroup(p.cmd)
	patience := time.NewTimer(stopTime)
	defer patience.Stop()
	select {
	case <-p.ended:
	case <-patience.C:
	}
	killGroup(p.cmd)
	<-p.ended
}

// output keeps the beginning of what a program writes.
type output struct {
	mu     sync.Mutex
	buffer bytes.Buffer
	lost   int
}

const maxOutput = 64 << 10

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	kept := b[:min(len(b), maxOutput-o.buffer.Len())]
	o.buffer.Write(kept)
	o.lost += len(b) - len(kept)
	return len(b), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lost == 0 {
		return o.buffer.String()
	}
	return o.buffer.String() + "\n... and " + strconv.Itoa(o.lost) + " bytes more"
}
