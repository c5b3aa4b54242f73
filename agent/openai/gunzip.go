package openai

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3/option"
)

// unpack reads bodies that come compressed unasked. What the transport asked for
// it unpacks itself.
func unpack(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	resp, err := next(req)
	if err == nil && resp != nil && resp.Body != nil && strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") {
		resp.Header.Del("Content-Encoding")
		resp.Body = &gunzip{packed: resp.Body}
	}
	return resp, err
}

// gunzip begins to read when it is read, so that waiting for the first bytes counts
// as silence of the reply.
type gunzip struct {
	packed io.ReadCloser
	plain  *gzip.Reader
}

func (g *gunzip) Read(p []byte) (int, error) {
	if g.plain == nil {
		plain, err := gzip.NewReader(g.packed)
		if err != nil {
			return 0, err
		}
		g.plain = plain
	}
	return g.plain.Read(p)
}

func (g *gunzip) Close() error { return g.packed.Close() }
