package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/treadle-dev/treadle/workspace"
)

// ConfigError is one thing wrong with .mcp.json.
type ConfigError struct {
	// Diagnostic says where it is (file and JSON pointer) and what to do. Its
	// message never holds a value that came through the lookup.
	workspace.Diagnostic
	Server   string // empty when it is not about one server
	Field    string // such as "args", "env.TOKEN"; empty when it is not about one
	Variable string // the missing variable, for [ErrMissingVariable]
	Err      error  // the kind, where it has a name: [ErrMissingVariable]
}

func (e *ConfigError) Error() string { return e.String() }

func (e *ConfigError) Unwrap() error { return e.Err }

// ConfigErrors is everything wrong with .mcp.json. errors.Is and errors.As look
// through all of it.
type ConfigErrors []*ConfigError

func (es ConfigErrors) Error() string { return es.Diagnostics().Error() }

// Unwrap returns the single errors.
func (es ConfigErrors) Unwrap() []error {
	all := make([]error, len(es))
	for i, e := range es {
		all[i] = e
	}
	return all
}

// Diagnostics returns the findings as every reader of a workflow's files reports
// them.
func (es ConfigErrors) Diagnostics() workspace.Diagnostics {
	all := make(workspace.Diagnostics, len(es))
	for i, e := range es {
		all[i] = e.Diagnostic
	}
	return all
}

// locate enters the lines of the findings.
func (es ConfigErrors) locate(data []byte) {
	all := es.Diagnostics()
	all.Locate(workspace.MCPFile, data)
	for i, e := range es {
		e.Diagnostic = all[i]
	}
}

// ReadConfig reads .mcp.json as other MCP clients write it: an object mcpServers
// of name to server, where a server has command, args, env and cwd, or type, url
// and headers. A server with "disabled": true or "enabled": false is passed over.
// Servers come in the order of the file.
//
// A server may also say, in keys that other clients pass over, what [Server] holds
// of it: "sharing" ("run", "group" or "step"), "required" (false for one that a step
// can do without), and "start_timeout", "call_timeout" and "max_call_timeout" as
// durations in Go's form, such as "90s" or "2m30s". Keys that are not known are
// passed over here too.
//
// In command, args, env, cwd, url and the values of headers, ${NAME} becomes the
// value that lookup gives (os.LookupEnv, for instance), and ${NAME:-default} the
// default where that is missing or empty. Each such value is in the server's
// [Server.Secrets]; a default is not. A value is not expanded again.
//
// The error is a [ConfigErrors] with everything that is wrong. The servers beside
// it are those without an error, so that a host may go on when it needs no other.
// A nil lookup knows no variable.
func ReadConfig(data []byte, lookup func(string) (string, bool)) ([]Server, error) {
	if lookup == nil {
		lookup = func(string) (string, bool) { return "", false }
	}
	r := &configReader{lookup: lookup}
	servers := r.file(data)
	if len(r.errs) > 0 {
		r.errs.locate(data)
		return servers, r.errs
	}
	return servers, nil
}

// configReader reads one file and collects what is wrong with it.
type configReader struct {
	lookup func(string) (string, bool)
	errs   ConfigErrors
}

func (r *configReader) file(data []byte) []Server {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	root, ok := r.root(data)
	if !ok {
		return nil
	}
	raw, ok := root.get("mcpServers")
	if !ok {
		r.add(&ConfigError{Diagnostic: workspace.Diagnostic{
			Code: codeConfigServers, Message: "there is no mcpServers",
			Hint: `write {"mcpServers": {"name": {"command": "…"}}}`,
		}})
		return nil
	}
	entries, err := parseObject(raw)
	if err != nil {
		r.add(&ConfigError{Diagnostic: workspace.Diagnostic{
			Code: codeConfigType, Pointer: "/mcpServers", Message: "mcpServers " + err.Error(),
		}})
		return nil
	}
	var servers []Server
	seen := map[string]bool{}
	for _, entry := range entries {
		at := &place{r: r, server: entry.name, pointer: "/mcpServers/" + workspace.PointerEscape(entry.name)}
		if seen[entry.name] {
			at.problem(codeConfigDuplicate, "", "the name is used twice", "rename one of the two")
			continue
		}
		seen[entry.name] = true
		before := len(r.errs)
		server, use := at.read(entry.value)
		if use && len(r.errs) == before {
			servers = append(servers, server)
		}
	}
	return servers
}

func (r *configReader) root(data []byte) (object, bool) {
	var probe json.RawMessage
	if err := json.Unmarshal(data, &probe); err != nil {
		r.add(&ConfigError{Diagnostic: workspace.Diagnostic{
			Code: codeConfigJSON, Message: syntaxMessage(data, err),
			Hint: "the file must be plain JSON, without comments or trailing commas",
		}})
		return nil, false
	}
	root, err := parseObject(data)
	if err != nil {
		r.add(&ConfigError{Diagnostic: workspace.Diagnostic{Code: codeConfigType, Message: "the file " + err.Error()}})
		return nil, false
	}
	return root, true
}

func syntaxMessage(data []byte, err error) string {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return "not JSON: " + err.Error()
	}
	before := data[:min(int(syntax.Offset), len(data))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := len(before) - bytes.LastIndexByte(before, '\n') - 1
	return fmt.Sprintf("not JSON: line %d, column %d: %s", line, column, syntax.Error())
}

func (r *configReader) add(e *ConfigError) {
	e.File, e.Severity = workspace.MCPFile, workspace.SeverityError
	if e.Hint == "" {
		e.Hint = row(e.Code).Hint
	}
	r.errs = append(r.errs, e)
}

