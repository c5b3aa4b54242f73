package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/treadle-dev/treadle/internal/redact"
	"github.com/treadle-dev/treadle/workspace"
)

// cli is the process as the commands see it.
type cli struct {
	stdout, stderr io.Writer
	lookup         func(string) (string, bool) // of the environment
}

// verb is one of the commands.
type verb struct {
	name     string
	synopsis string // its flags
	about    string
	run      func(*command, []string) (exit int, err error)
}

func verbs() []verb {
	return []verb{
		{"run", "[--group G] [--run NAME] [--var NAME=VALUE]… [--json]", "start a new run, or take up an unfinished one by its name", runWorkflow},
		{"resume", "[--run NAME] [--json]", "take up the latest unfinished run, or the named one", resumeRun},
		{"validate", "[--offline] [--json]", "check every file of the workflow, and that its servers start", validateWorkflow},
		{"runs", "[--json]", "list the runs", listRuns},
		{"status", "[--run NAME] [--json]", "tell what is running, waiting and done, and what resumes it", showStatus},
		{"costs", "[--run NAME] [--by step|model|run|day|group] [--json]", "add up tokens and money", showCosts},
		{"logs", "--run NAME [--step S] [--follow] [--json]", "show what the attempts of a run did", showLogs},
		{"schema", "[NAME] [--out DIR] [--json]", "show the JSON Schemas of all file formats, and the manifests of the step types", showSchema},
	}
}

// command is one call of a verb.
type command struct {
	*cli
	verb     *verb
	flags    *flag.FlagSet
	dir      string
	redactor *redact.Redactor // nil when nothing secret is known
}

// main runs the command line and returns the exit status.
func (c *cli) main(args []string) int {
	dir := "."
	global := flag.NewFlagSet("treadle", flag.ContinueOnError)
	global.SetOutput(io.Discard)
	dirFlag(global, &dir)
	switch err := global.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		c.usage(c.stdout)
		return exitCompleted
	case err != nil:
		return c.report(&command{cli: c}, &usageError{err.Error()})
	}
	args = global.Args()
	if len(args) == 0 {
		c.usage(c.stderr)
		return exitUsage
	}
	name, args := args[0], args[1:]
	if name == "help" {
		return c.help(args)
	}
	v := findVerb(name)
	if v == nil {
		return c.report(&command{cli: c}, unknownVerb(name))
	}
	cmd := newCommand(c, v, dir)
	exit, err := v.run(cmd, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		cmd.usage(c.stdout)
		return exitCompleted
	case err != nil:
		return c.report(cmd, err)
	}
	return exit
}

// report prints why a command did not do what it was asked for.
func (c *cli) report(cmd *command, err error) int {
	text := cmd.redactor.Text(err.Error())
	fmt.Fprintf(c.stderr, "treadle: %s\n", cleanLines(text))
	var usage *usageError
	if errors.As(err, &usage) && cmd.verb != nil {
		fmt.Fprintf(c.stderr, "see treadle %s -h\n", cmd.verb.name)
	}
	return exitOf(err)
}

func newCommand(c *cli, v *verb, dir string) *command {
	cmd := &command{cli: c, verb: v, dir: dir, flags: flag.NewFlagSet(v.name, flag.ContinueOnError)}
	cmd.flags.SetOutput(io.Discard)
	dirFlag(cmd.flags, &cmd.dir)
	return cmd
}

func dirFlag(flags *flag.FlagSet, dir *string) {
	flags.StringVar(dir, "C", *dir, "the `folder` of the workflow")
}

// parse reads the verb's flags. No verb takes anything else.
func (c *command) parse(args []string) error {
	switch err := c.flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return err
	case err != nil:
		return &usageError{err.Error()}
	case c.flags.NArg() > 0:
		return &usageError{fmt.Sprintf("%s takes no argument %q; the folder of the workflow is given by -C", c.verb.name, c.flags.Arg(0))}
	}
	return nil
}

func (c *command) jsonFlag() *bool {
	return c.flags.Bool("json", false, "print JSON lines")
}

func (c *command) runFlag(use string) *string {
	return c.flags.String("run", "", use+", such as iteration-2 or iteration-2/production: its `name`")
}

// open opens the workflow's folder.
func (c *command) open() (*workspace.Workspace, error) {
	ws, err := workspace.OpenDir(c.dir)
	if err != nil {
		return nil, &refusal{fmt.Errorf("the workflow's folder: %w", err)}
	}
	return ws, nil
}

func findVerb(name string) *verb {
	for _, v := range verbs() {
		if v.name == name {
			return &v
		}
	}
	return nil
}

func unknownVerb(name string) error {
	var names []string
	for _, v := range verbs() {
		names = append(names, v.name)
	}
	return &usageError{fmt.Sprintf("there is no command %q; there are %s and help", name, strings.Join(names, ", "))}
}

func (c *cli) help(args []string) int {
	switch {
	case len(args) == 0:
		c.usage(c.stdout)
		return exitCompleted
	case findVerb(args[0]) == nil:
		return c.report(&command{cli: c}, unknownVerb(args[0]))
	}
	return c.main([]string{args[0], "-h"})
}

func (c *cli) usage(w io.Writer) {
	fmt.Fprint(w, "treadle runs the workflow in a folder, step by step, so that it can be interrupted at any time.\n\n")
	for _, v := range verbs() {
		fmt.Fprintf(w, "  treadle %-9s %s\n", v.name, v.about)
	}
	fmt.Fprint(w, `
-C DIR, before or after the command, names the folder; it is the current one otherwise.
"treadle COMMAND -h" tells the flags of a command.

Models come from the environment: OPENAI_API_KEY, or OPENAI_BASE_URL for any compatible endpoint, and
TREADLE_MODEL. MCP servers come from .mcp.json in the folder.

Exit status: 0 completed, 1 failed, 2 wrong usage or an invalid workflow, 3 waiting for a person,
4 stopped by a limit, 5 held by another process, 130 canceled.
`)
}

func (c *command) usage(w io.Writer) {
	fmt.Fprintf(w, "treadle %s [-C DIR] %s\n\n%s.\n\n", c.verb.name, c.verb.synopsis, strings.ToUpper(c.verb.about[:1])+c.verb.about[1:])
	c.flags.SetOutput(w)
	c.flags.PrintDefaults()
}
