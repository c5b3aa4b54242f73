package tools

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/internal/sandbox"
)

// ShellTool is the name of the tool that runs a command.
const ShellTool = "execute_shell_command"

// maxCommand is the longest command in bytes: Linux takes no longer argument
// (MAX_ARG_STRLEN, with the zero byte at its end).
const maxCommand = 128<<10 - 1

type shellArguments struct {
	Command          string  `json:"command"`
	WorkingDirectory string  `json:"working_directory"`
	TimeoutSeconds   float64 `json:"timeout_seconds"`
	Stdin            string  `json:"stdin"`
}

func (s *session) shellTool() agent.Tool {
	l := &s.set.config.Limits
	one := 1.0
	return &tool[shellArguments]{session: s, do: s.shell, spec: agent.ToolSpec{
		Name: ShellTool,
		Description: fmt.Sprintf("Runs a command with %s in a sandbox that sees only the files of this step and no network. "+
			"The result has the exit code, then stdout and stderr in the order in which they were printed. "+
			"Each call starts anew: no variable, background process or file in /tmp is left when it ends. "+
			"Send long output to a file and look at parts of it; a command that prints more than %s is ended.",
			s.set.config.Shell, byteCount(l.Output)),
		InputSchema: schema([]string{"command"}, map[string]property{
			"command":           {Type: "string", Description: "The command line. It may have several lines."},
			"working_directory": {Type: "string", Description: "Where it starts; by default the work folder. " + pathRule},
			"timeout_seconds": {Type: "number", Minimum: &one, Description: fmt.Sprintf("After how long it is ended; by default %s, at most %s.",
				seconds(l.Timeout), seconds(l.MaxTimeout))},
			"stdin": {Type: "string", Description: "What it reads from its standard input; by default nothing."},
		}),
		Effect: agent.Unsafe,
	}}
}

// shell runs a command. All that the model can put right is a failed result.
func (s *session) shell(ctx context.Context, args shellArguments, _ *agent.ToolCall) (*agent.ToolResult, error) {
	if problem := checkCommand(args.Command); problem != "" {
		return agent.ErrorResult(problem), nil
	}
	bound, err := s.bind(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := s.startFolder(ctx, args.WorkingDirectory)
	if err != nil {
		return nil, err
	}
	output := &output{limit: s.set.config.Limits.Output}
	command := &sandbox.Command{
		Argv: []string{s.set.config.Shell, "-c", args.Command}, Dir: dir, Env: s.environment(),
		Stdin: stdin(args.Stdin), Stdout: output, Stderr: output,
		Paths: bound, Limits: s.set.config.Limits.sandboxed(s.timeout(args.TimeoutSeconds)),
		Without: features(s.set.config.Without),
	}
	result, err := s.set.run(ctx, command)
	if err != nil {
		return nil, err
	}
	s.set.logMissing(ctx, result.Missing)
	return shellResult(result, &command.Limits, output), nil
}

func checkCommand(command string) string {
	switch {
	case strings.TrimSpace(command) == "":
		return "The command is empty; nothing was run."
	case strings.ContainsRune(command, 0):
		return "The command contains a zero byte; nothing was run."
	case len(command) > maxCommand:
		return fmt.Sprintf("The command has %d bytes, at most %d are possible; nothing was run. Write it to a file with %s and run that, or pass data through stdin.",
			len(command), maxCommand, PatchTool)
	}
	return ""
}

func stdin(text string) io.Reader {
	if text == "" {
		return nil
	}
	return strings.NewReader(text)
}

// timeout is what was asked for, within what the host allows.
func (s *session) timeout(asked float64) time.Duration {
	l := &s.set.config.Limits
	switch {
	case !(asked > 0): // also what is no number
		return l.Timeout
	case asked >= l.MaxTimeout.Seconds():
		return l.MaxTimeout
	}
	return max(time.Duration(asked*float64(time.Second)), time.Millisecond)
}

// startFolder is the absolute path of the folder that a command starts in.
func (s *session) startFolder(ctx context.Context, asked string) (string, error) {
	name := s.paths.workDir()
	if asked != "" {
		var err error
		if name, err = s.paths.resolve(ctx, asked); err != nil {
			return "", err
		}
	}
	info, err := s.files.Stat(ctx, name)
	if err != nil {
		return "", fmt.Errorf("working_directory: %w", err)
	}
	if !info.IsDir() {
		return "", &PathError{asked, "a command starts in a folder, and this is a file"}
	}
	local, ok := s.scope.Workspace.LocalPath(name)
	if !ok {
		return "", ErrNoLocalPaths
	}
	return local, nil
}

func features(names []string) []sandbox.Feature {
	all := make([]sandbox.Feature, len(names))
	for i, name := range names {
		all[i] = sandbox.Feature(name)
	}
	return all
}

// logMissing tells once what the sandbox goes without.
func (t *Toolset) logMissing(ctx context.Context, missing []sandbox.Feature) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, feature := range missing {
		if !t.logged[feature] {
			t.logged[feature] = true
			t.config.Logger.WarnContext(ctx, "shell commands run without a part of the sandbox that this kernel lacks", "missing", string(feature))
		}
	}
}
