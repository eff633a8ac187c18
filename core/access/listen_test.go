package access_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/sdk"
)

// TestListenIsDecided is the table of starts: what each is refused for, or how it is reached.
func TestListenIsDecided(t *testing.T) {
	none, one := 0, 1
	at := func(addresses ...string) (list []netip.Addr) {
		for _, a := range addresses {
			list = append(list, netip.MustParseAddr(a))
		}
		return list
	}
	beyond := access.Listen{Address: "10.0.0.1:7842", Resolved: at("10.0.0.1"), TLSCert: "c", TLSKey: "k", Tokens: &one}
	with := func(change func(*access.Listen)) access.Listen {
		l := beyond
		change(&l)
		return l
	}
	for name, c := range map[string]struct {
		listen access.Listen
		want   string
	}{
		"loopback":              {access.Listen{Address: "127.0.0.1:7842", Resolved: at("127.0.0.1"), Tokens: &none}, "local none"},
		"loopback 6":            {access.Listen{Address: "[::1]:0", Resolved: at("::1")}, "local none"},
		"all of 127":            {access.Listen{Address: "127.9.9.9:1", Resolved: at("127.9.9.9")}, "local none"},
		"loopback of 4 in 6":    {access.Listen{Address: "[::ffff:127.0.0.1]:1", Resolved: at("::ffff:127.0.0.1")}, "local none"},
		"a name":                {access.Listen{Address: "localhost:7842", Resolved: at("127.0.0.1", "::1")}, "local none"},
		"without credentials":   {access.Listen{Address: "127.0.0.1:1", Resolved: at("127.0.0.1"), NoAuth: true}, "local none"},
		"encrypted loopback":    {access.Listen{Address: "127.0.0.1:1", Resolved: at("127.0.0.1"), TLSCert: "c", TLSKey: "k"}, "local files"},
		"a name with one more":  {access.Listen{Address: "localhost:1", Resolved: at("127.0.0.1", "192.168.1.2")}, "tls_required"},
		"every address":         {access.Listen{Address: "0.0.0.0:1", Resolved: at("0.0.0.0")}, "tls_required"},
		"every address of 6":    {access.Listen{Address: "[::]:1", Resolved: at("::")}, "tls_required"},
		"every address, unsaid": {access.Listen{Address: ":1"}, "tls_required"},
		"4 in 6":                {access.Listen{Address: "[::ffff:10.0.0.1]:1", Resolved: at("::ffff:10.0.0.1")}, "tls_required"},
		"of the link":           {access.Listen{Address: "[fe80::1%eth0]:1", Resolved: at("fe80::1%eth0")}, "tls_required"},
		"a public one":          {access.Listen{Address: "203.0.113.1:1", Resolved: at("203.0.113.1"), NoAuth: true}, "no_auth_beyond_loopback tls_required"},
		"with files":            {beyond, "beyond files"},
		"nobody has looked yet": {with(func(l *access.Listen) { l.Tokens = nil }), "beyond files"},
		"without a token":       {with(func(l *access.Listen) { l.Tokens = &none }), "token_required"},
		"with an issuer":        {with(func(l *access.Listen) { l.Tokens, l.OIDC = &none, true }), "beyond files"},
		"nobody asks":           {with(func(l *access.Listen) { l.Tokens, l.NoAuth = &none, true }), "no_auth_beyond_loopback"},
		"no key":                {with(func(l *access.Listen) { l.TLSKey = "" }), "tls_invalid"},
		"no certificate":        {with(func(l *access.Listen) { l.TLSCert = "" }), "tls_invalid"},
		"two certificates":      {with(func(l *access.Listen) { l.ACMEName = "host.example.org" }), "tls_invalid"},
		"a certificate by name": {with(func(l *access.Listen) { l.TLSCert, l.TLSKey, l.ACMEName = "", "", "host.example.org" }), "beyond acme"},
		"of an address":         {with(func(l *access.Listen) { l.TLSCert, l.TLSKey, l.ACMEName = "", "", "10.0.0.1" }), "acme_invalid"},
		"of no public name":     {with(func(l *access.Listen) { l.TLSCert, l.TLSKey, l.ACMEName = "", "", "localhost" }), "acme_invalid"},
		"of no name":            {with(func(l *access.Listen) { l.TLSCert, l.TLSKey, l.ACMEName = "", "", "a_b.example/x" }), "acme_invalid"},
		"by a proxy":            {with(func(l *access.Listen) { l.TLSCert, l.TLSKey, l.Proxies = "", "", []string{"10.1.2.3/24"} }), "beyond proxy 10.1.2.0/24"},
		"a proxy and files":     {with(func(l *access.Listen) { l.Proxies = []string{"10.1.2.3/32"} }), "beyond files 10.1.2.3/32"},
		"a proxy without size":  {with(func(l *access.Listen) { l.Proxies = []string{"10.1.2.3"} }), "proxy_invalid"},
		"everybody is a proxy":  {with(func(l *access.Listen) { l.Proxies = []string{"0.0.0.0/0", "::/0"} }), "proxy_invalid"},
		"a proxy next to it": {access.Listen{Address: "127.0.0.1:1", Resolved: at("127.0.0.1"), Proxies: []string{"127.0.0.1/32"}, NoAuth: true},
			"no_auth_beyond_loopback"},
		"a proxy with no token": {access.Listen{Address: "127.0.0.1:1", Resolved: at("127.0.0.1"), Proxies: []string{"127.0.0.1/32"}, Tokens: &none}, "token_required"},
		"no port":               {access.Listen{Address: "127.0.0.1"}, "listen_invalid"},
		"a port's name":         {access.Listen{Address: "127.0.0.1:http", Resolved: at("127.0.0.1")}, "listen_invalid"},
		"too high a port":       {access.Listen{Address: "127.0.0.1:65536", Resolved: at("127.0.0.1")}, "listen_invalid"},
		"nothing":               {access.Listen{}, "listen_invalid"},
		"a name of nothing":     {access.Listen{Address: "nowhere:1"}, "listen_invalid"},
		"all that is wrong": {access.Listen{Address: "x", TLSCert: "c", ACMEName: "x", Proxies: []string{"y"}, NoAuth: true},
			"acme_invalid listen_invalid no_auth_beyond_loopback proxy_invalid tls_invalid"},
	} {
		if got := decided(t, &c.listen); got != c.want {
			t.Errorf("%s: %s; want %s", name, got, c.want)
		}
	}
}

// decided is the answer to a start: the reasons of its refusal, each with a hint, or how it is
// reached.
func decided(t *testing.T, l *access.Listen) string {
	t.Helper()
	e, err := l.Check()
	if err == nil {
		words := []string{"local", string(e.Encryption)}
		if e.Beyond {
			words[0] = "beyond"
		}
		for _, p := range e.Proxies {
			words = append(words, p.String())
		}
		return strings.Join(words, " ")
	}
	if sdk.CodeOf(err) != sdk.Invalid {
		t.Errorf("%v is %s", err, sdk.CodeOf(err))
	}
	problems, ok := sdk.AsError(err).Details["problems"].([]*core.ErrorInfo)
	if !ok {
		problems = []*core.ErrorInfo{core.NewErrorInfo(err)}
	}
	var reasons []string
	for _, p := range problems {
		if p.Hint == "" {
			t.Errorf("%s has no hint", p.Message)
		}
		reasons = append(reasons, p.Code)
	}
	slices.Sort(reasons)
	return strings.Join(slices.Compact(reasons), " ")
}
