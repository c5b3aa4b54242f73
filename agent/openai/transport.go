package openai

import (
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// newClient returns the official client, used for transport alone. It is built
// without its constructor, which would read settings of its own from the
// environment. Its retries are off: whoever repeats a call must know of it.
func newClient(cfg *Config, base string, query url.Values) openai.Client {
	httpClient := &http.Client{}
	if cfg.HTTPClient != nil {
		*httpClient = *cfg.HTTPClient
	}
	if httpClient.CheckRedirect == nil {
		httpClient.CheckRedirect = sameCall
	}
	opts := []option.RequestOption{
		option.WithBaseURL(base),
		option.WithHTTPClient(httpClient),
		option.WithMaxRetries(0),
		option.WithMiddleware(boundErrorBody, unpack),
		option.WithHeader("User-Agent", "treadle"),
		option.WithHeader("Accept", "application/json, text/event-stream"),
	}
	switch {
	case cfg.APIKey == "":
	case cfg.APIVersion != "":
		opts = append(opts, option.WithHeader("api-key", cfg.APIKey))
	default:
		opts = append(opts, option.WithAPIKey(cfg.APIKey))
	}
	if cfg.APIVersion != "" {
		opts = append(opts, option.WithQuery("api-version", cfg.APIVersion))
	}
	for name, values := range query {
		for _, v := range values {
			opts = append(opts, option.WithQueryAdd(name, v))
		}
	}
	for name, v := range cfg.Headers {
		opts = append(opts, option.WithHeader(name, v))
	}
	return openai.Client{Options: opts}
}

// sameCall follows a redirect only where the same call goes to the same host:
// otherwise the key, or the conversation, would go where nobody sent it, or a GET
// would be made of the call.
func sameCall(req *http.Request, via []*http.Request) error {
	first := via[0]
	safe := req.URL.Scheme == first.URL.Scheme || req.URL.Scheme == "https"
	if len(via) > 3 || !safe || req.Method != first.Method || req.URL.Hostname() != first.URL.Hostname() {
		return http.ErrUseLastResponse
	}
	return nil
}

// path is where a call goes, below the base URL.
func (cfg *Config) path(model string) string {
	if !cfg.azurePaths() {
		return "chat/completions"
	}
	return cfg.azureRoot() + "deployments/" + url.PathEscape(model) + "/chat/completions"
}

func (cfg *Config) modelsPath() string {
	if !cfg.azurePaths() {
		return "models"
	}
	return cfg.azureRoot() + "models"
}

func (cfg *Config) azurePaths() bool {
	base := strings.TrimRight(cfg.BaseURL, "/")
	return cfg.APIVersion != "" && !strings.Contains(base, "/deployments/") && !strings.HasSuffix(base, "/v1")
}

func (cfg *Config) azureRoot() string {
	if strings.HasSuffix(strings.TrimRight(cfg.BaseURL, "/"), "/openai") {
		return ""
	}
	return "openai/"
}

// boundErrorBody keeps the client from reading an endless error body.
func boundErrorBody(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	resp, err := next(req)
	if err == nil && resp != nil && resp.StatusCode >= 400 && resp.Body != nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxErrorBody), resp.Body}
	}
	return resp, err
}

// secretsOf are the values that must not show in an error.
func secretsOf(cfg *Config) []string {
	var secrets []string
	// Shorter values would be found by chance in harmless text.
	add := func(v string) {
		if len(v) >= 8 {
			secrets = append(secrets, v)
		}
	}
	add(cfg.APIKey)
	for _, v := range cfg.Headers {
		add(v)
		if _, token, ok := strings.Cut(v, " "); ok {
			add(token)
		}
	}
	if u, err := url.Parse(cfg.BaseURL); err == nil {
		if password, ok := u.User.Password(); ok {
			add(password)
		}
		for name, values := range u.Query() {
			if name == "api-version" {
				continue
			}
			for _, v := range values {
				add(v)
			}
		}
	}
	return secrets
}
