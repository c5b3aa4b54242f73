package tools

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/workspace"
)

// PatchTool is the name of the tool that changes a file.
const PatchTool = "diff_patch_workspace_file"

// maxPatch is the largest patch in bytes.
const maxPatch = 4 << 20

// shownHash is how many digits of a file's hash are shown; expected_hash may have more.
const shownHash = 16

type patchArguments struct {
	FilePath     string `json:"file_path"`
	Patch        string `json:"patch"`
	ExpectedHash string `json:"expected_hash"`
}

// patchTool is idempotent: a patch that is in place is not applied once more, and one
// of which that cannot be told is refused.
func (s *session) patchTool() agent.Tool {
	return &tool[patchArguments]{session: s, do: s.patch, spec: agent.ToolSpec{
		Name: PatchTool,
		Description: "Changes one text file by a unified diff. Hunks are found by their content: every kept line (with a space before it) and removed line must be as in the file, " +
			"line numbers may be wrong. Show at least one or two kept lines before and after each change. All hunks are applied or none. " +
			"\"--- /dev/null\" makes a new file, \"+++ /dev/null\" deletes one.",
		InputSchema: schema([]string{"file_path", "patch"}, map[string]property{
			"file_path": {Type: "string", Description: "The file to change. " + pathRule},
			"patch":     {Type: "string", Description: "The unified diff, for this file alone."},
			"expected_hash": {Type: "string", Description: "The hash of the file as an earlier result of this tool told it, or its SHA-256 in hexadecimal. " +
				"The patch is then applied to exactly that content or not at all."},
		}),
		Effect: agent.Idempotent,
	}}
}

// patch reads, applies and writes. What the model can put right is a failed result.
func (s *session) patch(ctx context.Context, args patchArguments, _ *agent.ToolCall) (*agent.ToolResult, error) {
	name, err := s.paths.resolve(ctx, args.FilePath)
	if err != nil {
		return nil, err
	}
	if err := s.files.Guard().CheckWrite(name); err != nil {
		return nil, err
	}
	if len(args.Patch) > maxPatch {
		return nil, fmt.Errorf("the patch has %d bytes, at most %s are possible; split it", len(args.Patch), byteCount(maxPatch))
	}
	parsed, err := parsePatch(args.Patch)
	if err != nil {
		return nil, err
	}
	wanted, err := parseHash(args.ExpectedHash)
	if err != nil {
		return nil, err
	}
	defer s.set.lockFile(s.scope.Workspace, name)()
	p := &patching{session: s, name: name, shown: s.paths.show(name), patch: parsed, wanted: wanted}
	if err := p.read(ctx); err != nil {
		return nil, err
	}
	text, err := p.apply(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s was not changed: %w", p.shown, err)
	}
	return agent.TextResult(text), nil
}

func parseHash(text string) (string, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	text = strings.TrimPrefix(text, "sha256:")
	if text == "" {
		return "", nil
	}
	if strings.Trim(text, "0123456789abcdef") != "" || len(text) < shownHash || len(text) > sha256.Size*2 {
		return "", fmt.Errorf("expected_hash %q is no hash: give %d to %d hexadecimal digits of the SHA-256", clip(text, 80), shownHash, sha256.Size*2)
	}
	return text, nil
}

func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

// patching is one call at work.
type patching struct {
	session *session
	name    string
	shown   string // the name as results show it
	patch   *filePatch
	wanted  string // of the hash; empty is any

	data   []byte
	exists bool
	fresh  bool // the content is what the model expects
}

func (p *patching) read(ctx context.Context) error {
	data, err := p.session.files.ReadFile(ctx, p.name, p.session.set.config.MaxFileBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, workspace.ErrTooLarge):
		return fmt.Errorf("%w; change it with the shell", err)
	case err != nil:
		return err
	case bytes.IndexByte(data, 0) >= 0:
		return fmt.Errorf("%s is a binary file (it has a zero byte); patches are for text", p.shown)
	}
	p.data, p.exists = data, true
	p.fresh = p.wanted != "" && strings.HasPrefix(hashOf(data), p.wanted)
	return nil
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func (p *patching) apply(ctx context.Context) (string, error) {
	switch {
	case p.patch.deletes:
		return p.remove(ctx)
	case p.patch.creates, !p.exists && p.addsOnly():
		return p.create(ctx)
	case !p.exists:
		return "", fmt.Errorf("it does not exist. To make it, give a patch from /dev/null: \"--- /dev/null\", \"+++ b/file\", \"@@ -0,0 +1,2 @@\" and its lines with \"+\": %w", fs.ErrNotExist)
	}
	return p.change(ctx)
}

func (p *patching) addsOnly() bool {
	for i := range p.patch.hunks {
		for _, line := range p.patch.hunks[i].lines {
			if line.op != '+' && !line.blank {
				return false
			}
		}
	}
	return true
}

