package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/workspace"
)

// ImageTool is the name of the tool that shows an image to the model.
const ImageTool = "read_image"

type imageArguments struct {
	FilePath string `json:"file_path"`
}

func (s *session) imageTool() agent.Tool {
	return &tool[imageArguments]{session: s, do: s.readImage, spec: agent.ToolSpec{
		Name: ImageTool,
		Description: fmt.Sprintf("Shows you an image of the workspace: PNG, JPEG, GIF or WebP, at most %s.",
			byteCount(s.set.config.MaxImageBytes)),
		InputSchema: schema([]string{"file_path"}, map[string]property{
			"file_path": {Type: "string", Description: "The image. " + pathRule},
		}),
		Effect: agent.ReadOnly,
	}}
}

func (s *session) readImage(ctx context.Context, args imageArguments, _ *agent.ToolCall) (*agent.ToolResult, error) {
	name, err := s.paths.resolve(ctx, args.FilePath)
	if err != nil {
		return nil, err
	}
	data, format, size, err := s.image(ctx, name)
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf("%s: %s, %d x %d pixels, %d bytes", s.paths.show(name), format.name, size.Width, size.Height, len(data))
	return &agent.ToolResult{Content: append(agent.Text(text), agent.Part{Type: agent.PartImage, MediaType: format.mediaType, Data: data})}, nil
}

// image reads a file that must be an image.
func (s *session) image(ctx context.Context, name string) ([]byte, *imageFormat, image.Config, error) {
	data, err := s.files.ReadFile(ctx, name, s.set.config.MaxImageBytes)
	if errors.Is(err, workspace.ErrTooLarge) {
		err = fmt.Errorf("%w; make a smaller copy with the shell and read that", err)
	}
	if err != nil {
		return nil, nil, image.Config{}, err
	}
	format := sniffImage(data)
	if format == nil {
		return nil, nil, image.Config{}, fmt.Errorf("%s is no PNG, JPEG, GIF or WebP image by its content (%d bytes)", s.paths.show(name), len(data))
	}
	size, err := format.size(data)
	if err != nil {
		return nil, nil, image.Config{}, fmt.Errorf("%s begins like a %s image and is damaged: %w", s.paths.show(name), format.name, err)
	}
	return data, format, size, nil
}

// imageFormat is a format that model endpoints take. Its decoder is called by name:
// what package image has registered depends on what else a host links.
type imageFormat struct {
	name, mediaType string
	is              func(data []byte) bool
	size            func(data []byte) (image.Config, error)
}

func sniffImage(data []byte) *imageFormat {
	for _, format := range []imageFormat{
		{"PNG", "image/png", hasPrefix("\x89PNG\r\n\x1a\n"), func(data []byte) (image.Config, error) { return png.DecodeConfig(bytes.NewReader(data)) }},
		{"JPEG", "image/jpeg", hasPrefix("\xff\xd8\xff"), func(data []byte) (image.Config, error) { return jpeg.DecodeConfig(bytes.NewReader(data)) }},
		{"GIF", "image/gif", hasPrefix("GIF87a", "GIF89a"), func(data []byte) (image.Config, error) { return gif.DecodeConfig(bytes.NewReader(data)) }},
		{"WebP", "image/webp", isWebP, webpSize},
	} {
		if format.is(data) {
			return &format
		}
	}
	return nil
}

func hasPrefix(prefixes ...string) func([]byte) bool {
	return func(data []byte) bool {
		for _, prefix := range prefixes {
			if bytes.HasPrefix(data, []byte(prefix)) {
				return true
			}
		}
		return false
	}
}

func isWebP(data []byte) bool {
	return len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP"
}

// webpSize reads width and height from the first chunk, as RFC 9649 has them. The
// standard library has no decoder, and no more than this is needed.
func webpSize(data []byte) (image.Config, error) {
	const header = 20 // of the file and of its first chunk
	if len(data) < header+10 {
		return image.Config{}, errors.New("it ends early")
	}
	chunk, body := string(data[12:16]), data[header:]
	var width, height int
	switch chunk {
	case "VP8 ": // a frame header of 3 bytes, a start code, then 14 bits each
		if string(body[3:6]) != "\x9d\x01\x2a" {
			return image.Config{}, errors.New("its frame has no start code")
		}
		width, height = int(little(body[6:8])&0x3fff), int(little(body[8:10])&0x3fff)
	case "VP8L": // a signature, then 14 bits each, less one
		if body[0] != 0x2f {
			return image.Config{}, errors.New("its frame has no signature")
		}
		bits := little(body[1:5])
		width, height = int(bits&0x3fff)+1, int(bits>>14&0x3fff)+1
	case "VP8X": // flags of 4 bytes, then 24 bits each, less one
		width, height = int(little(body[4:7]))+1, int(little(body[7:10]))+1
	default:
		return image.Config{}, fmt.Errorf("its first chunk is %q", chunk)
	}
	return image.Config{Width: width, Height: height}, nil
}

func little(data []byte) uint32 {
	var n uint32
	for i, b := range data {
		n |= uint32(b) << (8 * i)
	}
	return n
}
