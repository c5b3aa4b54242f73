package sandbox

import (
	"fmt"
	"path"
	"strings"
	"time"
	"unicode/utf8"
)

// The defaults of Limits.
const (
	defaultDuration  = 5 * time.Minute
	defaultMemory    = 2 << 30
	defaultProcesses = 256
	defaultFileSize  = 1 << 30
	defaultDisk      = 2 << 30
	defaultOutput    = 16 << 20
	defaultOpenFiles = 1024
)

// withDefaults returns the limits with each zero replaced.
func (l Limits) withDefaults() Limits {
	l.Duration = orDefault(l.Duration, defaultDuration)
	l.Memory = orDefault(l.Memory, defaultMemory)
	l.Processes = orDefault(l.Processes, defaultProcesses)
	l.FileSize = orDefault(l.FileSize, defaultFileSize)
	l.Disk = orDefault(l.Disk, defaultDisk)
	l.Output = orDefault(l.Output, defaultOutput)
	l.OpenFiles = orDefault(l.OpenFiles, defaultOpenFiles)
	return l
}

func orDefault[N int | int64 | time.Duration](value, otherwise N) N {
	if value == 0 {
		return otherwise
	}
	return value
}

// check reports what is wrong with a command before anything is looked at outside.
func (c *Command) check() error {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return &CommandError{Field: "Argv", Reason: "is empty; name the command to run"}
	}
	if err := checkText("Argv", c.Argv); err != nil {
		return err
	}
	if err := checkText("Env", c.Env); err != nil {
		return err
	}
	if err := c.checkDir(); err != nil {
		return err
	}
	return c.Limits.check()
}

func (c *Command) checkDir() error {
	switch {
	case c.Dir == "" || c.Dir == "/tmp":
		return nil
	case !path.IsAbs(c.Dir) || path.Clean(c.Dir) != c.Dir || strings.ContainsRune(c.Dir, 0) || !utf8.ValidString(c.Dir):
		return &CommandError{Field: "Dir", Reason: fmt.Sprintf("%q is no absolute, clean path", c.Dir)}
	}
	for _, p := range c.Paths {
		if c.Dir == p.Name || strings.HasPrefix(c.Dir, p.Name+"/") {
			return nil
		}
	}
	return &CommandError{Field: "Dir", Reason: fmt.Sprintf("%s is in none of Paths, so that it does not exist inside", c.Dir)}
}

func checkText(field string, texts []string) error {
	for i, text := range texts {
		if strings.ContainsRune(text, 0) {
			return &CommandError{Field: fmt.Sprintf("%s[%d]", field, i), Reason: "contains a zero byte, which no system call takes"}
		}
		if !utf8.ValidString(text) {
			return &CommandError{Field: fmt.Sprintf("%s[%d]", field, i), Reason: "is not UTF-8; encode it for the command, or write it to a file"}
		}
	}
	return nil
}

func (l Limits) check() error {
	for _, limit := range []struct {
		name     string
		negative bool
	}{
		{"Duration", l.Duration < 0},
		{"Memory", l.Memory < 0},
		{"Processes", l.Processes < 0},
		{"FileSize", l.FileSize < 0},
		{"Disk", l.Disk < 0},
		{"Output", l.Output < 0},
		{"OpenFiles", l.OpenFiles < 0},
	} {
		if limit.negative {
			return &CommandError{Field: "Limits." + limit.name, Reason: "is negative; zero is the default, and there is no endless one"}
		}
	}
	return nil
}
