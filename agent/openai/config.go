package openai

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/treadle-dev/treadle/agent"
)

// The environment variables that [FromEnv] reads.
const (
	EnvAPIKey  = "OPENAI_API_KEY"
	EnvBaseURL = "OPENAI_BASE_URL"
	EnvModel   = "TREADLE_MODEL"
)

const (
	defaultBaseURL        = "https://api.openai.com/v1"
	defaultRequestTimeout = 10 * time.Minute
	defaultIdleTimeout    = 2 * time.Minute
	defaultMaxReplyBytes  = 128 << 20
)

// Config says which endpoint to call and how. The zero value with an APIKey, or
// with the BaseURL of a server that needs no key, is enough.
type Config struct {
	// APIKey is sent as a bearer token, or as the api-key header when APIVersion is
	// set. It may be empty for servers that need none. It never shows in an error.
	APIKey string
	// BaseURL is what "/chat/completions" is appended to; its query, if any, is sent
	// with every call. Default: https://api.openai.com/v1.
	BaseURL string
	// Model is used by requests that name none. Without it such requests fail.
	Model string
	// Provider names the endpoint in errors, and marks the extras that it wants
	// back: another provider's extras are never sent to it. Default: the profile's
	// name, such as "openai", "deepseek" or "compatible".
	Provider string
	// Streaming says whether replies are asked for as a stream. Default (nil): when
	// the caller passes a sink. A stream notices a stalled server after IdleTimeout;
	// without one only RequestTimeout does.
	Streaming *bool
	// Headers are added to every request, and replace what would be sent otherwise.
	// Their values count as secret.
	Headers map[string]string
	// HTTPClient carries the requests. Default: a client with the settings of
	// [http.DefaultTransport]. Its Timeout, if set, bounds each call as a whole.
	HTTPClient *http.Client
	// RequestTimeout bounds one call from its start to the end of its reply.
	// Default: 10 minutes. Negative: only the caller's context bounds it.
	RequestTimeout time.Duration
	// IdleTimeout bounds the silence inside a reply that has begun. Default: 2
	// minutes. Negative: no bound.
	IdleTimeout time.Duration
	// MaxReplyBytes bounds the body of a reply, as sent. Default: 128 MiB.
	MaxReplyBytes int64
	// APIVersion makes the calls Azure-style: it is sent as the api-version query
	// parameter, the key goes into the api-key header, and the path names the model
	// as a deployment unless BaseURL already has a "/deployments/" part or ends in
	// "/v1".
	APIVersion string
	// Profile says what the endpoint takes and wants back. Default (nil):
	// ProfileFor(Provider, BaseURL).
	Profile *Profile
	// Models say what models can take, by the ids that requests name. For these
	// the endpoint is not asked. Default: [LLM.Describe] tells what it finds out.
	Models []agent.ModelInfo
}

// New returns a backend for the endpoint. It makes no request. An error says
// which field cannot be used.
func New(cfg Config) (*LLM, error) {
	cfg.APIKey = strings.TrimSpace(cfg.APIKey)
	if cfg.APIKey == "" && cfg.BaseURL == "" {
		return nil, errors.New("openai: neither an API key nor a base URL is configured; set APIKey for OpenAI, or BaseURL for a compatible server")
	}
	if cfg.BaseURL == "" {
		cfg.BaseURL = defaultBaseURL
	}
	base, query, err := splitBaseURL(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	for i, m := range cfg.Models {
		if m.Model == "" || m.ContextWindow < 0 || m.MaxOutputTokens < 0 {
			return nil, fmt.Errorf("openai: Models[%d] needs the id of a model and no limit below 0 (0 is unknown)", i)
		}
	}
	cfg.Models = slices.Clone(cfg.Models)
	profile := ProfileFor(cfg.Provider, cfg.BaseURL)
	if cfg.Profile != nil {
		profile = *cfg.Profile
	} else if cfg.APIVersion != "" && profile.Name == compatibleProfile {
		profile = openAIProfile("azure")
	}
	if cfg.Provider == "" {
		cfg.Provider = profile.Name
	}
	if cfg.Provider == "" {
		cfg.Provider = openAIProfileName
	}
	if cfg.RequestTimeout == 0 {
		cfg.RequestTimeout = defaultRequestTimeout
	}
	if cfg.IdleTimeout == 0 {
		cfg.IdleTimeout = defaultIdleTimeout
	}
	if cfg.MaxReplyBytes <= 0 {
		cfg.MaxReplyBytes = defaultMaxReplyBytes
	}
	secrets := secretsOf(&cfg)
	cfg.BaseURL = base
	llm := &LLM{cfg: cfg, profile: profile, secrets: secrets, described: newDescribed()}
	llm.client = newClient(&cfg, base, query)
	return llm, nil
}

// FromEnv returns the backend that the environment describes: OPENAI_API_KEY,
// OPENAI_BASE_URL (any compatible endpoint) and TREADLE_MODEL (the default
// model). The lookup has the form of [os.LookupEnv]; an empty value counts as
// unset. With neither key nor base URL the error says what to set.
func FromEnv(lookup func(string) (string, bool)) (*LLM, error) {
	value := func(name string) string {
		v, _ := lookup(name)
		return strings.TrimSpace(v)
	}
	cfg := Config{APIKey: value(EnvAPIKey), BaseURL: value(EnvBaseURL), Model: value(EnvModel)}
	if cfg.APIKey == "" && cfg.BaseURL == "" {
		return nil, fmt.Errorf("no model endpoint is configured: set %s, or %s for a compatible server (and %s for the model to use)",
			EnvAPIKey, EnvBaseURL, EnvModel)
	}
	llm, err := New(cfg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", EnvBaseURL, err)
	}
	return llm, nil
}

func splitBaseURL(raw string) (base string, query url.Values, err error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return "", nil, errors.New("openai: the base URL cannot be parsed; it looks like https://host/v1")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return "", nil, fmt.Errorf("openai: the base URL %q needs http:// or https:// and a host, such as https://host/v1", u.Redacted())
	}
	query = u.Query()
	u.RawQuery, u.Fragment = "", ""
	// Base URLs are often copied from an example call.
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/chat/completions")
	u.RawPath = ""
	return u.String() + "/", query, nil
}
