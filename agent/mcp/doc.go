// Package mcp makes the tools of MCP servers available to agents.
//
// [New] turns a [Server] into a [Toolset], which is an agent.Toolset. It starts
// nothing: Open does, when a step first needs the server. The session that Open
// returns serves a run, a group or a step ([Server.Sharing]) and, when it is closed,
// leaves no process, goroutine or descriptor behind:
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
// Servers die, hang, stop reading, print banners on the protocol's stream, flood
// and send lists that never end. A session survives all of it: every wait has a
// limit, a call on a server that died fails at once with [ErrServerDied], and
// the next call starts the server again, once for all that wait for it.
//
// A call that was sent is not sent again by the session, because nothing tells
// whether it took effect; the one exception, for tools that are harmless twice on a
// server that is reached over HTTP, stands below. A call that the dead server cannot
// have seen is made on the next.
//
// A call ends at [Server.CallTimeout] unless the server reports progress: then the
// time counts anew from each report, up to [Server.MaxCallTimeout]. A call that is
// given up is canceled on the server, and the session goes on.
//
// What a server sends is bounded too: 64 MB for a message, 8 MB for its list of
// tools, 64 KB for a tool's description and 1 KB for its name, 16 KB for the text of
// an error. What is no UTF-8 is made so.
//
// The list of tools is read again after the server said that it changed, when it is
// next asked for; see [Session.Tools]. What cannot be used of it, and what else is
// odd about a server, is told by [Session.Problems].
//
// Of a server's own requests only ping is answered. Roots, sampling and elicitation
// are refused: what a server may touch is decided by its arguments and its sandbox,
// and it does not speak to the model or to a person by itself. What it logs goes to
// [Server.Logger], at most 20 messages a second of 2 KB each.
//
// # What a model sees
//
// A tool's name is "server__tool", or, where an endpoint would refuse that or it
// could be mistaken for another, a cleaned and cut form with a hash; agent.ToolSpec.Origin is
// the server's own name, which goes over the wire. It depends on the two names
// alone.
//
// Input schemas are written in the latest dialect of JSON Schema and given the form
// that endpoints want of the root. They accept what they did. A reference that leads
// nowhere and a type that does not exist are taken out, since one of them costs the
// whole request; a schema beyond that, or of more than 256 KB, costs its tool.
//
// A tool's effect is what its annotations promise: readOnlyHint makes it
// agent.ReadOnly, idempotentHint agent.Idempotent, and anything else agent.Unsafe;
// destructiveHint says something only of tools that are not read-only. They are a server's word and
// nothing checks it. The effect decides whether a call whose result was lost in a
// crash of the host is made again, so a server that is not trusted must not be
// given what would hurt twice.
//
// Results keep text, images, audio, embedded resources, links and structured
// content; media are passed on whole. Content of an unknown type is shown as its
// JSON. A result that is marked as an error is a failed result with its text, and so
// is one without the structured content that the tool declares.
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
// A start waits up to half a second for the stream on which the server speaks
// unasked, so that nothing it says there is lost.
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
