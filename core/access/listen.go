package access

import (
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Whether a server may start is decided by one function, from what is known before its
// store is opened, so that a wrong start is refused before it has done anything. On
// loopback only users of this machine can connect, and a token doesn't travel. On other
// addresses, tokens and memories would cross a network unencrypted, and everybody would
// share the one token that exists at first: so a server there needs encryption, and
// credentials for each client.

// DefaultListen is where a server listens by default: on this machine only.
const DefaultListen = "127.0.0.1:7842"

// Listen describes how a server is to be started.
type Listen struct {
	// Address is where it listens, as host:port. Without a host it means every address of
	// this machine.
	Address string
	// Resolved are all addresses of the host according to the resolver; for an IP address
	// just that one. It isn't needed if Address has no host.
	Resolved []netip.Addr
	// NoAuth means that no credentials are required.
	NoAuth bool
	// TLSCert and TLSKey are files, ACMEName is a name for which a certificate is
	// requested, and Proxies are the networks, such as 10.0.0.0/8, of proxies that do
	// TLS.
	TLSCert, TLSKey string
	ACMEName        string
	Proxies         []string
	// OIDC is whether an issuer of identities is configured.
	OIDC bool
	// Tokens is how many tokens are valid besides the operator's. Nil means not known
	// yet, before the store is opened, and isn't checked.
	Tokens *int
}

// Encryption is how the traffic between clients and a server is encrypted.
type Encryption string

// The kinds of encryption.
const (
	EncryptionNone  Encryption = "none" // on loopback only
	EncryptionFiles Encryption = "files"
	EncryptionACME  Encryption = "acme"
	EncryptionProxy Encryption = "proxy" // a proxy does it, and its own traffic to the server is unencrypted
)

// Exposure is how a server that may start is reached.
type Exposure struct {
	// Beyond is whether other machines can connect, directly or through a proxy.
	Beyond     bool
	Encryption Encryption
	// Proxies are the networks whose forwarded headers are trusted.
	Proxies []netip.Prefix
}

// Check decides whether the server may start, and reports everything that prevents that
// in one error: sdk.Invalid of the reasons "listen_invalid", "tls_invalid",
// "acme_invalid", "proxy_invalid", "no_auth_beyond_loopback", "tls_required" and
// "token_required".
func (l *Listen) Check() (*Exposure, error) {
	var problems []error
	beyond, err := l.beyond()
	problems = append(problems, err)
	e := &Exposure{}
	encryption, proxies, wrong := l.encryption()
	e.Encryption, e.Proxies = encryption, proxies
	problems = append(problems, wrong...)
	if e.Beyond = beyond || len(l.Proxies) > 0; e.Beyond { // a proxy on this machine also forwards others
		problems = append(problems, l.beyondProblems(e.Encryption, len(wrong) == 0)...)
	}
	if err := core.JoinErrors(problems...); err != nil {
		return nil, err
	}
	return e, nil
}

// beyond reports whether another machine can connect: one address that isn't a loopback
// address is enough.
func (l *Listen) beyond() (bool, error) {
	host, port, err := net.SplitHostPort(l.Address)
	if err != nil {
		return false, listenInvalid(l.Address, "it isn't a host and a port")
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return false, listenInvalid(l.Address, "its port isn't a number up to 65535")
	}
	if host == "" {
		return true, nil
	}
	if len(l.Resolved) == 0 {
		return false, listenInvalid(l.Address, "its host has no address")
	}
	for _, a := range l.Resolved {
		if !a.Unmap().WithZone("").IsLoopback() { // 0.0.0.0 and :: aren't loopback either
			return true, nil
		}
	}
	return false, nil
}

func listenInvalid(address, problem string) error {
	return sdk.Errorf(sdk.Invalid, "listen_invalid", "listen %q can't be used: %s", core.Cut(address), problem).
		WithHint("write it like %s", likeAddress(address)).WithDetail("field", "listen")
}

// likeAddress is an address as it is written: with the port that was given, if that was all.
func likeAddress(given string) string {
	if port, err := strconv.ParseUint(strings.TrimPrefix(given, ":"), 10, 16); err == nil {
		return "127.0.0.1:" + strconv.FormatUint(port, 10)
	}
	return DefaultListen
}

// encryption is how the server is to be encrypted, and the problems of that.
func (l *Listen) encryption() (e Encryption, proxies []netip.Prefix, problems []error) {
	add := func(reason, field, hint, format string, args ...any) {
		problems = append(problems, sdk.Errorf(sdk.Invalid, reason, format, args...).WithHint("%s", hint).WithDetail("field", field))
	}
	e = EncryptionNone
	for _, text := range l.Proxies {
		switch network, err := netip.ParsePrefix(text); {
		case err != nil:
			add("proxy_invalid", "tls_by_proxy", "write a network such as 10.1.2.3/32", "tls_by_proxy %q isn't a network", core.Cut(text))
		case network.Bits() == 0:
			add("proxy_invalid", "tls_by_proxy", "name the addresses of the proxies", "tls_by_proxy %s is every address: anybody could forge who connects", network)
		default:
			e, proxies = EncryptionProxy, append(proxies, network.Masked())
		}
	}
	if l.ACMEName != "" {
		if e = EncryptionACME; !isDNSName(l.ACMEName) {
			add("acme_invalid", "acme", "give the name by which clients reach this server, such as host.example.org", "acme %q isn't a name in the DNS: no certificate can be asked for it", core.Cut(l.ACMEName))
		}
	}
	switch cert, key := l.TLSCert != "", l.TLSKey != ""; {
	case cert && !key:
		add("tls_invalid", "tls_key", "name the file of its key too", "tls_key is missing: a certificate is given without its key")
	case key && !cert:
		add("tls_invalid", "tls_cert", "name the file of its certificate too", "tls_cert is missing: a key is given without its certificate")
	case cert && l.ACMEName != "":
		add("tls_invalid", "acme", "leave out one of the two", "acme asks for a certificate, and another one is given")
	case cert:
		e = EncryptionFiles
	}
	return e, proxies, problems
}

// isDNSName reports whether a text can be a host's name in the public DNS.
func isDNSName(name string) bool {
	if len(name) > 253 || !strings.Contains(name, ".") {
		return false
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, c := range []byte(label) {
			if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' {
				return false
			}
		}
	}
	return true
}

