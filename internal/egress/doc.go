// Package egress is the one way out of a sandbox that has no network: an HTTP proxy on
// the host's side of a Unix socket, which lets through what is allowed by name and port
// and refuses all else before any name is looked up.
//
// TLS, and everything else that is not plain HTTP, passes through CONNECT; plain HTTP is
// forwarded by absolute URI. Each connection carries one request, so that nothing that
// two parsers could split differently is ever reused for a second one.
//
// A name is allowed for what it says, not for where it leads: when it resolves to an
// address that is not public (loopback, link-local, private, this machine's own, ...) it
// is refused, unless it stands in [Config.PrivateHosts] or is itself an address.
//
// What it cannot stop: a program inside may send data to an allowed host, in the data or,
// under a "*." entry, in the names that it asks for.
package egress
