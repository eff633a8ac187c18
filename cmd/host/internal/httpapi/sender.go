package httpapi

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/sdk"
)

// Behind a proxy that does TLS, every connection comes from the proxy, and only the proxy's
// headers show where a request came from. Anybody can send such headers, so they are
// trusted only from the networks that the operator named. They are read from their end,
// where the nearest proxy wrote, so that anything a client put before that is ignored.

// proxies are the networks of [Config.Proxies].
type proxies []netip.Prefix

// senderOf is the address that a request came from, by which rates are limited. It refuses
// a request that crossed a network without TLS, because it bypassed the proxy or because
// the proxy received it without TLS.
func (p proxies) senderOf(r *http.Request) (address string, err error) {
	address = hostOf(r.RemoteAddr)
	if len(p) == 0 {
		return address, nil
	}
	peer, err := netip.ParseAddr(address)
	switch {
	case err != nil:
		return address, nil
	case !p.has(peer):
		if r.TLS != nil || peer.Unmap().IsLoopback() {
			return address, nil
		}
		return address, sdk.Errorf(sdk.Denied, "proxy_required", "this server is asked through its proxy only: this way nothing is encrypted").
			WithHint("use the address of the proxy")
	}
	if protocol := protocolOf(r.Header); protocol != "" && protocol != "https" {
		return address, sdk.Errorf(sdk.Denied, "tls_required", "the proxy was asked without TLS").WithHint("use https")
	}
	return p.clientOf(r.Header, peer).String(), nil
}

// has reports whether an address is one of the proxies'.
func (p proxies) has(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	return slices.ContainsFunc(p, func(p netip.Prefix) bool { return p.Contains(address) })
}

// clientOf is the address of the client, according to the proxies. If two headers disagree,
// a proxy has passed on a header that it doesn't write itself, so neither is trusted.
func (p proxies) clientOf(h http.Header, peer netip.Addr) netip.Addr {
	var found []netip.Addr
	if list := forwardedFor(h); list != nil {
		found = append(found, p.before(list, peer))
	}
	if list := elements(h, "X-Forwarded-For"); list != nil {
		found = append(found, p.before(list, peer))
	}
	if len(found) == 0 || len(found) == 2 && found[0] != found[1] {
		return peer
	}
	return found[0]
}

// before is the last address of a list that isn't a proxy's; if it can't be read, it
// is the first known proxy after it.
func (p proxies) before(list []string, peer netip.Addr) netip.Addr {
	for _, text := range slices.Backward(list) {
		address, ok := addressIn(text)
		if !ok {
			return peer
		}
		if peer = address; !p.has(address) {
			return address
		}
	}
	return peer
}

// addressIn reads an address, which may have a port.
func addressIn(text string) (netip.Addr, bool) {
	if withPort, err := netip.ParseAddrPort(text); err == nil {
		return withPort.Addr().Unmap().WithZone(""), true
	}
	address, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return address.Unmap().WithZone(""), err == nil
}

// protocolOf is the client's protocol, according to the proxies; "" if they don't name it.
// If they disagree, it is the protocol that isn't https.
func protocolOf(h http.Header) string {
	said := elements(h, "X-Forwarded-Proto")
	for _, element := range elements(h, "Forwarded") {
		if protocol := parameter(element, "proto"); protocol != "" {
			said = append(said, protocol)
		}
	}
	protocol := ""
	for _, p := range said {
		if protocol = strings.ToLower(p); protocol != "https" {
			break
		}
	}
	return protocol
}

// forwardedFor are the addresses in the headers of RFC 7239; nil without such a header.
func forwardedFor(h http.Header) []string {
	var list []string
	for _, element := range elements(h, "Forwarded") {
		list = append(list, parameter(element, "for"))
	}
	return list
}

// elements are the elements of the list in all headers with a name.
func elements(h http.Header, name string) []string {
	var list []string
	for part := range listed(h.Values(name)) {
		list = append(list, strings.TrimSpace(part))
	}
	return list
}

// parameter is a parameter of an element of RFC 7239; "" if it has none. The parameters
// that are read here have no commas or semicolons in quotes.
func parameter(element, name string) string {
	for pair := range strings.SplitSeq(element, ";") {
		if key, value, ok := strings.Cut(strings.TrimSpace(pair), "="); ok && strings.EqualFold(key, name) {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}
