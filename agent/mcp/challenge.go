package mcp

import (
	"net/http"
	"strings"
)

// maxChallenge bounds what an error quotes of each part of a challenge.
const maxChallenge = 1 << 10

// challenge is what a server's WWW-Authenticate says of bearer tokens.
type challenge struct {
	resourceMetadata, scope, code, description string
}

// readChallenge reads the parameters of the Bearer challenges in a response
// (RFC 9110 section 11, RFC 6750 section 3, RFC 9728 section 5.1). The first
// value of each counts.
func readChallenge(header http.Header) challenge {
	var c challenge
	for _, value := range header.Values("WWW-Authenticate") {
		bearer := false
		for value != "" {
			var token string
			token, value = cutToken(strings.TrimLeft(value, " \t,"))
			if token == "" { // not a token: nothing that follows is reliable
				break
			}
			rest := strings.TrimLeft(value, " \t")
			if !strings.HasPrefix(rest, "=") { // a scheme
				bearer = strings.EqualFold(token, "Bearer")
				continue
			}
			var text string
			text, value = cutValue(strings.TrimLeft(rest[1:], " \t"))
			if bearer {
				c.set(strings.ToLower(token), text)
			}
		}
	}
	return c
}

func (c *challenge) set(name, value string) {
	var field *string
	switch name {
	case "resource_metadata":
		field = &c.resourceMetadata
	case "scope":
		field = &c.scope
	case "error":
		field = &c.code
	case "error_description":
		field = &c.description
	default:
		return
	}
	if *field == "" {
		*field = value
	}
}

func cutToken(s string) (token, rest string) {
	i := 0
	for i < len(s) && isTokenByte(s[i]) {
		i++
	}
	return s[:i], s[i:]
}

// cutValue cuts a quoted string or a token off.
func cutValue(s string) (value, rest string) {
	if !strings.HasPrefix(s, `"`) {
		// Some servers leave URLs unquoted, which are no tokens.
		if i := strings.IndexAny(s, ", \t"); i >= 0 {
			return s[:i], s[i:]
		}
		return s, ""
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
			if i < len(s) {
				b.WriteByte(s[i])
			}
		case '"':
			return b.String(), s[i+1:]
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), ""
}

// isTokenByte reports whether a byte may stand in a token of HTTP, such as the
// name of a header.
func isTokenByte(b byte) bool {
	switch {
	case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9':
		return true
	}
	return strings.IndexByte("!#$%&'*+-.^_`|~", b) >= 0
}

// oneLine makes text from outside fit to be quoted.
func oneLine(s string, limit int) string {
	s = strings.ToValidUTF8(s, "�")
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == ' ' }), " ")
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
