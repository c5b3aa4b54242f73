package mcp

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAChallengeIsReadAsServersWriteIt(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]challenge{
		``:       {},
		`Bearer`: {},
		`Bearer resource_metadata="https://a/.well-known/x", scope="read write"`: {resourceMetadata: "https://a/.well-known/x", scope: "read write"},
		`bearer Error=invalid_token, error_description="it \"expired\", sorry"`:  {code: "invalid_token", description: `it "expired", sorry`},
		`Basic realm="x, scope=no", Bearer scope="yes", Digest scope="no"`:       {scope: "yes"},
		`Negotiate abc==, Bearer realm="r",error="insufficient_scope"`:           {code: "insufficient_scope"},
		`Bearer resource_metadata=https://a/b?c=d, scope=x`:                      {resourceMetadata: "https://a/b?c=d", scope: "x"},
		`Bearer scope = "spaced" , error = "e"`:                                  {scope: "spaced", code: "e"},
		`Bearer scope="never closed`:                                             {scope: "never closed"},
		`Bearer scope="first", scope="second"`:                                   {scope: "first"},
		`Bearer "stray", scope="lost"`:                                           {},
	} {
		header := http.Header{}
		header.Add("WWW-Authenticate", value)
		assert.Equal(t, want, readChallenge(header), value)
	}
	header := http.Header{"Www-Authenticate": {`Basic realm="a"`, `Bearer scope="b"`}}
	assert.Equal(t, challenge{scope: "b"}, readChallenge(header))
}

func FuzzReadChallenge(f *testing.F) {
	f.Add(`Bearer a="b", c=d`)
	f.Fuzz(func(_ *testing.T, value string) { readChallenge(http.Header{"Www-Authenticate": {value}}) })
}
