package egress

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// HostError says which entry of a [Config] names no host and port, and why.
type HostError struct {
	Entry   string
	Problem string
}

func (e *HostError) Error() string {
	return fmt.Sprintf("host to reach %q: %s", e.Entry, e.Problem)
}

// rules are the entries of a configuration, ready to be looked up. Values say whether
// addresses that are not public are accepted.
type rules struct {
	exact map[target]bool
	below map[target]bool // by what follows the "*", with its dot
	texts []string        // as they are told to who was refused
}

// verdict is what the rules say of a target.
type verdict struct {
	allowed bool
	private bool // accepts addresses that are not public
}

func newRules(hosts, privateHosts []string) (*rules, error) {
	r := &rules{exact: map[target]bool{}, below: map[target]bool{}}
	var problems []error
	add := func(entries []string, private bool) {
		for _, entry := range entries {
			if err := r.add(entry, private); err != nil {
				problems = append(problems, &HostError{Entry: entry, Problem: err.Error()})
			}
		}
	}
	add(hosts, false)
	add(privateHosts, true)
	slices.Sort(r.texts)
	r.texts = slices.Compact(r.texts)
	return r, errors.Join(problems...)
}

func (r *rules) add(entry string, private bool) error {
	rest, wild := strings.CutPrefix(entry, "*.")
	rest, err := asciiHost(rest)
	if err != nil {
		return err
	}
	t, err := parseTarget(rest, 0)
	if err != nil {
		return err
	}
	if !wild {
		r.exact[t] = r.exact[t] || private
		r.texts = append(r.texts, t.String())
		return nil
	}
	if t.addr.IsValid() {
		return errors.New("an address has no names below it; list each address")
	}
	r.texts = append(r.texts, "*."+t.String())
	t.name = "." + t.name
	r.below[t] = r.below[t] || private
	return nil
}

// asciiHost converts the name of an entry to ASCII. Entries that are ASCII pass as they
// are. The tables of IDNA are those that net/http has anyway: it shows what they make of
// a name in the Host line of a request.
func asciiHost(entry string) (string, error) {
	if isASCII(entry) {
		return entry, nil
	}
	if !utf8.ValidString(entry) {
		return "", errors.New("the name is not UTF-8")
	}
	name, port, _ := strings.Cut(entry, ":")
	var wire bytes.Buffer
	asked := &http.Request{URL: &url.URL{Scheme: "http", Host: name, Path: "/"}}
	if err := asked.Write(&wire); err != nil {
		return "", errors.New("the name cannot be written in ASCII; give the form that begins with xn--")
	}
	written, err := http.ReadRequest(bufio.NewReader(&wire))
	if err != nil {
		return "", fmt.Errorf("the name cannot be written in ASCII: %w", err)
	}
	return written.Host + ":" + port, nil
}

// find says whether a target is allowed: as it is, or below an entry with "*.".
func (r *rules) find(t target) verdict {
	private, exact := r.exact[t]
	v := verdict{allowed: exact, private: private || (exact && t.addr.IsValid())}
	if t.addr.IsValid() {
		return v
	}
	for i := range len(t.name) {
		if t.name[i] != '.' {
			continue
		}
		if private, ok := r.below[target{name: t.name[i:], port: t.port}]; ok {
			v.allowed = true
			v.private = v.private || private
		}
	}
	return v
}

// target is a host and port in the one form that is compared.
type target struct {
	name string     // lower case, without a dot at its end; empty for an address
	addr netip.Addr // IPv4 or IPv6, without a zone
	port uint16
}

func (t target) String() string {
	if t.addr.IsValid() {
		return netip.AddrPortFrom(t.addr, t.port).String()
	}
	return t.name + ":" + strconv.Itoa(int(t.port))
}

// parseTarget reads "host:port". Whatever has a second reading is refused: user
// information, percent encoding, zones, IPv4 inside IPv6, numbers that a resolver takes
// for an address. A port of zero stands for: must be given.
func parseTarget(authority string, defaultPort uint16) (target, error) {
	if len(authority) > maxAuthority {
		return target{}, errors.New("it is too long for a host and port")
	}
	host, port, bracketed, err := splitAuthority(authority)
	if err != nil {
		return target{}, err
	}
	t := target{port: defaultPort}
	if port != "" {
		if t.port, err = parsePort(port); err != nil {
			return target{}, err
		}
	}
	if t.port == 0 {
		return target{}, errors.New("the port is missing; write name:port")
	}
	if bracketed {
		t.addr, err = parseIPv6(host)
		return t, err
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		t.addr = addr
		return t, nil
	}
	t.name, err = canonicalName(host)
	return t, err
}

// maxAuthority is more than the longest name and port take.
const maxAuthority = 300

// splitAuthority splits off the port, which is empty where none is given.
func splitAuthority(authority string) (host, port string, bracketed bool, err error) {
	inner, bracketed := strings.CutPrefix(authority, "[")
	host, rest, closed := strings.Cut(inner, "]")
	switch {
	case !bracketed:
		// Of an IPv6 address without brackets the rest is no port.
		if i := strings.IndexByte(authority, ':'); i >= 0 {
			host, rest = authority[:i], authority[i:]
		}
	case !closed:
		return "", "", false, errors.New("the bracket of an IPv6 address is not closed")
	case rest != "" && rest[0] != ':':
		return "", "", false, errors.New("something other than a port follows the brackets")
	}
	if rest == ":" {
		return "", "", false, errors.New("the port is empty")
	}
	return host, strings.TrimPrefix(rest, ":"), bracketed, nil
}

func parsePort(text string) (uint16, error) {
	number, err := strconv.ParseUint(text, 10, 16)
	if err != nil || number == 0 || strconv.FormatUint(number, 10) != text {
		return 0, errors.New("the port is not a number from 1 to 65535")
	}
	return uint16(number), nil
}

func parseIPv6(text string) (netip.Addr, error) {
	addr, err := netip.ParseAddr(text)
	switch {
	case err != nil || !addr.Is6():
		return netip.Addr{}, errors.New("what is in brackets is not an IPv6 address")
	case addr.Zone() != "":
		return netip.Addr{}, errors.New("an address with a zone is of this machine only")
	case addr.Is4In6():
		return netip.Addr{}, errors.New("an IPv4 address is written as such, not inside an IPv6 address")
	}
	return addr, nil
}

// canonicalName returns the form of a name that is compared and looked up.
func canonicalName(host string) (string, error) {
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if name == "" || len(name) > 253 {
		return "", errors.New("the name is empty or too long")
	}
	last := ""
	for label := range strings.SplitSeq(name, ".") {
		if err := checkLabel(label); err != nil {
			return "", err
		}
		last = label
	}
	// Resolvers of the C library take 127.1, 0x7f.1 and 2130706433 for addresses. No
	// name of the world ends like that.
	if strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return "", errors.New("a name does not end in a number, and an IPv4 address has four decimal parts")
	}
	return name, nil
}

func checkLabel(label string) error {
	if label == "" || len(label) > 63 {
		return errors.New("a part of the name between two dots is empty or too long")
	}
	if label[0] == '-' || label[len(label)-1] == '-' {
		return errors.New("a part of the name begins or ends with a hyphen")
	}
	for i := range len(label) {
		c := label[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return errors.New("a name is made of letters, digits, hyphens and dots")
		}
	}
	return nil
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}
