package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/mcp"
	"github.com/treadle-dev/treadle/agent/openai"
	"github.com/treadle-dev/treadle/internal/redact"
	"github.com/treadle-dev/treadle/validation"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
	"github.com/treadle-dev/treadle/workspace/sqlite"
	"github.com/treadle-dev/treadle/workspace/tools"
)

// controller makes the host of a run out of the environment and .mcp.json. From
// then on nothing secret is printed.
func (c *command) controller(ctx context.Context, ws *workspace.Workspace) (*workflow.Controller, error) {
	llm, modelErr := openai.FromEnv(c.lookup)
	servers, secrets, serverErr := c.servers(ctx, ws)
	c.hide(secrets)
	if err := errors.Join(modelErr, serverErr); err != nil {
		return nil, &refusal{err}
	}
	custom, err := c.customTools()
	if err != nil {
		return nil, err
	}
	config := workflow.Config{Models: agent.Single(llm), CustomTools: custom, Database: database, Secrets: secrets, Logger: c.logger()}
	config.Model, _ = c.lookup(openai.EnvModel)
	config.Model = strings.TrimSpace(config.Model)
	for _, server := range servers {
		server.Logger = config.Logger
		toolset, err := mcp.New(server)
		if err != nil {
			return nil, &refusal{err}
		}
		config.Toolsets = append(config.Toolsets, toolset)
	}
	ctl, err := workflow.NewController(config)
	if err != nil {
		return nil, &refusal{err}
	}
	return ctl, nil
}

// customTools are the categories that steps may enable.
func (c *command) customTools() ([]agent.Toolset, error) {
	files, err := tools.New(tools.Config{Logger: c.logger()})
	if err != nil {
		return nil, err
	}
	return []agent.Toolset{files}, nil
}

// database is the workflow's own, read anew for each query.
func database(st workspace.Storage) validation.Database { return sqlite.NewReader(st, nil) }

// hide keeps secrets out of everything that is printed.
func (c *command) hide(secrets map[string]string) {
	c.redactor = redact.New(secrets)
	hidden := *c.cli
	hidden.stdout = &redactingWriter{c.redactor, c.stdout}
	hidden.stderr = &redactingWriter{c.redactor, c.stderr}
	c.cli = &hidden
}

// servers reads .mcp.json. The secrets are those of the host and the values that
// the file takes from the environment, by the names of their variables, but for settings
// that are no secret and could not be hidden, such as ${DEBUG} that is true. The error
// is a [mcp.ConfigErrors] or the storage's.
func (c *command) servers(ctx context.Context, ws *workspace.Workspace) ([]mcp.Server, map[string]string, error) {
	secrets := map[string]string{}
	if key, ok := c.lookup(openai.EnvAPIKey); ok {
		secrets[openai.EnvAPIKey] = strings.TrimSpace(key)
	}
	data, err := ws.Storage().ReadFile(ctx, workspace.MCPFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, secrets, nil
	}
	if err != nil {
		return nil, secrets, err
	}
	root, _ := ws.LocalPath(".")
	servers, err := mcp.ReadConfig(data, func(name string) (string, bool) {
		value, ok := c.lookup(name)
		if ok && !leadsTo(value, root) && !workflow.IsRecordWord(value) {
			secrets[name] = value
		}
		return value, ok
	})
	return servers, secrets, err
}

// leadsTo reports whether a value is the path of the workflow's folder or of one
// above it, such as that of ${HOME}. Every path that an agent is told begins with
// it, so hiding it would leave no path that works.
func leadsTo(value, root string) bool {
	if !filepath.IsAbs(value) || root == "" {
		return false
	}
	rel, err := filepath.Rel(filepath.Clean(value), root)
	return err == nil && filepath.IsLocal(rel)
}

// logger prints warnings, without the time: they stand between lines that have it.
func (c *command) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(c.stderr, &slog.HandlerOptions{
		Level: slog.LevelWarn,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
}
