package tools

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/treadle-dev/treadle/agent"
)

// Names of the media tools.
const (
	TextTool       = "generate_text_llm"
	SearchTool     = "search_web_llm"
	ImageGenTool   = "image_gen"
	ImageEditTool  = "image_edit"
	VideoTool      = "generate_video"
	SpeechTool     = "text_to_speech"
	TranscribeTool = "speech_to_text"
	MusicTool      = "generate_music"
)

// maxMediaInput is the largest file that is given to a media tool, in bytes.
const maxMediaInput = 64 << 20

// mediaArguments are those of all media tools; each takes some of them.
type mediaArguments struct {
	Prompt          string   `json:"prompt"`
	System          string   `json:"system"`
	Query           string   `json:"query"`
	Text            string   `json:"text"`
	Voice           string   `json:"voice"`
	Language        string   `json:"language"`
	AspectRatio     string   `json:"aspect_ratio"`
	DurationSeconds float64  `json:"duration_seconds"`
	FilePath        string   `json:"file_path"`
	ImagePath       string   `json:"image_path"`
	ImagePaths      []string `json:"image_paths"`
	OutputPath      string   `json:"output_path"`
}

var mediaProperties = map[string]property{
	"prompt":           {Type: "string", Description: "What to make, in words."},
	"system":           {Type: "string", Description: "Instructions that stand above the prompt."},
	"query":            {Type: "string", Description: "What to find out."},
	"text":             {Type: "string", Description: "The words to speak."},
	"voice":            {Type: "string", Description: "The voice to use."},
	"language":         {Type: "string", Description: "The language that is spoken, such as \"en\"; by default it is found out."},
	"aspect_ratio":     {Type: "string", Description: "Width to height, such as \"16:9\"."},
	"duration_seconds": {Type: "number", Description: "How long it should be."},
	"file_path":        {Type: "string", Description: "The recording. " + pathRule},
	"image_path":       {Type: "string", Description: "An image to start from. " + pathRule},
	"image_paths":      {Type: "array", Items: &property{Type: "string"}, Description: "The images to work on. " + pathRule},
	"output_path":      {Type: "string", Description: "The new file, which must not exist; by default a new name in the work folder. " + pathRule},
}

// mediaTools are those that the host provides.
func (s *session) mediaTools() []agent.Tool {
	m := &s.set.config.Media
	var all []agent.Tool
	add := func(provided bool, name, description string, effect agent.Effect, arguments string, do mediaFunc) {
		if provided {
			all = append(all, s.mediaTool(name, description, effect, arguments, do))
		}
	}
	add(m.Text != nil, TextTool, "Asks another language model for a text. It sees nothing but what you give it.", agent.ReadOnly, "prompt! system", s.generateText)
	add(m.Search != nil, SearchTool, "Answers a question from the web and names its sources.", agent.ReadOnly, "query!", s.searchWeb)
	add(m.Image != nil, ImageGenTool, "Makes an image from a description and saves it.", agent.Unsafe, "prompt! aspect_ratio output_path", s.generateImage)
	add(m.EditImage != nil, ImageEditTool, "Makes a changed image from images and saves it.", agent.Unsafe, "prompt! image_paths! output_path", s.editImage)
	add(m.Video != nil, VideoTool, "Makes a video from a description and saves it.", agent.Unsafe, "prompt! image_path duration_seconds aspect_ratio output_path", s.generateVideo)
	add(m.Speech != nil, SpeechTool, "Speaks a text and saves the recording.", agent.Unsafe, "text! voice output_path", s.speak)
	add(m.Transcribe != nil, TranscribeTool, "Writes down what is said in a recording.", agent.ReadOnly, "file_path! language", s.transcribe)
	add(m.Music != nil, MusicTool, "Makes music from a description and saves it.", agent.Unsafe, "prompt! duration_seconds output_path", s.generateMusic)
	return all
}

type mediaFunc func(ctx context.Context, args *mediaArguments, request Request) (*agent.ToolResult, error)

// mediaTool gives one tool. Its arguments are names of mediaProperties; one with "!"
// is required.
func (s *session) mediaTool(name, description string, effect agent.Effect, arguments string, do mediaFunc) agent.Tool {
	properties := map[string]property{}
	var required []string
	for argument := range strings.FieldsSeq(arguments) {
		bare := strings.TrimSuffix(argument, "!")
		properties[bare] = mediaProperties[bare]
		if bare != argument {
			required = append(required, bare)
		}
	}
	return &tool[mediaArguments]{
		session: s,
		spec:    agent.ToolSpec{Name: name, Description: description, InputSchema: schema(required, properties), Effect: effect},
		do: func(ctx context.Context, args mediaArguments, call *agent.ToolCall) (*agent.ToolResult, error) {
			return do(ctx, &args, Request{Key: call.Key, RunID: s.scope.RunID, Step: s.scope.Step})
		},
	}
}

