package mcp_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/mcp"
)

// variables is a lookup over what a test sets.
func variables(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func TestAConfigurationOfOtherClientsIsRead(t *testing.T) {
	t.Parallel()
	servers, err := mcp.ReadConfig([]byte("\xef\xbb\xbf"+`{
		"$schema": "https://example.com/mcp.json",
		"inputs": [],
		"mcpServers": {
			"files": {"type": "stdio", "command": "npx", "args": ["-y", "server-filesystem", "${DATA:-/data}"], "autoApprove": ["x"], "timeout": 60},
			"api": {
				"command": "${HOME_DIR}/bin/api", "cwd": "tools", "args": ["--url=${HOST}:${PORT:-8080}/x"],
				"env": {"API_KEY": "${API_KEY}", "EMPTY": "", "MODE": "a${API_KEY}b", "PRICE": "$5 ${", "SH": "${x%.*}"}
			},
			"off": {"command": "${NOT_SET}", "disabled": true}
		}
	}`), variables("HOME_DIR", "/home/u", "HOST", "${API_KEY}", "API_KEY", "k-12345", "PORT", ""))
	require.NoError(t, err)
	assert.Equal(t, []mcp.Server{
		{Name: "files", Command: "npx", Args: []string{"-y", "server-filesystem", "/data"}},
		{
			Name: "api", Command: "/home/u/bin/api", Dir: "tools", Args: []string{"--url=${API_KEY}:8080/x"},
			Env:     map[string]string{"API_KEY": "k-12345", "EMPTY": "", "MODE": "ak-12345b", "PRICE": "$5 ${", "SH": "${x%.*}"},
			Secrets: []string{"${API_KEY}", "/home/u", "k-12345"},
		},
	}, servers)
}

func TestAServerSaysHowItIsSharedAndHowLongItMayTake(t *testing.T) {
	t.Parallel()
	servers, err := mcp.ReadConfig([]byte(`{"mcpServers": {
		"a": {"command": "a", "sharing": "step", "required": false, "start_timeout": "1m30s", "call_timeout": "45s", "max_call_timeout": "1h"},
		"b": {"command": "b", "sharing": "group", "required": true, "disabled": false, "enabled": true},
		"c": {"command": "c", "sharing": "run"},
		"d": {"command": "d", "sharing": null, "required": null, "call_timeout": null, "disabled": null, "alwaysAllow": ["x"], "timeout": 60, "trust": true},
		"off": {"command": "${NOT_SET}", "enabled": false}
	}}`), nil)
	require.NoError(t, err)
	assert.Equal(t, []mcp.Server{
		{
			Name: "a", Command: "a", Sharing: new(agent.SharePerStep), Optional: true,
			StartTimeout: 90 * time.Second, CallTimeout: 45 * time.Second, MaxCallTimeout: time.Hour,
		},
		{Name: "b", Command: "b", Sharing: new(agent.SharePerGroup)},
		{Name: "c", Command: "c", Sharing: new(agent.SharePerRun)},
		{Name: "d", Command: "d"},
	}, servers)
}

func TestAServerIsRequiredAndSharedByTheRunUnlessItSaysOtherwise(t *testing.T) {
	t.Parallel()
	plain, err := mcp.New(mcp.Server{Name: "a", Command: "a"})
	require.NoError(t, err)
	assert.False(t, plain.Optional())
	assert.Equal(t, agent.SharePerRun, plain.Sharing())
	for _, sharing := range []agent.Sharing{agent.SharePerRun, agent.SharePerGroup, agent.SharePerStep} {
		other, err := mcp.New(mcp.Server{Name: "a", Command: "a", Sharing: &sharing, Optional: true})
		require.NoError(t, err)
		assert.True(t, other.Optional())
		assert.Equal(t, sharing, other.Sharing())
	}
	_, err = mcp.New(mcp.Server{Name: "a", Command: "a", Sharing: new(agent.Sharing(7))})
	require.ErrorContains(t, err, "sharing 7 is not known")
}

func TestAMissingVariableIsNamedWithItsServerAndField(t *testing.T) {
	t.Parallel()
	servers, err := mcp.ReadConfig([]byte(`{"mcpServers": {
		"good": {"command": "a"},
		"git/hub": {"command": "b", "args": ["x", "${ONE}"], "env": {"T/K": "${TWO}"}}
	}}`), nil)
	require.ErrorIs(t, err, mcp.ErrMissingVariable)
	require.Len(t, servers, 1)
	assert.Equal(t, "good", servers[0].Name)
	var all mcp.ConfigErrors
	require.ErrorAs(t, err, &all)
	require.Len(t, all, 2)
	assert.Equal(t, []string{"git/hub", "args", "ONE", "/mcpServers/git~1hub/args/1"}, []string{all[0].Server, all[0].Field, all[0].Variable, all[0].Pointer})
	assert.Equal(t, []string{"git/hub", "env.T/K", "TWO", "/mcpServers/git~1hub/env/T~1K"}, []string{all[1].Server, all[1].Field, all[1].Variable, all[1].Pointer})
	assert.Equal(t,
		`.mcp.json:3#/mcpServers/git~1hub/args/1: error: mcp server "git/hub": args needs the variable ONE, which is not set [mcp.config.variable] (set ONE, or give a default: ${ONE:-…})`,
		all[0].Error())
}

func TestAServerIsReachedByURLAsOtherClientsWriteIt(t *testing.T) {
	t.Parallel()
	lookup := func(name string) (string, bool) { return "hunter22", name == "T" }
	for entry, want := range map[string]mcp.Kind{
		`{"url": "https://example.com/mcp"}`:                                                             mcp.KindAuto,
		`{"type": "http", "url": "https://example.com/mcp"}`:                                             mcp.KindHTTP,
		`{"type": "streamable-http", "url": "https://example.com/mcp"}`:                                  mcp.KindHTTP,
		`{"type": "streamableHttp", "url": "https://example.com/mcp"}`:                                   mcp.KindHTTP,
		`{"type": "sse", "url": "https://example.com/mcp"}`:                                              mcp.KindSSE,
		`{"type": "SSE", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${T}"}}`: mcp.KindSSE,
	} {
		servers, err := mcp.ReadConfig([]byte(`{"mcpServers": {"remote": `+entry+`}}`), lookup)
		require.NoError(t, err, entry)
		require.Len(t, servers, 1)
		assert.Equal(t, want, servers[0].Kind, entry)
		assert.Equal(t, "https://example.com/mcp", servers[0].URL)
		if servers[0].Headers != nil {
			assert.Equal(t, "Bearer hunter22", servers[0].Headers["Authorization"])
			assert.Equal(t, []string{"hunter22"}, servers[0].Secrets)
		}
		_, err = mcp.New(servers[0])
		require.NoError(t, err)
	}
}

func TestWhatIsWrongWithAServerReachedByURLIsSaidWithoutItsSecrets(t *testing.T) {
	t.Parallel()
	lookup := func(name string) (string, bool) { return "hunter22\n", name == "T" }
	for entry, want := range map[string]string{
		`{"type": "sse"}`:                                                  `/mcpServers/s/url: error: mcp server "s": it has no url`,
		`{"type": "websocket", "url": "ws://a"}`:                           `type "websocket" is not known`,
		`{"type": "stdio", "url": "http://a"}`:                             `/command: error: mcp server "s": it has no command`,
		`{"url": "http://a", "command": "b"}`:                              `both a command and a url`,
		`{"type":"http","url":"x"}`:                                        `url must begin with http:// or https:// and name a host`,
		`{"url": "ftp://${T}/"}`:                                           `url is not a URL`,
		`{"url": "http://a", "headers": {"X Y": "b"}}`:                     `/headers/X Y: error: mcp server "s": header "X Y" has no valid name`,
		`{"url": "http://a", "headers": {"Mcp-Session-Id": "b"}}`:          `is set by the client itself`,
		`{"url": "http://a", "headers": {"idempotency-key": "b"}}`:         `is set by the client itself`,
		`{"url": "http://a", "headers": {"Authorization": "Bearer ${T}"}}`: `has a line break`,
	} {
		servers, err := mcp.ReadConfig([]byte(`{"mcpServers": {"s": `+entry+`}}`), lookup)
		require.ErrorContains(t, err, want, entry)
		assert.NotContains(t, err.Error(), "hunter22")
		assert.Empty(t, servers)
	}
	for _, server := range []mcp.Server{
		{Name: "s", URL: "x"},
		{Name: "s", URL: "http://a", Command: "b"},
		{Name: "s", URL: "http://a", Kind: "ws"},
		{Name: "s", URL: "http://a", Headers: map[string]string{"Accept": "b"}},
		{Name: "s"},
	} {
		_, err := mcp.New(server)
		require.Error(t, err)
	}
}

func TestWhatIsWrongWithAConfigurationIsSaidWithItsPlace(t *testing.T) {
	t.Parallel()
	server := func(s string) string { return `{"mcpServers": {"s": ` + s + `}}` }
	for data, want := range map[string]string{
		``:                                   `.mcp.json:1: error: not JSON`,
		"{\n  \"mcpServers\": {},\n}":        `not JSON: line 3, column 1`,
		`[]`:                                 `the file is an array, not an object`,
		`{"servers": {}}`:                    `there is no mcpServers`,
		`{"mcpServers": []}`:                 `.mcp.json:1#/mcpServers: error: mcpServers is an array`,
		server(`"npx"`):                      `.mcp.json:1#/mcpServers/s: error: mcp server "s": is a string, not an object`,
		server(`{}`):                         `.mcp.json:1#/mcpServers/s/command: error: mcp server "s": it has no command`,
		server(`{"command": ["a"]}`):         `#/mcpServers/s/command: error: mcp server "s": command is an array, not a string`,
		server(`{"command": ""}`):            `it has no command`,
		server(`{"command":"a","args":"b"}`): `/args: error: mcp server "s": args is a string, not a list of strings`,
		server(`{"command":"a","args":[1]}`): `put it in quotes: "1"`,
		server(`{"command":"a","env":{"P":8080}}`):                  `/env/P: error: mcp server "s": env.P is a number, not a string`,
		server(`{"command":"a","env":[]}`):                          `env is an array, not an object of strings`,
		server(`{"command":"a","url":"b"}`):                         `both a command and a url`,
		server(`{"command":"a","type":"telepathy"}`):                `type "telepathy" is not known`,
		server(`{"command":"a","args":["${env:TOKEN}"]}`):           `write ${TOKEN}`,
		server(`{"command":"${X}"}`):                                `command needs the variable X`,
		server(`{"command":"a","sharing":"world"}`):                 `/sharing: error: mcp server "s": sharing "world" is not known [mcp.config.sharing] (use "run", "group" or "step")`,
		server(`{"command":"a","sharing":""}`):                      `sharing "" is not known`,
		server(`{"command":"a","sharing":1}`):                       `/sharing: error: mcp server "s": sharing is a number, not a string`,
		server(`{"command":"a","required":"no"}`):                   `/required: error: mcp server "s": required is a string, not true or false`,
		server(`{"command":"a","disabled":"true"}`):                 `/disabled: error: mcp server "s": disabled is a string, not true or false`,
		server(`{"command":"a","enabled":0}`):                       `/enabled: error`,
		server(`{"command":"a","start_timeout":30}`):                `/start_timeout: error: mcp server "s": start_timeout is a number, not a duration [mcp.config.type] (write a number with its unit as a string, such as "30s")`,
		server(`{"command":"a","call_timeout":"30"}`):               `/call_timeout: error: mcp server "s": call_timeout "30" is not a duration above zero`,
		server(`{"command":"a","max_call_timeout":"-1s"}`):          `max_call_timeout "-1s" is not a duration above zero`,
		`{"mcpServers": {"s":{"command":"a"},"s":{"command":"b"}}}`: `the name is used twice`,
		`{"mcpServers": {"":{"command":"a"}}}`:                      `a server needs a name`,
	} {
		_, err := mcp.ReadConfig([]byte(data), nil)
		var all mcp.ConfigErrors
		require.ErrorAs(t, err, &all, data)
		assert.Len(t, all, 1, data)
		assert.ErrorContains(t, err, want, data)
		assert.True(t, all.Diagnostics().HasErrors())
	}
}

func TestNewRefusesAServerThatCannotBeRight(t *testing.T) {
	t.Parallel()
	for _, server := range []mcp.Server{
		{},
		{Name: "a"},
		{Command: "a"},
		{Name: "a", Command: "a", CallTimeout: -1},
		{Name: "a", Command: "a", Args: []string{"\x00"}},
		{Name: "a", Command: "a", Env: map[string]string{"A=B": ""}},
	} {
		_, err := mcp.New(server)
		require.Error(t, err)
	}
}

func FuzzReadConfig(f *testing.F) {
	f.Add(`{"mcpServers":{"a":{"command":"x","args":["${A}","${B:-c}"],"env":{"K":"${A}"},"cwd":"."}}}`)
	f.Add(`{"mcpServers":{"a":{"url":"x","type":"sse","headers":{"h":"${A}"}}}}`)
	f.Add(`{"mcpServers":{"a":{"command":"${env:A} ${ ${} ${:-} ${A:-${B}}"}}}`)
	f.Add(`{"mcpServers":{"a":{"disabled":true},"a":null}}`)
	f.Add(`{"mcpServers":{"a":{"command":"x","sharing":"step","required":false,"call_timeout":"1h","start_timeout":3,"enabled":1}}}`)
	f.Fuzz(func(t *testing.T, data string) {
		servers, err := mcp.ReadConfig([]byte(data), variables("A", "s3cret-value", "EMPTY", ""))
		var all mcp.ConfigErrors
		if err != nil {
			require.ErrorAs(t, err, &all)
			require.NotContains(t, err.Error(), "s3cret-value")
		}
		for _, e := range all {
			require.NotEmpty(t, e.Code)
			require.NotEmpty(t, e.Message)
			require.True(t, e.Pointer == "" || strings.HasPrefix(e.Pointer, "/"))
		}
		names := map[string]bool{}
		for _, server := range servers {
			require.NotEmpty(t, server.Command)
			require.False(t, names[server.Name])
			names[server.Name] = true
			whole, err := json.Marshal(struct {
				Command, Dir string
				Args         []string
				Env          map[string]string
			}{server.Command, server.Dir, server.Args, server.Env})
			require.NoError(t, err)
			if strings.Contains(string(whole), "s3cret-value") && !strings.Contains(data, "s3cret-value") && !strings.Contains(data, `\`) {
				require.Contains(t, server.Secrets, "s3cret-value")
			}
		}
	})
}
