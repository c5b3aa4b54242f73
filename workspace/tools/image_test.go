package tools

import (
	"bytes"
	"image"
	"image/color/palette"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
)

// webp gives the beginning of a WebP file with one chunk.
func webp(chunk string, body ...byte) string {
	return "RIFF\x00\x00\x00\x00WEBP" + chunk + "\x00\x00\x00\x00" + string(body) + strings.Repeat("\x00", 10)
}

func encoded(t *testing.T, encode func(*bytes.Buffer, image.Image) error) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, encode(&b, image.NewPaletted(image.Rect(0, 0, 7, 5), palette.Plan9)))
	return b.String()
}

func TestAnImageIsShownWhateverItsNameIs(t *testing.T) {
	t.Parallel()
	s := setup(t, Config{}, &runner{})
	for name, c := range map[string]struct{ data, mediaType, text string }{
		"a.txt": {pngImage(t), "image/png", "PNG, 7 x 5 pixels"},
		"b.png": {encoded(t, func(b *bytes.Buffer, m image.Image) error { return jpeg.Encode(b, m, nil) }), "image/jpeg", "JPEG, 7 x 5 pixels"},
		"c":     {encoded(t, func(b *bytes.Buffer, m image.Image) error { return gif.Encode(b, m, nil) }), "image/gif", "GIF, 7 x 5 pixels"},
		"d":     {webp("VP8 ", 0, 0, 0, 0x9d, 1, 0x2a, 7, 0x40, 5, 0xc0), "image/webp", "WebP, 7 x 5 pixels"},
		"e":     {webp("VP8L", 0x2f, 6, 0, 1, 0), "image/webp", "WebP, 7 x 5 pixels"},
		"f":     {webp("VP8X", 0, 0, 0, 0, 6, 0, 0, 4, 0, 0), "image/webp", "WebP, 7 x 5 pixels"},
	} {
		s.write(workDir+"/"+name, c.data)
		result := s.call(ImageTool, map[string]any{"file_path": name})
		require.False(t, result.IsError, result.Text())
		require.Len(t, result.Content, 2)
		assert.Contains(t, result.Text(), s.path(workDir+"/"+name)+": "+c.text)
		assert.Equal(t, agent.Part{Type: agent.PartImage, MediaType: c.mediaType, Data: []byte(c.data)}, result.Content[1])
	}
}

func pngImage(t *testing.T) string {
	t.Helper()
	return encoded(t, func(b *bytes.Buffer, m image.Image) error { return png.Encode(b, m) })
}

func TestWhatIsNoImageIsRefused(t *testing.T) {
	t.Parallel()
	s := setup(t, Config{MaxImageBytes: 1000}, &runner{})
	s.write(workDir+"/text.png", "text")
	s.write(workDir+"/cut.png", pngImage(t)[:20])
	s.write(workDir+"/large.png", pngImage(t)+strings.Repeat("x", 1000))
	s.write("planning/secret.png", pngImage(t))
	for i, cut := range []string{webp("VP8 ")[:25], webp("VP8 "), webp("VP8L"), webp("ANIM"), "RIFF", ""} {
		s.write(workDir+"/cut"+string(rune('0'+i)), cut)
		s.fails(ImageTool, map[string]any{"file_path": "cut" + string(rune('0'+i))})
	}
	require.NoError(t, os.Symlink("../../../../../../planning/secret.png", s.path(workDir+"/link.png")))
	for file, why := range map[string]string{
		"text.png": "no PNG, JPEG, GIF or WebP", "cut.png": "is damaged", "large.png": "make a smaller copy",
		"none.png": "not exist", "planning/secret.png": "may not read", s.path("planning/secret.png"): "may not read",
		"link.png": "symbolic link", ".": "folder", "/dev/zero": "outside",
	} {
		assert.Contains(t, s.fails(ImageTool, map[string]any{"file_path": file}), why, file)
	}
}

func FuzzImage(f *testing.F) {
	f.Add([]byte(webp("VP8X")))
	f.Add([]byte("\x89PNG\r\n\x1a\n"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		if format := sniffImage(data); format != nil {
			_, _ = format.size(data)
		}
	})
}
