package egress

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzTarget checks that what is read as a target has one form, which reads back as
// itself and cannot be mistaken.
func FuzzTarget(f *testing.F) {
	for _, seed := range []string{
		"example.com:443", "EXAMPLE.com.:80", "192.0.2.7:1", "[2001:db8::7]:65535", "[fe80::1%25eth0]:80", "a@b:1", "a%2eb:1", "xn--a:1",
		"127.1:80", "0x7f.1:80", "[::ffff:1.2.3.4]:5", "a_b.c-d:9", "::1:80", "[::1]", "a:b:1", "ａ:1", "a..b:1", "-:1", ":1", "a:", "a:01",
	} {
		f.Add(seed, uint16(0))
		f.Add(seed, uint16(80))
	}
	f.Fuzz(func(t *testing.T, text string, defaultPort uint16) {
		got, err := parseTarget(text, defaultPort)
		if err != nil {
			return
		}
		form := got.String()
		again, err := parseTarget(form, 0)
		require.NoError(t, err)
		require.Equal(t, got, again)
		require.Equal(t, form, again.String())
		require.NotZero(t, got.port)
		require.NotEqual(t, got.name == "", !got.addr.IsValid(), "one of both")
		require.Empty(t, got.addr.Zone())
		require.False(t, got.addr.Is4In6())
		require.Empty(t, strings.Trim(form, "abcdefghijklmnopqrstuvwxyz0123456789-_.:[]"))
		_, err = netip.ParseAddr(got.name)
		require.Error(t, err)

		// An entry allows what it reads as, and nothing beside it.
		rules, err := newRules([]string{form}, nil)
		require.NoError(t, err)
		require.True(t, rules.find(got).allowed)
		for _, other := range []target{
			{name: "x" + got.name, addr: got.addr, port: got.port ^ 1},
			{name: "x." + got.name, port: got.port},
			{name: got.name + ".x", port: got.port},
		} {
			require.False(t, rules.find(other).allowed, "%v", other)
		}
	})
}

// FuzzEntry checks that an entry is refused, or allows nothing but its own host, or names
// below it.
func FuzzEntry(f *testing.F) {
	for _, seed := range []string{"*.example.com:443", "bücher.example:1", "*.bücher.example:1", "*.*.x:1", "straße.example:1", "a\u200db.example:1", "１２７.0.0.1:80"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, entry string) {
		rules, err := newRules([]string{entry}, nil)
		if err != nil {
			return
		}
		require.Len(t, rules.texts, 1)
		again, err := newRules(rules.texts, nil)
		require.NoError(t, err)
		require.Equal(t, rules, again)
		require.Equal(t, 1, len(rules.exact)+len(rules.below))
		for t2 := range rules.below {
			require.False(t, rules.find(target{name: t2.name[1:], port: t2.port}).allowed)
			require.True(t, rules.find(target{name: "a" + t2.name, port: t2.port}).allowed)
		}
	})
}
