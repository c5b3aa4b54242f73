package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/treadle-dev/treadle/examples/quickstart/internal/messy"
	"github.com/treadle-dev/treadle/workspace"
)

// The workspace of the quickstart: the plan, its configuration, and a folder of
// invoices that the generator made from templateSeed. Its .mcp.json is for the treadle
// command, which needs a server of its own: the public filesystem server has tools
// of the same names.
//
//go:embed all:workspace
var template embed.FS

// templateSeed is the seed of the invoices in the template.
const templateSeed = 2

// place puts the workspace into a folder. A folder that already is a workflow
// stays as it is, so that a second run becomes iteration-2; any other folder with
// something in it is refused. Another seed than the template's brings other
// invoices.
func place(dir string, seed uint64) error {
	switch _, err := os.Stat(filepath.Join(dir, workspace.SettingsFile)); {
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is neither empty nor a workflow; choose another folder with -dir", dir)
	}
	files, err := fs.Sub(template, "workspace")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.CopyFS(dir, files); err != nil {
		return err
	}
	if seed == templateSeed {
		return nil
	}
	return replaceInputs(filepath.Join(dir, "inputs"), messy.Generate(seed))
}

func replaceInputs(dir string, folder *messy.Folder) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	for name, text := range folder.Files {
		target := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(path.Dir(name))), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