func (p *patching) change(ctx context.Context) (string, error) {
	result, err := applyHunks(string(p.data), p.patch, p.fresh)
	if p.wanted != "" && !p.fresh && (err != nil || result.changed) {
		return "", p.stale()
	}
	if err != nil {
		return "", err
	}
	if !result.changed {
		return fmt.Sprintf("%s: the patch is in place already%s; nothing was changed. Hash %s.",
			p.shown, result.where(true), hashOf(p.data)[:shownHash]), nil
	}
	if err := p.write(ctx, result.text); err != nil {
		return "", err
	}
	return fmt.Sprintf("Patched %s: %s%s.%s", p.shown, lineChange(result.added, result.removed), result.where(false), summary(result.text)), nil
}

func (p *patching) stale() error {
	return fmt.Errorf("its hash is %s, not %s: it has changed since. Read it again and make a patch for what it is now", hashOf(p.data)[:shownHash], clip(p.wanted, shownHash))
}

func (p *patching) write(ctx context.Context, text string) error {
	if limit := p.session.set.config.MaxFileBytes; int64(len(text)) > limit {
		return fmt.Errorf("it would have %d bytes, at most %s are possible", len(text), byteCount(limit))
	}
	if strings.ContainsRune(text, 0) {
		return errors.New("the patch adds a zero byte; patches are for text")
	}
	return p.session.files.WriteFile(ctx, p.name, []byte(text), workspace.Lazy)
}

// create makes the file. One that has the content already is left as it is.
func (p *patching) create(ctx context.Context) (string, error) {
	var lines []string
	bare := false
	for i := range p.patch.hunks {
		h := &p.patch.hunks[i]
		own := h.lines[:len(h.lines)-h.spare()]
		for j := range own {
			if own[j].blank { // an empty line whose "+" was forgotten
				own[j].op = '+'
			}
			if own[j].op != '+' {
				return "", &PatchError{own[j].at, "a new file has no lines to keep or remove; begin each of its lines with \"+\""}
			}
		}
		lines = append(lines, side(own, '+')...)
		bare = h.newBare
	}
	file := fileText{lines: lines, bare: bare}
	text := file.join()
	switch {
	case p.exists && string(p.data) == text:
		return fmt.Sprintf("%s exists already with this content; nothing was changed. Hash %s.", p.shown, hashOf(p.data)[:shownHash]), nil
	case p.exists && len(p.data) > 0:
		return "", fmt.Errorf("it exists already with %d bytes of other content, so it cannot be made from /dev/null. Give a patch of what is there: %w", len(p.data), fs.ErrExist)
	case p.wanted != "" && !p.fresh:
		return "", p.stale()
	}
	if err := p.write(ctx, text); err != nil {
		return "", err
	}
	return fmt.Sprintf("Made %s: %s.%s", p.shown, lineChange(len(lines), 0), summary(text)), nil
}

// remove deletes the file, once the patch shows that the model knows what is in it.
func (p *patching) remove(ctx context.Context) (string, error) {
	if !p.exists {
		return fmt.Sprintf("%s does not exist; there is nothing to delete.", p.shown), nil
	}
	if p.wanted != "" && !p.fresh {
		return "", p.stale()
	}
	file := splitText(string(p.data))
	var removed []string
	for i := range p.patch.hunks {
		h := &p.patch.hunks[i]
		removed = append(removed, side(h.lines[:len(h.lines)-h.spare()], '-')...)
	}
	if !p.fresh && !sameLines(removed, file.lines) {
		return "", fmt.Errorf("a patch that deletes a file must remove each of its %d lines, and this one has others; use rm in the shell, or pass expected_hash", len(file.lines))
	}
	if err := p.session.files.Remove(ctx, p.name); err != nil {
		return "", err
	}
	return fmt.Sprintf("Deleted %s (%d lines).", p.shown, len(file.lines)), nil
}

func sameLines(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if trailingSpace.form(a[i]) != trailingSpace.form(b[i]) {
			return false
		}
	}
	return true
}

func lineChange(added, removed int) string {
	return fmt.Sprintf("%d %s added, %d removed", added, plural(added, "line"), removed)
}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

func summary(text string) string {
	file := splitText(text)
	return fmt.Sprintf(" It now has %d %s, %d bytes, hash %s.", len(file.lines), plural(len(file.lines), "line"), len(text), hashOf([]byte(text))[:shownHash])
}

// where tells at which lines of the old file the hunks were found, and which were in
// place.
func (a *applied) where(allDone bool) string {
	var at, done []string
	for _, f := range a.found {
		if f.done != nil {
			done = append(done, placesText(f.done))
			continue
		}
		text := fmt.Sprint(f.at + 1)
		if f.hunk.hasStart && f.hunk.oldStart != f.at+1 && len(side(f.lines, '-')) > 0 {
			text += fmt.Sprintf(" (not %d)", f.hunk.oldStart)
		}
		at = append(at, text)
	}
	if allDone {
		return ", at line " + strings.Join(done, ", ")
	}
	text := ", at line " + strings.Join(at, ", ")
	if len(done) > 0 {
		text += fmt.Sprintf("; %d %s in place already, at line %s", len(done), plural(len(done), "hunk"), strings.Join(done, ", "))
	}
	return text
}
