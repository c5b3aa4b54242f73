package tools

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fakeMedia answers every request with what it was asked; seen gets the requests.
func fakeMedia(seen func(any)) Media {
	text := func(request any, text string) *TextAnswer {
		seen(request)
		return &TextAnswer{Text: text, Sources: []MediaSource{{Title: "Page", URL: "https://example.org"}}}
	}
	file := func(request any, mediaType string) *MediaAnswer {
		seen(request)
		return &MediaAnswer{Files: []MediaFile{{MediaType: mediaType, Data: []byte("one")}, {MediaType: mediaType, Data: []byte("two")}}, Note: "Two takes."}
	}
	return Media{
		Text:   func(_ context.Context, r *TextRequest) (*TextAnswer, error) { return text(r, r.Prompt), nil },
		Search: func(_ context.Context, r *SearchRequest) (*TextAnswer, error) { return text(r, r.Query), nil },
		Transcribe: func(_ context.Context, r *TranscribeRequest) (*TextAnswer, error) {
			return text(r, string(r.Audio.Data)), nil
		},
		Image:     func(_ context.Context, r *ImageRequest) (*MediaAnswer, error) { return file(r, "image/png"), nil },
		EditImage: func(_ context.Context, r *EditImageRequest) (*MediaAnswer, error) { return file(r, "image/webp"), nil },
		Video:     func(_ context.Context, r *VideoRequest) (*MediaAnswer, error) { return file(r, "video/mp4"), nil },
		Speech: func(_ context.Context, r *SpeechRequest) (*MediaAnswer, error) {
			return file(r, "audio/mpeg; rate=1"), nil
		},
		Music: func(_ context.Context, r *MusicRequest) (*MediaAnswer, error) { return file(r, "audio/strange"), nil },
	}
}

func TestEachMediaToolPassesOnWhatItWasAsked(t *testing.T) {
	t.Parallel()
	var asked any
	s := setup(t, Config{Media: fakeMedia(func(request any) { asked = request })}, &runner{})
	s.write("inputs/a.mp3", "sound")
	s.write("inputs/a.png", pngImage(t))
	image := MediaFile{Name: "inputs/a.png", MediaType: "image/png", Data: []byte(pngImage(t))}
	common := Request{Key: "fetch/visit/1/turn/1/tool/1", RunID: "run-1", Step: "fetch"}
	for _, c := range []struct {
		tool      string
		arguments map[string]any
		want      any
		text      string
	}{
		{TextTool, map[string]any{"prompt": "p", "system": "s"}, &TextRequest{common, "p", "s"}, "p\n\nSources:\n- Page https://example.org"},
		{SearchTool, map[string]any{"query": "q"}, &SearchRequest{common, "q"}, "q"},
		{TranscribeTool, map[string]any{"file_path": "inputs/a.mp3", "language": "en"}, &TranscribeRequest{common, MediaFile{"inputs/a.mp3", "audio/mpeg", []byte("sound")}, "en"}, "sound"},
		{ImageGenTool, map[string]any{"prompt": "p", "aspect_ratio": "1:1"}, &ImageRequest{common, "p", "1:1"}, ".png (image/png, 3 bytes)"},
		{ImageEditTool, map[string]any{"prompt": "p", "image_paths": []string{"inputs/a.png"}}, &EditImageRequest{common, "p", []MediaFile{image}}, ".webp"},
		{VideoTool, map[string]any{"prompt": "p", "image_path": "inputs/a.png", "duration_seconds": 2.5}, &VideoRequest{common, "p", &image, 2.5, ""}, ".mp4"},
		{SpeechTool, map[string]any{"text": "t", "voice": "v"}, &SpeechRequest{common, "t", "v"}, ".mp3"},
		{MusicTool, map[string]any{"prompt": "p"}, &MusicRequest{common, "p", 0}, ".bin"},
	} {
		assert.Contains(t, s.succeeds(c.tool, c.arguments), c.text, c.tool)
		assert.Equal(t, c.want, asked, c.tool)
	}
}

func TestNewFilesAreSavedInTheWorkFolderAndReplaceNothing(t *testing.T) {
	t.Parallel()
	calls := 0
	s := setup(t, Config{Media: fakeMedia(func(any) { calls++ })}, &runner{})
	s.write(workDir+"/art/b-2.png", "mine")
	text := s.succeeds(ImageGenTool, map[string]any{"prompt": "p", "output_path": "art/b.png"})
	assert.Equal(t, "Saved "+s.path(workDir+"/art/b.png")+" (image/png, 3 bytes)\nSaved "+s.path(workDir+"/art/b-3.png")+" (image/png, 3 bytes)\nTwo takes.", text)
	assert.Equal(t, "one", s.read(workDir+"/art/b.png"))
	assert.Equal(t, "mine", s.read(workDir+"/art/b-2.png"))
	s.succeeds(ImageGenTool, map[string]any{"prompt": "p"})
	made, err := filepath.Glob(s.path(workDir + "/image_gen-*.png"))
	require.NoError(t, err)
	assert.Len(t, made, 2)
	require.NoError(t, os.Symlink("../../../../../../planning", s.path(workDir+"/door")))
	before := calls
	for path, why := range map[string]string{
		"own.txt": "exists already", "inputs/x.png": "may not write", s.path("planning/x.png"): "may not write", "/tmp/x.png": "outside", "door/x.png": "symbolic link", "a\nb": "control character",
	} {
		assert.Contains(t, s.fails(ImageGenTool, map[string]any{"prompt": "p", "output_path": path}), why, path)
	}
	assert.Equal(t, before, calls, "nothing was paid for")
}

func TestAnErrorOfAMediaServiceIsAFailedResult(t *testing.T) {
	t.Parallel()
	s := setup(t, Config{Media: Media{
		Text:       func(context.Context, *TextRequest) (*TextAnswer, error) { return nil, errors.New("no credit left") },
		Search:     func(context.Context, *SearchRequest) (*TextAnswer, error) { return &TextAnswer{}, nil },
		Image:      func(context.Context, *ImageRequest) (*MediaAnswer, error) { return nil, nil },
		EditImage:  func(context.Context, *EditImageRequest) (*MediaAnswer, error) { return nil, nil },
		Transcribe: func(context.Context, *TranscribeRequest) (*TextAnswer, error) { return nil, nil },
	}}, &runner{})
	assert.Equal(t, "no credit left", s.fails(TextTool, map[string]any{"prompt": "p"}))
	assert.Equal(t, "the answer is empty", s.fails(SearchTool, map[string]any{"query": "p"}))
	assert.Equal(t, "the answer has no file", s.fails(ImageGenTool, map[string]any{"prompt": "p"}))
	assert.Contains(t, s.fails(ImageEditTool, map[string]any{"prompt": "p"}), "image_paths is empty")
	assert.Contains(t, s.fails(ImageEditTool, map[string]any{"prompt": "p", "image_paths": []string{"own.txt"}}), "no PNG")
	assert.Contains(t, s.fails(TranscribeTool, map[string]any{"file_path": "planning/x"}), "may not read")
	assert.NotContains(t, s.fails(TranscribeTool, map[string]any{"file_path": s.path("planning/plan.json")}), "the plan")
}
