package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/treadle-dev/treadle/schemas"
	"github.com/treadle-dev/treadle/workspace"
)

// showSchema lists the schemas, prints one, or writes all into a folder. It needs no
// workflow.
func showSchema(c *command, args []string) (int, error) {
	out := c.flags.String("out", "", "write all of them, and the manifests of the step types, into a `folder`")
	asJSON := c.jsonFlag()
	name, err := c.parseWithName(args)
	if err != nil {
		return 0, err
	}
	switch {
	case name != "" && *out != "":
		return 0, &usageError{"--out writes every schema: leave out " + name + ", or --out"}
	case *out != "":
		return exitCompleted, c.writeSchemas(*out, *asJSON)
	case name == "steps":
		text, err := schemas.Manifests()
		if err != nil {
			return 0, err
		}
		_, err = c.stdout.Write(text)
		return exitCompleted, err
	}
	all, err := schemas.All()
	if err != nil {
		return 0, err
	}
	if name != "" {
		return exitCompleted, c.printSchema(all, name)
	}
	return exitCompleted, c.listSchemas(all, *asJSON)
}

// parseWithName reads the verb's flags and one name, which may stand among them.
func (c *command) parseWithName(args []string) (name string, err error) {
	switch err := c.flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return "", err
	case err != nil:
		return "", &usageError{err.Error()}
	case c.flags.NArg() == 0:
		return "", nil
	}
	return c.flags.Arg(0), c.parse(c.flags.Args()[1:])
}

func (c *command) printSchema(all []*schemas.Document, name string) error {
	names := make([]string, 0, len(all)+1)
	for _, d := range all {
		if d.Name == name {
			_, err := c.stdout.Write(d.JSON())
			return err
		}
		names = append(names, d.Name)
	}
	return &usageError{fmt.Sprintf("there is no schema %q; there are %s", name, strings.Join(append(names, "steps"), ", "))}
}

// schemaEntry is a line of the list.
type schemaEntry struct {
	Name  string `json:"name"`
	ID    string `json:"id,omitempty"`
	Title string `json:"title"`
	About string `json:"about"`
}

func (c *command) listSchemas(all []*schemas.Document, asJSON bool) error {
	var entries []schemaEntry
	for _, d := range all {
		entries = append(entries, schemaEntry{d.Name, d.ID(), d.Title, d.About})
	}
	entries = append(entries, schemaEntry{Name: "steps", Title: "Step manifests", About: "What each step type says about itself, as data; not a schema."})
	for _, entry := range entries {
		if !asJSON {
			fmt.Fprintf(c.stdout, "%-15s %s\n", entry.Name, entry.About)
			continue
		}
		text, err := json.Marshal(entry)
		if err != nil {
			return err
		}
		if _, err := c.stdout.Write(append(text, '\n')); err != nil {
			return err
		}
	}
	return nil
}

func (c *command) writeSchemas(folder string, asJSON bool) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return &refusal{fmt.Errorf("the folder for the schemas: %w", err)}
	}
	st, err := workspace.NewDir(folder)
	if err != nil {
		return &refusal{fmt.Errorf("the folder for the schemas: %w", err)}
	}
	defer st.Close()
	names, err := schemas.Write(context.Background(), st)
	if err != nil {
		return err
	}
	for _, name := range names {
		if asJSON {
			if err := c.printJSON(map[string]string{"file": name}); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintln(c.stdout, name)
	}
	return nil
}