// beyondProblems are the problems of a start beyond loopback. If judged is false, the
// problems of the encryption are already reported.
func (l *Listen) beyondProblems(e Encryption, judged bool) (problems []error) {
	if l.NoAuth {
		problems = append(problems, sdk.Errorf(sdk.Invalid, "no_auth_beyond_loopback", "no_auth is refused: %s is reached from other machines, where anybody could do everything", l.shown()).
			WithHint("listen on 127.0.0.1, or ask for credentials").WithDetail("field", "no_auth"))
	}
	if e == EncryptionNone && judged {
		problems = append(problems, sdk.Errorf(sdk.Invalid, "tls_required", "listen %s is reached from other machines: tokens and memories would pass in the clear", l.shown()).
			WithHint("give a certificate with its key, name the networks of the proxies that do TLS, or listen on 127.0.0.1").
			WithDetail("field", "listen"))
	}
	if !l.NoAuth && !l.OIDC && l.Tokens != nil && *l.Tokens == 0 {
		problems = append(problems, sdk.Errorf(sdk.Invalid, "token_required", "listen %s is reached from other machines, and there is only the operator's token", l.shown()).
			WithHint("make a token for who is going to connect, or configure an issuer of identities").
			WithAction("token new", "subject", nil, "scope", nil, "namespace", nil).WithDetail("field", "listen"))
	}
	return problems
}

// shown is the address for messages.
func (l *Listen) shown() string { return core.Cut(l.Address) }
