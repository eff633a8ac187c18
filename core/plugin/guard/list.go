package guard

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/sdk"
)

// List is what a plugin may reach. It is safe for concurrent use; the zero value
// allows nothing.
type List struct{ granted []endpoint }

// endpoint is one host and port. A host is a lower-case name without a final
// dot, or an address.
type endpoint struct {
	host string
	addr netip.Addr // valid where host is an address
	port int
}

// New returns the list of what is granted, each as host:port. A host is a name
// or an address, which is in brackets if it is IPv6. Names match as a whole.
func New(granted []string) (*List, error) {
	l := &List{}
	for _, entry := range granted {
		host, port, err := split(entry)
		if err != nil {
			return nil, err
		}
		l.granted = append(l.granted, newEndpoint(host, port))
	}
	return l, nil
}

func newEndpoint(host string, port int) endpoint {
	e := endpoint{host: strings.ToLower(strings.TrimSuffix(host, ".")), port: port}
	if addr, err := netip.ParseAddr(host); err == nil {
		e.addr = addr.Unmap()
		e.host = e.addr.String()
	}
	return e
}

func split(hostport string) (host string, port int, err error) {
	host, service, err := net.SplitHostPort(hostport)
	if err == nil {
		port, err = strconv.Atoi(service)
	}
	if err != nil || host == "" || port < 1 || port > 65535 {
		return "", 0, sdk.Errorf(sdk.Invalid, "network_invalid", "%q is not host:port", hostport).
			WithHint("write a host and a port from 1 to 65535, such as example.org:443 or [::1]:8080")
	}
	return host, port, nil
}

// Allows reports whether an endpoint is granted, by its name alone. The error is
// sdk.Denied, reason "network_denied".
func (l *List) Allows(host string, port int) error {
	_, err := l.find(host, port)
	return err
}

func (l *List) find(host string, port int) (endpoint, error) {
	e := newEndpoint(host, port)
	if slices.Contains(l.granted, e) {
		return e, nil
	}
	name := net.JoinHostPort(host, strconv.Itoa(port))
	return e, sdk.Errorf(sdk.Denied, "network_denied", "the plugin may not reach %s", name).
		WithHint("the package must ask for network: [%q], and an operator must grant it", name).
		WithDetail("endpoint", name)
}

// allowsAddr reports whether an address that a granted endpoint resolved to may be
// dialled. The error is sdk.Denied, reason "address_denied".
func (e endpoint) allowsAddr(addr netip.Addr) error {
	addr = addr.Unmap()
	if public(addr) || e.addr == addr || e.host == "localhost" && addr.IsLoopback() {
		return nil
	}
	return sdk.Errorf(sdk.Denied, "address_denied", "%s is at %s, which is not a public address", e.host, addr).
		WithHint("grant the address itself, as network: [%q], if the plugin is to reach it", net.JoinHostPort(addr.String(), strconv.Itoa(e.port))).
		WithDetail("endpoint", net.JoinHostPort(e.host, strconv.Itoa(e.port))).WithDetail("address", addr.String())
}
