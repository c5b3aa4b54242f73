package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/workspace"
)

// making calls what makes files and saves them. Where they go is checked first: what
// cannot be saved must not be paid for.
func (s *session) making(ctx context.Context, tool string, args *mediaArguments, r Request, do func() (*MediaAnswer, error)) (*agent.ToolResult, error) {
	target, err := s.mediaTarget(ctx, tool, args.OutputPath, r.Key)
	if err != nil {
		return nil, err
	}
	answer, err := do()
	switch {
	case err != nil:
		return nil, err
	case answer == nil || len(answer.Files) == 0:
		return nil, errors.New("the answer has no file")
	}
	var b strings.Builder
	number := 0
	for i := range answer.Files {
		file := &answer.Files[i]
		name := ""
		for taken := true; taken; number++ {
			name = target.name(number, file.MediaType)
			_, err := s.files.Stat(context.WithoutCancel(ctx), name)
			taken = err == nil
		}
		// What was paid for is saved although the call has been canceled.
		if err := s.files.WriteFile(context.WithoutCancel(ctx), name, file.Data, workspace.Lazy); err != nil {
			return nil, fmt.Errorf("file %d of %d was made and could not be saved: %w", i+1, len(answer.Files), err)
		}
		fmt.Fprintf(&b, "Saved %s (%s, %d bytes)\n", s.paths.show(name), file.MediaType, len(file.Data))
	}
	b.WriteString(answer.Note)
	return agent.TextResult(strings.TrimSpace(b.String())), nil
}

// mediaTarget is where new files go: base and extension, the latter empty when it is
// that of the file's type.
type mediaTarget struct{ base, ext string }

func (t mediaTarget) name(index int, mediaType string) string {
	ext := t.ext
	if ext == "" {
		ext = extension(mediaType)
	}
	if index == 0 {
		return t.base + ext
	}
	return fmt.Sprintf("%s-%d%s", t.base, index+1, ext)
}

// mediaTarget finds the place for new files. A name of our own is made from the call's
// key, so it is the same when the call is repeated, and differs from that of others.
func (s *session) mediaTarget(ctx context.Context, tool, asked, key string) (mediaTarget, error) {
	if asked == "" {
		sum := sha256.Sum256([]byte(key))
		base := path.Join(s.paths.workDir(), tool+"-"+hex.EncodeToString(sum[:6]))
		return mediaTarget{base: base}, s.files.Guard().CheckWrite(base)
	}
	name, err := s.paths.resolve(ctx, asked)
	if err != nil {
		return mediaTarget{}, err
	}
	if err := s.files.Guard().CheckWrite(name); err != nil {
		return mediaTarget{}, err
	}
	switch _, err := s.files.Stat(ctx, name); {
	case err == nil:
		return mediaTarget{}, fmt.Errorf("%s exists already; choose another output_path, or delete it first", s.paths.show(name))
	case !errors.Is(err, fs.ErrNotExist):
		return mediaTarget{}, err
	}
	ext := path.Ext(name)
	return mediaTarget{base: strings.TrimSuffix(name, ext), ext: ext}, nil
}

// mediaExtensions are the usual names of the types that such services give. The
// system's own table differs from host to host.
var mediaExtensions = []struct{ mediaType, ext string }{
	{"image/png", ".png"},
	{"image/jpeg", ".jpg"},
	{"image/gif", ".gif"},
	{"image/webp", ".webp"},
	{"image/svg+xml", ".svg"},
	{"video/mp4", ".mp4"},
	{"video/webm", ".webm"},
	{"video/quicktime", ".mov"},
	{"audio/mpeg", ".mp3"},
	{"audio/mp3", ".mp3"},
	{"audio/wav", ".wav"},
	{"audio/x-wav", ".wav"},
	{"audio/ogg", ".ogg"},
	{"audio/opus", ".opus"},
	{"audio/flac", ".flac"},
	{"audio/aac", ".aac"},
	{"audio/mp4", ".m4a"},
	{"audio/webm", ".weba"},
}

func extension(mediaType string) string {
	bare, _, _ := strings.Cut(strings.ToLower(mediaType), ";")
	for _, known := range mediaExtensions {
		if known.mediaType == strings.TrimSpace(bare) {
			return known.ext
		}
	}
	return ".bin"
}

func mediaType(ext string) string {
	for _, known := range mediaExtensions {
		if known.ext == strings.ToLower(ext) {
			return known.mediaType
		}
	}
	return "application/octet-stream"
}
