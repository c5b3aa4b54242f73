package agenttest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/internal/redact"
)

// RecorderConfig says what a [Recorder] records or replays.
type RecorderConfig struct {
	// File is the recording: JSON lines, one a call. Required. A new recording
	// replaces an old one when the recorder is closed.
	File string
	// LLM is the real backend. With it calls are made and recorded; without it (nil)
	// they are answered from the file.
	LLM agent.LLM
	// Secrets are values by name that never reach the file; a mark with the name
	// stands there instead. Values under four bytes are not redacted, nor are values
	// that are encoded in some way of their own.
	Secrets map[string]string
	// Redact changes every text that is written or compared, after Secrets. It is
	// also the place to blank out what differs from run to run, such as the time in a
	// prompt. It must give the same for what it has already changed. It may be nil.
	Redact func(text string) string
}

// Recorder is an [agent.LLM] that records the calls to a real backend, or answers
// the same calls from a recording. A replayed call is found by what it asks, not
// by when, so concurrent calls may come in any order; the same request asked
// several times gets its answers in the order of the recording. It is safe for
// concurrent use; get one from [OpenRecorder], and Close it.
type Recorder struct {
	cfg    RecorderConfig
	secret *redact.Redactor

	mu      sync.Mutex
	file    *os.File                   // when recording
	err     error                      // of the first write that failed
	waiting map[string][]*recording    // when replaying, by key
	models  map[string]agent.ModelInfo // described models
	closed  bool
}

var (
	_ agent.LLM       = (*Recorder)(nil)
	_ agent.Describer = (*Recorder)(nil)

	// ErrNotRecorded is what an [*UnexpectedRequestError] matches.
	ErrNotRecorded = errors.New("the request is not in the recording")
	// ErrNotReplayed is what Close returns after a replay that did not ask for
	// everything in the recording.
	ErrNotReplayed = errors.New("recorded calls were not made")
)

const recordingVersion = 1

// recording is one line of the file. The first line has only Version.
type recording struct {
	Version  int              `json:"treadle_recording,omitempty"`
	Key      string           `json:"key,omitempty"`
	Request  json.RawMessage  `json:"request,omitempty"`
	Deltas   []agent.Delta    `json:"deltas,omitempty"`
	Response *agent.Response  `json:"response,omitempty"`
	Error    *recordedError   `json:"error,omitempty"`
	Describe *agent.ModelInfo `json:"describe,omitempty"`
	// Asked is the model that was asked to be described.
	Asked string `json:"asked,omitempty"`
}

// OpenRecorder starts a recording, or reads one to replay. The error says what is
// wrong with the file, and where.
func OpenRecorder(cfg RecorderConfig) (*Recorder, error) {
	if cfg.File == "" {
		return nil, errors.New("agenttest: a recorder needs a file")
	}
	r := &Recorder{cfg: cfg, secret: redact.New(cfg.Secrets), waiting: map[string][]*recording{}, models: map[string]agent.ModelInfo{}}
	if cfg.LLM == nil {
		return r, r.load()
	}
	if err := os.MkdirAll(filepath.Dir(cfg.File), 0o755); err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(filepath.Dir(cfg.File), "."+filepath.Base(cfg.File)+".*")
	if err != nil {
		return nil, err
	}
	r.file = file
	r.write(&recording{Version: recordingVersion})
	return r, r.err
}

func (r *Recorder) load() error {
	data, err := os.ReadFile(r.cfg.File)
	if err != nil {
		return fmt.Errorf("agenttest: nothing to replay: %w; record it first, against a real backend", err)
	}
	first, _, _ := bytes.Cut(data, []byte("\n"))
	head := recording{}
	if json.Unmarshal(first, &head) != nil || head.Version != recordingVersion {
		return fmt.Errorf("agenttest: %s is no recording of version %d; record it again", r.cfg.File, recordingVersion)
	}
	for n, line := range bytes.Split(data, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		rec := &recording{}
		if err := json.Unmarshal(line, rec); err != nil {
			return fmt.Errorf("agenttest: %s, line %d: %w", r.cfg.File, n+1, err)
		}
		switch {
		case rec.Describe != nil:
			r.models[rec.Asked] = *rec.Describe
		case rec.Key != "":
			r.waiting[rec.Key] = append(r.waiting[rec.Key], rec)
		}
	}
	return nil
}

// Generate makes and records the call, or answers it from the recording. On
// replay an unexpected request is an [*UnexpectedRequestError].
func (r *Recorder) Generate(ctx context.Context, req *agent.Request, sink agent.Sink) (*agent.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	request, err := json.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("agenttest: the request is not JSON: %w", err)
	}
	request = r.redacted(request)
	sum := sha256.Sum256(request)
	key := hex.EncodeToString(sum[:])
	if r.cfg.LLM == nil {
		return r.replay(key, request, sink)
	}
	return r.record(ctx, key, request, req, sink)
}

