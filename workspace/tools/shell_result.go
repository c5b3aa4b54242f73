package tools

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/internal/sandbox"
)

// output collects what a command prints, stdout and stderr as they come, so that an
// error stands where it happened. A model that wants them apart redirects one.
type output struct {
	limit int64

	mu      sync.Mutex
	text    []byte
	dropped int64
}

// Write implements [io.Writer]. It never fails: what is too much is counted, and the
// sandbox ends the command.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	keep := min(int64(len(p)), max(o.limit-int64(len(o.text)), 0))
	o.text = append(o.text, p[:keep]...)
	o.dropped += int64(len(p)) - keep
	return len(p), nil
}

// shown is what was printed, as text that every model endpoint takes.
func (o *output) shown() (text string, dropped int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	text = strings.ToValidUTF8(string(o.text), "\uFFFD")
	return strings.ReplaceAll(text, "\x00", "\uFFFD"), o.dropped
}

// shellResult tells how the command ended first, so that it is seen also where only
// the beginning of a long result is shown.
func shellResult(r *sandbox.Result, l *sandbox.Limits, o *output) *agent.ToolResult {
	var b strings.Builder
	b.WriteString("Exit code: " + strconv.Itoa(r.ExitCode))
	switch {
	case r.Limit != "":
		fmt.Fprintf(&b, "\nThe command was ended by a limit: %s.", limitText(r.Limit, l))
	case r.Signal != "":
		fmt.Fprintf(&b, "\nThe command was ended by a signal: %s.", r.Signal)
	}
	text, dropped := o.shown()
	if text == "" {
		b.WriteString("\n(no output)")
	} else {
		b.WriteString("\nOutput:\n" + text)
	}
	if dropped > 0 || r.Limit == sandbox.LimitOutput {
		fmt.Fprintf(&b, "\n[Output cut here after %s. Send it to a file and look at parts of it.]", byteCount(int64(len(text))))
	}
	return &agent.ToolResult{Content: agent.Text(b.String()), IsError: r.ExitCode != 0 || r.Limit != "" || r.Signal != ""}
}

// limitText names a limit with its figure, where this package knows it.
func limitText(name string, l *sandbox.Limits) string {
	figure := ""
	switch name {
	case sandbox.LimitDuration:
		return fmt.Sprintf("time (%s); a larger timeout_seconds may help", seconds(l.Duration))
	case sandbox.LimitOutput:
		figure = byteCount(l.Output)
	case sandbox.LimitMemory:
		figure = byteCountOr(l.Memory)
	case sandbox.LimitDisk:
		figure = byteCountOr(l.Disk)
	case sandbox.LimitProcesses:
		if l.Processes > 0 {
			figure = strconv.Itoa(l.Processes)
		}
	}
	if figure == "" {
		return name
	}
	return name + " (" + figure + ")"
}

func seconds(d time.Duration) string {
	if d == time.Second {
		return "1 second"
	}
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + " seconds"
}

func byteCountOr(n int64) string {
	if n <= 0 {
		return ""
	}
	return byteCount(n)
}

func byteCount(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return strconv.FormatInt(n>>20, 10) + " MiB"
	case n >= 1<<10 && n%(1<<10) == 0:
		return strconv.FormatInt(n>>10, 10) + " KiB"
	}
	return strconv.FormatInt(n, 10) + " bytes"
}
