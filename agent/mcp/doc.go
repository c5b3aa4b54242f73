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
// session, because nothing tells whether the first one took effect; the one
// exception, for tools that are harmless twice, stands below.
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
// # Servers behind a URL
//
// A server with a [Server.URL] is spoken to over streamable HTTP, or over HTTP with
// server-sent events as it was in the protocol's revision 2024-11-05. A stream that
// breaks before it brought the answer is resumed after its last event, where the
// server gives its events ids; no event counts twice. A session that the server
// has ended fails the calls under way with [ErrSessionLost], and the next call
// makes a new one. A refusal for want of a login is [ErrLoginNeeded]; the package
// opens no browser and stores no token: [Server.Token] is where a host gives it one.
//
// A call whose effect is not known to be harmless reaches a server once. The only
// requests that are sent again are those that were not carried out, and those that
// may be carried out twice:
//
//   - one refused with 401, once, when [Server.Token] has given a new token;
//   - one that the same server (scheme, host and port) redirects with 307 or 308;
//   - one of which nothing was sent, or which an HTTP/2 server says it has not
//     touched, when its connection had closed meanwhile (net/http does that);
//   - initialize, to the older transport, when [KindAuto] meets a status of 400 to
//     499, or in the newer protocol when the server refuses it;
//   - a call that failed with [ErrSessionLost], once, when the server declares its
//     tool read-only or idempotent.
//
// A stream is resumed with a GET, which does not repeat the request.
//
// Every call carries its stable key in the request's _meta under [KeyMeta], so a
// server can recognise a repeated call after a crash.
package mcp