func (r *Recorder) record(ctx context.Context, key string, request json.RawMessage, req *agent.Request, sink agent.Sink) (*agent.Response, error) {
	rec := &recording{Key: key, Request: request}
	response, err := r.cfg.LLM.Generate(ctx, req, rec.listen(sink))
	if err != nil && ctx.Err() != nil {
		return response, err // that the caller left says nothing about the backend
	}
	rec.Response, rec.Error = response, recordError(err)
	if err != nil {
		rec.Response = nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.write(rec); r.err != nil {
		return nil, r.err
	}
	return response, err
}

// listen notes the deltas, and passes them on. Pieces of text are joined: a secret
// may be cut by the border of two.
func (rec *recording) listen(sink agent.Sink) agent.Sink {
	if sink == nil {
		return nil
	}
	return func(d agent.Delta) {
		sink(d)
		if last := len(rec.Deltas) - 1; last >= 0 && d.ToolName == "" && rec.Deltas[last].Attempt == d.Attempt {
			rec.Deltas[last].Text += d.Text
			return
		}
		rec.Deltas = append(rec.Deltas, d)
	}
}

// write appends a line; the first failure stays.
func (r *Recorder) write(rec *recording) {
	if r.err != nil {
		return
	}
	if r.closed {
		r.err = errors.New("agenttest: the recorder is closed")
		return
	}
	line, err := json.Marshal(rec)
	if err == nil {
		_, err = r.file.Write(append(r.redacted(line), '\n'))
	}
	if err != nil {
		r.err = fmt.Errorf("agenttest: record: %w", err)
	}
}

func (r *Recorder) replay(key string, request json.RawMessage, sink agent.Sink) (*agent.Response, error) {
	r.mu.Lock()
	queue := r.waiting[key]
	if len(queue) == 0 {
		defer r.mu.Unlock()
		return nil, r.unexpected(request)
	}
	rec := queue[0]
	r.waiting[key] = queue[1:]
	r.mu.Unlock()
	if sink != nil {
		rec.tell(sink)
	}
	if rec.Error != nil {
		return nil, rec.Error.restore()
	}
	return rec.Response, nil
}

// tell repeats the deltas. A reply that was not recorded as a stream comes in one
// piece.
func (rec *recording) tell(sink agent.Sink) {
	for _, d := range rec.Deltas {
		sink(d)
	}
	if len(rec.Deltas) > 0 || rec.Response == nil {
		return
	}
	if text := rec.Response.Message.ContentText(); text != "" {
		sink(agent.Delta{Attempt: 1, Text: text})
	}
	for _, call := range rec.Response.Message.ToolCalls {
		sink(agent.Delta{Attempt: 1, ToolName: call.Name})
	}
}

// Describe asks the real backend and records its answer, or repeats it. What is
// not known is zero, as with a backend that describes nothing.
func (r *Recorder) Describe(ctx context.Context, model string) (agent.ModelInfo, error) {
	describer, ok := r.cfg.LLM.(agent.Describer)
	if !ok {
		r.mu.Lock()
		defer r.mu.Unlock()
		if info, ok := r.models[model]; ok {
			return info, nil
		}
		return agent.ModelInfo{Model: model}, nil
	}
	info, err := describer.Describe(ctx, model)
	if err != nil {
		return info, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.models[model]; !known {
		r.models[model] = info
		r.write(&recording{Describe: &info, Asked: model})
	}
	return info, r.err
}

// Close ends the recording and puts it in its place, or checks that everything in
// it has been asked for: else the error matches [ErrNotReplayed]. After a failed
// write the old recording stays. A second Close does nothing.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	if r.file == nil {
		return r.leftOver()
	}
	err := errors.Join(r.err, r.file.Close())
	if err == nil {
		if err = os.Rename(r.file.Name(), r.cfg.File); err == nil {
			return nil
		}
	}
	return errors.Join(err, os.Remove(r.file.Name()))
}

func (r *Recorder) leftOver() error {
	left := 0
	for _, queue := range r.waiting {
		left += len(queue)
	}
	if left == 0 {
		return nil
	}
	return fmt.Errorf("agenttest: %s: %d %w", r.cfg.File, left, ErrNotReplayed)
}

// redacted takes the secrets out of a JSON document.
func (r *Recorder) redacted(data []byte) []byte {
	return mapStrings(r.secret.JSON(data), r.cfg.Redact)
}
