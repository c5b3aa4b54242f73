package egress

import (
	"net"
	"net/netip"
)

// kindOf says in words why an address is not public; empty is public.
func kindOf(addr netip.Addr) string {
	addr = addr.WithZone("").Unmap()
	switch {
	case !addr.IsValid():
		return "an invalid"
	case addr.IsUnspecified():
		return "an unspecified"
	case addr.IsLoopback():
		return "a loopback"
	case addr.IsLinkLocalUnicast():
		return "a link-local"
	case addr.IsMulticast():
		return "a multicast"
	case addr.IsPrivate():
		return "a private"
	}
	for _, r := range special {
		if !r.prefix.Contains(addr) {
			continue
		}
		if r.embeds < 0 {
			return r.kind
		}
		bytes := addr.As16()
		return kindOf(netip.AddrFrom4([4]byte(bytes[r.embeds : r.embeds+4])))
	}
	return ""
}

// special are ranges that the checks of net/netip do not know (the IANA registries of
// special-purpose addresses). The ranges for documentation are not here: nobody is
// there.
var special = []struct {
	prefix netip.Prefix
	kind   string
	embeds int // where an IPv4 address stands in it; -1 is nowhere
}{
	{netip.PrefixFrom(netip.AddrFrom4([4]byte{0, 0, 0, 0}), 8), "an unspecified", -1},
	{netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 64, 0, 0}), 10), "a carrier's private", -1},
	{netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 0, 0}), 24), "a reserved", -1},
	{netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18, 0, 0}), 15), "a benchmark network's private", -1},
	{netip.PrefixFrom(netip.AddrFrom4([4]byte{240, 0, 0, 0}), 4), "a reserved", -1},
	{netip.PrefixFrom(netip.AddrFrom16([16]byte{0xfe, 0xc0}), 10), "a site-local", -1},
	{netip.PrefixFrom(netip.AddrFrom16([16]byte{0x01}), 64), "a discard-only", -1},
	{netip.PrefixFrom(netip.AddrFrom16([16]byte{}), 96), "", 12},                    // IPv4-compatible
	{netip.PrefixFrom(netip.AddrFrom16([16]byte{0, 0x64, 0xff, 0x9b}), 96), "", 12}, // NAT64
	{netip.PrefixFrom(netip.AddrFrom16([16]byte{0, 0x64, 0xff, 0x9b, 0, 1}), 48), "a private translator's", -1},
	{netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 0x02}), 16), "", 2}, // 6to4
}

// ownAddress reports whether an address is one of this machine's: a service that listens
// on all interfaces answers there as it does on the loopback.
func ownAddress(addr netip.Addr) bool {
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, a := range own {
		if network, ok := a.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(network.IP); ok && ip.Unmap() == addr.Unmap() {
				return true
			}
		}
	}
	return false
}
