package mcp

import (
	"fmt"
	"strings"
)

// expand puts the values of variables into one string of a server. What has not
// the form of a variable stays as it is, except the forms of other programs, which
// would otherwise reach the server unexpanded and unnoticed.
func (p *place) expand(at, s string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(s, "${")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		inside, after, closed := strings.Cut(rest, "}")
		name, fallback, hasDefault := strings.Cut(inside, ":-")
		switch {
		case closed && isVariable(name):
			out.WriteString(p.variable(at, name, fallback, hasDefault))
			s = after
		case closed && isForeign(inside):
			_, bare, _ := strings.Cut(inside, ":")
			p.problem(codeConfigVariable, at, fmt.Sprintf("${%s} in %s is not a form that is known here", inside, fieldName(at)),
				fmt.Sprintf("write ${%s}", bare))
			s = after
		default:
			out.WriteString("${")
			s = rest
		}
	}
}

func (p *place) variable(at, name, fallback string, hasDefault bool) string {
	value, ok := p.r.lookup(name)
	if hasDefault && value == "" { // as in a shell, where :- is also for an empty value
		return fallback
	}
	if !ok {
		e := p.problem(codeConfigVariable, at,
			fmt.Sprintf("%s needs the variable %s, which is not set", fieldName(at), name),
			fmt.Sprintf("set %s, or give a default: ${%s:-…}", name, name))
		e.Variable, e.Err = name, ErrMissingVariable
		return ""
	}
	if value != "" {
		p.secrets = append(p.secrets, value)
	}
	return value
}

func isVariable(name string) bool {
	for i, r := range name {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}

// isForeign reports whether an editor's form of a variable is meant.
func isForeign(inside string) bool {
	return strings.HasPrefix(inside, "env:") || strings.HasPrefix(inside, "input:")
}
