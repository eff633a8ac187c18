package outbound

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/net/http/httpproxy"

	"github.com/reflectory/reflectory/sdk"
)

// Options are the settings of a [Network]. The zero value connects directly, and trusts the
// system's authorities.
type Options struct {
	// HTTPSProxy and HTTPProxy are the URLs of the proxies for https and http: http, https or
	// socks5, with a user and a password if the proxy wants them. A URL without a scheme is
	// http. "" is no proxy.
	HTTPSProxy, HTTPProxy string
	// NoProxy lists what is reached directly, separated by commas or spaces: names (with the
	// names below them), addresses, blocks of addresses (CIDR), each with a port or without;
	// "*" is everything.
	NoProxy string
	// CertFile and CertDir are SSL_CERT_FILE and SSL_CERT_DIR, which replace the system's file
	// and folders of authorities. CertDir may have several folders, separated by colons.
	CertFile, CertDir string
	// CA is a PEM file of authorities that are trusted too; "" is none.
	CA string
}

// Network connects as its options say. It is safe for concurrent use.
type Network struct {
	options Options
	proxy   func(*url.URL) (*url.URL, error)
	// plain are the endpoints that are spoken to without TLS.
	plain sync.Map
	trust func() trust
	// transport is made once, and made is whether it was.
	transport func() *http.Transport
	made      atomic.Bool
}

// CheckProxy reports what is wrong with a proxy's URL. The error never has the URL, which
// may have a password.
func CheckProxy(text string) error {
	_, err := parseProxy(text)
	return err
}

func parseProxy(text string) (*url.URL, error) {
	if !strings.Contains(text, "://") {
		text = "http://" + text // host:port
	}
	u, err := url.Parse(text)
	if err == nil {
		u.Scheme = strings.ToLower(u.Scheme)
	}
	if err != nil || u.Hostname() == "" || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme) || !validPort(u.Port()) {
		return nil, sdk.Errorf(sdk.Invalid, "proxy_invalid", "isn't the URL of an http, https or socks5 proxy (it isn't shown, since it may have a password)").
			WithHint("write it like http://proxy.example.org:3128")
	}
	return u, nil
}

func validPort(text string) bool {
	n, err := strconv.Atoi(text)
	return text == "" || err == nil && n > 0 && n < 1<<16
}

// Shown is a proxy's URL without its user and password.
func Shown(text string) string {
	u, err := parseProxy(text)
	if err != nil {
		return "(invalid)"
	}
	shown := u.Scheme + "://" + u.Host
	if u.User != nil {
		shown += " (with a user)"
	}
	return shown
}

// New returns a network. An invalid proxy is an error; files of authorities are read when
// they are first needed.
func New(o Options) (*Network, error) {
	for _, text := range []string{o.HTTPProxy, o.HTTPSProxy} {
		if text == "" {
			continue
		}
		if err := CheckProxy(text); err != nil {
			return nil, err
		}
	}
	settings := httpproxy.Config{HTTPProxy: o.HTTPProxy, HTTPSProxy: o.HTTPSProxy, NoProxy: entries(o.NoProxy)}
	n := &Network{options: o, proxy: settings.ProxyFunc()}
	n.trust = sync.OnceValue(func() trust { return readTrust(o) })
	n.transport = sync.OnceValue(n.newTransport)
	return n, nil
}

// entries brings a list of exceptions into the form that httpproxy reads.
func entries(list string) string {
	var all []string
	for entry := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == ';' || r == ' ' || r == '\t' || r == '\n' }) {
		if strings.HasPrefix(entry, "[") && strings.HasSuffix(entry, "]") { // an IPv6 address without a port
			entry = entry[1 : len(entry)-1]
		}
		all = append(all, strings.TrimSuffix(entry, "."))
	}
	return strings.Join(all, ",")
}

// For returns the proxy for an endpoint that is reached by a URL of a scheme ("http" or
// "https"); nil means that it is reached directly, as this machine always is.
func (n *Network) For(scheme, host string, port int) *url.URL {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if ThisMachine(host) {
		return nil
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		host = addr.Unmap().String()
	}
	u, err := n.proxy(&url.URL{Scheme: scheme, Host: net.JoinHostPort(host, strconv.Itoa(port))})
	if err != nil {
		return nil
	}
	return u
}

// Proxy is For as [http.Transport] has it.
func (n *Network) Proxy(r *http.Request) (*url.URL, error) {
	port := 80
	if r.URL.Scheme == "https" {
		port = 443
	}
	if text := r.URL.Port(); text != "" {
		port, _ = strconv.Atoi(text) // the request is refused elsewhere if it is none
	}
	return n.For(r.URL.Scheme, r.URL.Hostname(), port), nil
}

// ThisMachine reports whether a host is this machine, whatever a resolver says.
func ThisMachine(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	addr = addr.Unmap()
	return addr.IsLoopback() || addr.IsUnspecified()
}

// Speaks notes how the endpoint of a URL is spoken to. A plugin's connection names only its
// host and port, and there may be different proxies for http and https.
func (n *Network) Speaks(base string) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" || u.Hostname() == "" {
		return
	}
	port := u.Port()
	if port == "" {
		port = "80"
	}
	n.plain.Store(net.JoinHostPort(strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")), port), true)
}

// scheme is how an endpoint is spoken to, as far as is known: https, unless it was noted or
// has the port of http.
func (n *Network) scheme(host string, port int) string {
	_, plain := n.plain.Load(net.JoinHostPort(strings.ToLower(strings.TrimSuffix(host, ".")), strconv.Itoa(port)))
	if plain || port == 80 {
		return "http"
	}
	return "https"
}

// Through returns how to connect to an endpoint through its proxy; nil means directly. A
// scheme of "" is the one that [Network.Speaks] noted.
func (n *Network) Through(scheme, host string, port int) func(context.Context) (net.Conn, error) {
	if scheme == "" {
		scheme = n.scheme(host, port)
	}
	via := n.For(scheme, host, port)
	if via == nil {
		return nil
	}
	return func(ctx context.Context) (net.Conn, error) {
		return n.Tunnel(ctx, via, net.JoinHostPort(host, strconv.Itoa(port)))
	}
}

// Transport is what the host's own HTTP clients share. [Network.Close] ends its connections.
func (n *Network) Transport() *http.Transport { return n.transport() }

// Close closes the idle connections of the host's own HTTP clients. Where none was asked for, it
// reads no authorities: to parse them takes longer than most commands.
func (n *Network) Close() {
	if n.made.Load() {
		n.transport().CloseIdleConnections()
	}
}

func (n *Network) newTransport() *http.Transport {
	n.made.Store(true)
	return &http.Transport{
		Proxy: n.Proxy, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: n.Roots()}, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: handshakeTime, IdleConnTimeout: idleTime, MaxIdleConnsPerHost: maxIdle, MaxResponseHeaderBytes: maxHeadBytes,
	}
}