// place is where in the file a server is read.
type place struct {
	r       *configReader
	server  string
	pointer string
	secrets []string
}

func (p *place) problem(code, field, message, hint string) *ConfigError {
	pointer := p.pointer
	if field != "" {
		pointer += "/" + field
	}
	e := &ConfigError{
		Diagnostic: workspace.Diagnostic{
			Code: code, Pointer: pointer, Hint: hint,
			Message: fmt.Sprintf("mcp server %q: %s", p.server, message),
		},
		Server: p.server, Field: fieldName(field),
	}
	p.r.add(e)
	return e
}

// fieldName turns the end of a JSON pointer into what a person would call it.
func fieldName(pointer string) string {
	name, rest, nested := strings.Cut(pointer, "/")
	if !nested || name == "args" {
		return name
	}
	return name + "." + strings.NewReplacer("~1", "/", "~0", "~").Replace(rest)
}

// read reads one server. It reports false for one that is not to be used.
func (p *place) read(raw json.RawMessage) (Server, bool) {
	entry, err := parseObject(raw)
	if err != nil {
		p.problem(codeConfigType, "", err.Error(), "")
		return Server{}, false
	}
	if p.flag(entry, "disabled", false) || !p.flag(entry, "enabled", true) {
		return Server{}, false
	}
	server := Server{
		Name:    p.server,
		Command: p.text(entry, "command"),
		Args:    p.texts(entry, "args"),
		Env:     p.textMap(entry, "env"),
		Dir:     p.text(entry, "cwd"),
		URL:     p.text(entry, "url"),
		Headers: p.textMap(entry, "headers"),

		Sharing:        p.sharing(entry),
		Optional:       !p.flag(entry, "required", true),
		StartTimeout:   p.duration(entry, "start_timeout"),
		CallTimeout:    p.duration(entry, "call_timeout"),
		MaxCallTimeout: p.duration(entry, "max_call_timeout"),
	}
	slices.Sort(p.secrets)
	server.Secrets = slices.Compact(p.secrets)
	p.checkKind(entry, &server)
	return server, true
}

// checkKind holds a server to one way of being reached.
func (p *place) checkKind(entry object, server *Server) {
	kind := p.literal(entry, "type")
	_, hasURL := entry.get("url")
	_, hasCommand := entry.get("command")
	if p.server == "" {
		p.problem(codeConfigName, "", "a server needs a name", "")
	}
	switch strings.ToLower(kind) {
	case "":
	case "stdio":
		hasURL = hasURL && hasCommand
	default:
		read, known := ParseKind(kind)
		if !known {
			p.problem(codeConfigKind, "type", fmt.Sprintf("type %q is not known", kind), `use "stdio" with a command, or "http" or "sse" with a url`)
			return
		}
		server.Kind, hasURL = read, true
	}
	switch {
	case hasURL && hasCommand:
		p.problem(codeConfigKind, "url", "it has both a command and a url", "keep one of the two")
	case hasURL:
		p.checkURL(server)
	case server.Command == "" && !p.failed("command"):
		p.problem(codeConfigCommand, "command", "it has no command", "name the program that serves it")
	}
}

// failed reports whether a field of this server has a problem already.
func (p *place) failed(field string) bool {
	return slices.ContainsFunc(p.r.errs, func(e *ConfigError) bool { return e.Pointer == p.pointer+"/"+field })
}

// literal reads a string that holds no variables.
func (p *place) literal(entry object, field string) string {
	raw, ok := entry.get(field)
	if !ok || isNull(raw) {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		p.wrongType(field, field, raw, "a string")
	}
	return s
}

// text reads a string and puts its variables in.
func (p *place) text(entry object, field string) string {
	return p.expand(field, p.literal(entry, field))
}

func (p *place) texts(entry object, field string) []string {
	raw, ok := entry.get(field)
	if !ok || isNull(raw) {
		return nil
	}
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		p.wrongType(field, field, raw, "a list of strings")
		return nil
	}
	values := make([]string, 0, len(items))
	for i, item := range items {
		at := field + "/" + strconv.Itoa(i)
		var s string
		if isNull(item) || json.Unmarshal(item, &s) != nil {
			p.wrongType(at, fmt.Sprintf("%s[%d]", field, i), item, "a string")
			continue
		}
		values = append(values, p.expand(at, s))
	}
	return values
}

func (p *place) textMap(entry object, field string) map[string]string {
	raw, ok := entry.get(field)
	if !ok || isNull(raw) {
		return nil
	}
	members, err := parseObject(raw)
	if err != nil {
		p.wrongType(field, field, raw, "an object of strings")
		return nil
	}
	literals := map[string]json.RawMessage{}
	for _, m := range members {
		literals[m.name] = m.value
	}
	values := make(map[string]string, len(literals))
	for _, name := range slices.Sorted(maps.Keys(literals)) {
		at := field + "/" + workspace.PointerEscape(name)
		var s string
		if isNull(literals[name]) || json.Unmarshal(literals[name], &s) != nil {
			p.wrongType(at, field+"."+name, literals[name], "a string")
			continue
		}
		values[name] = p.expand(at, s)
	}
	return values
}

func (p *place) wrongType(at, name string, raw json.RawMessage, want string) {
	hint := ""
	if kind := jsonKind(raw); want == "a string" && (kind == "a number" || kind == "a boolean") {
		hint = fmt.Sprintf("put it in quotes: %q", strings.TrimSpace(string(raw)))
	}
	p.problem(codeConfigType, at, fmt.Sprintf("%s is %s, not %s", name, jsonKind(raw), want), hint)
}
