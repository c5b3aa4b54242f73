package mcp

import (
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// drainTime is how long the rest of a server's process group may live on after
// the server itself has ended: a wrapper such as a shell often ends before the
// program that it wraps. It bounds how late a death is noticed in full.
const drainTime = 500 * time.Millisecond

// process is a running server: one process group, three pipes, and the goroutine
// that attends to its end.
type process struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	stderr *os.File
	tail   *tail

	stdoutDone chan struct{} // closed by the reader of stdout when it has ended
	exited     chan struct{} // the leader has ended
	gone       chan struct{} // the group is killed, everything is read and reaped
	status     string        // how the leader ended; valid once gone

	reading sync.WaitGroup

	mu     sync.Mutex
	reaped bool // the group's number may be another's now
}

// startProcess starts a server in a process group of its own, so that what it
// starts can be ended with it. Pipes are made here and not by os/exec, which
// would wait for grandchildren that keep them open.
func startProcess(command string, args, env []string, dir string, keepStderr int) (_ *process, err error) {
	var files []*os.File
	defer func() {
		if err != nil {
			closeAll(files...)
		}
	}()
	pipe := func() (r, w *os.File) {
		if err != nil {
			return nil, nil
		}
		if r, w, err = os.Pipe(); err == nil {
			files = append(files, r, w)
		}
		return r, w
	}
	inR, inW := pipe()
	outR, outW := pipe()
	errR, errW := pipe()
	if err != nil {
		return nil, err
	}

	cmd := exec.Command(command, args...) //nolint:noctx // it lives until its session closes, beyond any one call
	cmd.Env, cmd.Dir = env, dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, errW
	ownGroup(cmd)
	if err = cmd.Start(); err != nil {
		return nil, err
	}
	closeAll(inR, outW, errW) // the server's ends

	p := &process{
		cmd: cmd, stdin: inW, stdout: outR, stderr: errR,
		tail:       &tail{keep: keepStderr},
		stdoutDone: make(chan struct{}),
		exited:     make(chan struct{}),
		gone:       make(chan struct{}),
	}
	p.reading.Go(func() { _, _ = io.Copy(p.tail, p.stderr) })
	go p.attend()
	return p, nil
}

// attend waits for the server's end, ends what it left behind, and reaps it. The
// group is killed before its leader is reaped: until then nothing else can have
// the group's number.
func (p *process) attend() {
	defer close(p.gone)
	awaitExit(p.cmd)
	close(p.exited)
	select {
	case <-p.stdoutDone:
	case <-time.After(drainTime):
	}
	p.signal(killGroup)
	// A descendant that left the group may hold the pipes open for ever.
	deadline := time.Now().Add(drainTime)
	_ = p.stdout.SetReadDeadline(deadline)
	_ = p.stderr.SetReadDeadline(deadline)
	<-p.stdoutDone
	p.reading.Wait()
	p.reap()
	p.status = "unknown status"
	if state := p.cmd.ProcessState; state != nil {
		p.status = state.String()
	}
	closeAll(p.stdin, p.stdout, p.stderr)
}

// stop ends the server within a limit: it closes its input, then asks, then
// kills. It reports false when even that did not end it. More than one caller may
// wait in it.
func (p *process) stop(limit time.Duration) bool {
	_ = p.stdin.Close()
	if p.awaitGone(limit / 2) {
		return true
	}
	p.signal(terminateGroup)
	if p.awaitGone(limit / 4) {
		return true
	}
	p.kill()
	return p.awaitGone(max(limit/4, 3*drainTime))
}

// kill ends the server without asking.
func (p *process) kill() { p.signal(killGroup) }

func (p *process) signal(send func(*exec.Cmd)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		send(p.cmd)
	}
}

func (p *process) reap() {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.cmd.Wait() // how it ended is in its state
	p.reaped = true
}

// ending is how the process ended, as far as that is known.
func (p *process) ending() string {
	select {
	case <-p.gone:
		return p.status
	default:
		return "still ending"
	}
}

func (p *process) awaitGone(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.gone:
		return true
	case <-timer.C:
		return false
	}
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
