package tools

import (
	"context"
)

// Media are tools for which a host needs a service of its own. Each is a function; nil
// leaves its tool out. They are called from many goroutines. An error becomes a failed
// result that the model sees, so it must name no credential.
//
// What only reads (Text, Search, Transcribe) may be called again after a crash, as
// model calls are, though it may be paid twice. What makes a file is not: the model is
// told that the call is in doubt.
type Media struct {
	Text       func(ctx context.Context, request *TextRequest) (*TextAnswer, error)   // generate_text_llm
	Search     func(ctx context.Context, request *SearchRequest) (*TextAnswer, error) // search_web_llm
	Transcribe func(ctx context.Context, request *TranscribeRequest) (*TextAnswer, error)

	Image     func(ctx context.Context, request *ImageRequest) (*MediaAnswer, error)     // image_gen
	EditImage func(ctx context.Context, request *EditImageRequest) (*MediaAnswer, error) // image_edit
	Video     func(ctx context.Context, request *VideoRequest) (*MediaAnswer, error)     // generate_video
	Speech    func(ctx context.Context, request *SpeechRequest) (*MediaAnswer, error)    // text_to_speech
	Music     func(ctx context.Context, request *MusicRequest) (*MediaAnswer, error)     // generate_music
}

// Request is what every request carries.
type Request struct {
	// Key is the call's stable position in its run, for use as an idempotency key.
	Key string
	// RunID and Step say who asks.
	RunID, Step string
}

// TextRequest asks a model for a text.
type TextRequest struct {
	Request
	Prompt string
	System string // instructions; may be empty
}

// SearchRequest asks a question of the web.
type SearchRequest struct {
	Request
	Query string
}

// TranscribeRequest asks for the words of a recording.
type TranscribeRequest struct {
	Request
	Audio    MediaFile
	Language string // such as "en"; empty is to be found out
}

// ImageRequest asks for images.
type ImageRequest struct {
	Request
	Prompt      string
	AspectRatio string // such as "16:9"; empty is the host's choice
}

// EditImageRequest asks for a changed image.
type EditImageRequest struct {
	Request
	Prompt string
	Images []MediaFile // at least one
}

// VideoRequest asks for a video.
type VideoRequest struct {
	Request
	Prompt          string
	Image           *MediaFile // to start from; nil is none
	DurationSeconds float64    // 0 is the host's choice
	AspectRatio     string     // empty is the host's choice
}

// SpeechRequest asks for a spoken text.
type SpeechRequest struct {
	Request
	Text  string
	Voice string // empty is the host's choice
}

// MusicRequest asks for music.
type MusicRequest struct {
	Request
	Prompt          string
	DurationSeconds float64 // 0 is the host's choice
}

// MediaFile is a file by its content.
type MediaFile struct {
	Name      string // its name in the workspace; empty of what is new
	MediaType string // such as "image/png"
	Data      []byte
}

// TextAnswer is a text, with where it comes from.
type TextAnswer struct {
	Text    string
	Sources []MediaSource
}

// MediaSource is a page that an answer rests on.
type MediaSource struct {
	Title, URL string
}

// MediaAnswer is new files, which are written into the work folder.
type MediaAnswer struct {
	Files []MediaFile
	Note  string // told to the model; may be empty
}