func (s *session) generateText(ctx context.Context, args *mediaArguments, r Request) (*agent.ToolResult, error) {
	return answered(s.set.config.Media.Text(ctx, &TextRequest{Request: r, Prompt: args.Prompt, System: args.System}))
}

func (s *session) searchWeb(ctx context.Context, args *mediaArguments, r Request) (*agent.ToolResult, error) {
	return answered(s.set.config.Media.Search(ctx, &SearchRequest{Request: r, Query: args.Query}))
}

func (s *session) transcribe(ctx context.Context, args *mediaArguments, r Request) (*agent.ToolResult, error) {
	audio, err := s.mediaFile(ctx, args.FilePath)
	if err != nil {
		return nil, err
	}
	return answered(s.set.config.Media.Transcribe(ctx, &TranscribeRequest{Request: r, Audio: *audio, Language: args.Language}))
}

func (s *session) generateImage(ctx context.Context, args *mediaArguments, r Request) (*agent.ToolResult, error) {
	return s.making(ctx, ImageGenTool, args, r, func() (*MediaAnswer, error) {
		return s.set.config.Media.Image(ctx, &ImageRequest{Request: r, Prompt: args.Prompt, AspectRatio: args.AspectRatio})
	})
}

func (s *session) editImage(ctx context.Context, args *mediaArguments, r Request) (*agent.ToolResult, error) {
	if len(args.ImagePaths) == 0 {
		return nil, errors.New("image_paths is empty; name at least one image")
	}
	images := make([]MediaFile, len(args.ImagePaths))
	for i, given := range args.ImagePaths {
		name, err := s.paths.resolve(ctx, given)
		if err != nil {
			return nil, err
		}
		data, format, _, err := s.image(ctx, name)
		if err != nil {
			return nil, err
		}
		images[i] = MediaFile{Name: name, MediaType: format.mediaType, Data: data}
	}
	return s.making(ctx, ImageEditTool, args, r, func() (*MediaAnswer, error) {
		return s.set.config.Media.EditImage(ctx, &EditImageRequest{Request: r, Prompt: args.Prompt, Images: images})
	})
}

func (s *session) generateVideo(ctx context.Context, args *mediaArguments, r Request) (*agent.ToolResult, error) {
	request := &VideoRequest{Request: r, Prompt: args.Prompt, DurationSeconds: args.DurationSeconds, AspectRatio: args.AspectRatio}
	if args.ImagePath != "" {
		name, err := s.paths.resolve(ctx, args.ImagePath)
		if err != nil {
			return nil, err
		}
		data, format, _, err := s.image(ctx, name)
		if err != nil {
			return nil, err
		}
		request.Image = &MediaFile{Name: name, MediaType: format.mediaType, Data: data}
	}
	return s.making(ctx, VideoTool, args, r, func() (*MediaAnswer, error) { return s.set.config.Media.Video(ctx, request) })
}

func (s *session) speak(ctx context.Context, args *mediaArguments, r Request) (*agent.ToolResult, error) {
	return s.making(ctx, SpeechTool, args, r, func() (*MediaAnswer, error) {
		return s.set.config.Media.Speech(ctx, &SpeechRequest{Request: r, Text: args.Text, Voice: args.Voice})
	})
}

func (s *session) generateMusic(ctx context.Context, args *mediaArguments, r Request) (*agent.ToolResult, error) {
	return s.making(ctx, MusicTool, args, r, func() (*MediaAnswer, error) {
		return s.set.config.Media.Music(ctx, &MusicRequest{Request: r, Prompt: args.Prompt, DurationSeconds: args.DurationSeconds})
	})
}

// mediaFile reads a file of any kind for a media tool.
func (s *session) mediaFile(ctx context.Context, given string) (*MediaFile, error) {
	name, err := s.paths.resolve(ctx, given)
	if err != nil {
		return nil, err
	}
	data, err := s.files.ReadFile(ctx, name, maxMediaInput)
	if err != nil {
		return nil, err
	}
	return &MediaFile{Name: name, MediaType: mediaType(path.Ext(name)), Data: data}, nil
}

// answered gives a text as a result.
func answered(answer *TextAnswer, err error) (*agent.ToolResult, error) {
	switch {
	case err != nil:
		return nil, err
	case answer == nil || answer.Text == "" && len(answer.Sources) == 0:
		return nil, errors.New("the answer is empty")
	}
	var b strings.Builder
	b.WriteString(answer.Text)
	if len(answer.Sources) > 0 {
		b.WriteString("\n\nSources:")
	}
	for _, source := range answer.Sources {
		fmt.Fprintf(&b, "\n- %s %s", source.Title, source.URL)
	}
	return agent.TextResult(b.String()), nil
}
