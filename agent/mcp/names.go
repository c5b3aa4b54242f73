package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxToolName is the length in bytes that model endpoints allow for the name of a
// tool (OpenAI's "^[a-zA-Z0-9_-]{1,64}$").
const maxToolName = 64

// serverPrefix is how much of a server's name stays in a name that had to be
// shortened, so that a reader still sees whose tool it is.
const serverPrefix = 24

// hashLength is how many bytes of a hash a name ends in.
const hashLength = 4

// toolName returns the name that a model calls a server's tool by.
//
// It depends on the two names alone, never on which other tools exist, so that it
// stays the same over runs, restarts and changes of the list. It is
// "server__tool" where that is acceptable and can be told apart from every other
// pair; else it is cleaned, cut, and ends in a hash of both names.
func toolName(server, tool string) string {
	if plainServer(server) && plain(tool) && !endsInHash(tool) && len(server)+2+len(tool) <= maxToolName {
		return server + "__" + tool
	}
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	suffix := "_" + hex.EncodeToString(sum[:hashLength])
	prefix := cut(clean(server), serverPrefix) + "__"
	return prefix + cut(clean(tool), maxToolName-len(prefix)-len(suffix)) + suffix
}

// plainServer reports whether the first "__" after the server's name is sure to
// be the one that ends it.
func plainServer(server string) bool {
	return plain(server) && !strings.Contains(server, "__") && !strings.HasSuffix(server, "_")
}

// endsInHash reports whether a name could be taken for one with a hash: a server
// must not be able to give a tool the name that a tool of another server gets.
func endsInHash(tool string) bool {
	i := strings.LastIndexByte(tool, '_')
	return i >= 0 && len(tool)-i-1 == 2*hashLength && strings.Trim(tool[i+1:], "0123456789abcdef") == ""
}

func plain(name string) bool { return name != "" && clean(name) == name }

func clean(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
}

func cut(s string, n int) string { return s[:min(len(s), n)] }
