package tools

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/workspace"
)

// pathRule is what models are told of a path argument.
const pathRule = "An absolute path as the prompt shows it, a path in the work folder, or one in the workspace such as db/report.json."

// PathError says why a path that a model gave names no file that a tool may look for.
type PathError struct {
	Path    string
	Problem string // what is wrong and what to do
}

func (e *PathError) Error() string { return fmt.Sprintf("path %q: %s", e.Path, e.Problem) }

// paths turns the paths that models write into names of the workspace.
//
// An absolute path is one below the folder of the workspace, as prompts show them. A
// relative one is in the work folder, except that it is the workspace's own where it
// lies in a name of the guard or in a folder that every workflow has, and the work
// folder has no such file. Where both exist the model must say which it means. What begins with "./" or "../" is always relative to
// the work folder. ".." is resolved as text, before the guard is asked.
type paths struct {
	scope *agent.Scope
	files *workspace.GuardedFiles
}

// resolve returns the name that a path stands for. It does not ask whether it may be
// touched.
func (p paths) resolve(ctx context.Context, text string) (string, error) {
	if err := checkPathText(text); err != nil {
		return "", err
	}
	if filepath.IsAbs(text) || strings.HasPrefix(text, "/") {
		return p.absolute(text)
	}
	slashed := filepath.ToSlash(text)
	inWork := path.Join(p.workDir(), slashed)
	if inWork == ".." || strings.HasPrefix(inWork, "../") {
		return "", &PathError{text, "it leads out of the workspace"}
	}
	if p.scope.WorkDir == "" || slashed == "." || strings.HasPrefix(slashed, "./") || strings.HasPrefix(slashed, "..") {
		return inWork, nil
	}
	inWorkspace := path.Clean(slashed)
	if !p.meansWorkspace(inWorkspace) {
		return inWork, nil
	}
	if _, err := p.files.Stat(ctx, inWork); err != nil {
		return inWorkspace, nil //nolint:nilerr // what is not in the work folder is the workspace's
	}
	if _, err := p.files.Stat(ctx, inWorkspace); err == nil && inWorkspace != inWork {
		return "", &PathError{text, fmt.Sprintf("it could be %s or %s; give one of these", p.show(inWork), p.show(inWorkspace))}
	}
	return inWork, nil
}

// meansWorkspace reports whether a relative path looks like one of the workspace.
func (p paths) meansWorkspace(name string) bool {
	if covering, access := p.files.Guard().Covering(name); access != workspace.NoAccess && covering != "." {
		return true
	}
	top, _, nested := strings.Cut(name, "/")
	return nested && slices.Contains([]string{
		workspace.RunsDir, workspace.LearningsDir, workspace.KnowledgebaseDir, workspace.DBDir, workspace.CostsDir, workspace.EvaluationDir,
		path.Dir(workspace.PlanFile), path.Dir(workspace.VariablesFile), path.Dir(workspace.SoulFile),
	}, top)
}

func (p paths) workDir() string {
	if p.scope.WorkDir == "" {
		return "."
	}
	return p.scope.WorkDir
}

func (p paths) absolute(text string) (string, error) {
	root, ok := p.scope.Workspace.LocalPath(".")
	if !ok {
		return "", &PathError{text, "the files of this workspace have no absolute paths; give a relative one"}
	}
	below, err := filepath.Rel(root, filepath.Clean(text))
	if err != nil || below == ".." || strings.HasPrefix(below, ".."+string(filepath.Separator)) {
		return "", &PathError{text, fmt.Sprintf("it is outside of the workspace %s; what a command leaves elsewhere, such as in /tmp, is gone when it ends", root)}
	}
	return filepath.ToSlash(below), nil
}

// show is how prompts and results name a file: by its absolute path where it has one.
func (p paths) show(name string) string {
	if local, ok := p.scope.Workspace.LocalPath(name); ok {
		return local
	}
	return name
}

// maxPath is the longest path in bytes, as Linux has it.
const maxPath = 4096

func checkPathText(text string) error {
	switch {
	case text == "":
		return &PathError{text, "it is empty; name a file"}
	case len(text) > maxPath:
		return &PathError{text[:64] + "…", fmt.Sprintf("it has %d bytes, a path has at most %d", len(text), maxPath)}
	case !utf8.ValidString(text):
		return &PathError{text, "it is not valid UTF-8"}
	case strings.ContainsFunc(text, unicode.IsControl):
		return &PathError{text, "it contains a control character, such as a newline or a zero byte"}
	}
	return nil
}
