// Package mcp makes the tools of MCP servers available to agents.
//
// [New] turns a [Server] into a [Toolset], which is an agent.Toolset. Opening it
// starts the server's process; the session it returns serves one run and, when
// it is closed, leaves no process, goroutine or descriptor behind:
//
//	servers, err := mcp.ReadConfig(data, os.LookupEnv) // data is .mcp.json
//	…
//	toolset, err := mcp.New(servers[0])
//	session, err := toolset.Open(ctx, agent.Scope{Workspace: ws})
//	defer session.Close()
//	tools, err := session.Tools(ctx)
//
// # What a server may do
//
// Servers die, hang, stop reading, print banners on the protocol's stream and
// send lists that never end. A session survives all of it: every wait has a
// limit, a call on a server that died fails at once with [ErrServerDied], and
// the next call starts the server again. A call is never repeated by the
// session, because nothing tells whether the first one took effect.
//
// # What a server is given
//
// A server's environment is [Server.Env] and, of the host's own, only the
// variables that programs need to find their files and to speak the user's
// language: PATH, HOME, USER, LOGNAME, SHELL, TERM, TMPDIR, TZ, LANG, LC_ALL,
// LC_CTYPE, XDG_CACHE_HOME, XDG_CONFIG_HOME and XDG_DATA_HOME (on Windows also
// those without which programs do not start). Keys and tokens of the host are
// not among them: name what a server needs in its env, as "${NAME}".
//
// Every call carries its stable key in the request's _meta under [KeyMeta], so a
// server can recognise a repeated call after a crash.
package mcp
