package httpapi

import (
	"crypto/tls"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/reflectory/reflectory/sdk"
)

// TestSender_IsWhomProxiesName: the headers are believed only from proxies, read from their
// end, and not believed if they disagree.
func TestSender_IsWhomProxiesName(t *testing.T) {
	a := &API{config: Config{Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24"), netip.MustParsePrefix("2001:db8::/64")}}}
	const proxy, stranger = "10.0.0.7:4711", "192.0.2.9:4711"
	for name, c := range map[string]struct {
		peer    string
		headers []string
		want    string
	}{
		"no header":                 {proxy, nil, "10.0.0.7"},
		"one address":               {proxy, []string{"X-Forwarded-For", "198.51.100.1"}, "198.51.100.1"},
		"a forged one before it":    {proxy, []string{"X-Forwarded-For", "127.0.0.1, 198.51.100.1"}, "198.51.100.1"},
		"two headers":               {proxy, []string{"X-Forwarded-For", "127.0.0.1", "X-Forwarded-For", "198.51.100.1"}, "198.51.100.1"},
		"through two proxies":       {proxy, []string{"X-Forwarded-For", "198.51.100.1, 10.0.0.8"}, "198.51.100.1"},
		"proxies only":              {proxy, []string{"X-Forwarded-For", "10.0.0.9, 10.0.0.8"}, "10.0.0.9"},
		"nonsense":                  {proxy, []string{"X-Forwarded-For", "198.51.100.1, nobody"}, "10.0.0.7"},
		"with a port":               {proxy, []string{"X-Forwarded-For", "198.51.100.1:80"}, "198.51.100.1"},
		"IPv6":                      {"[2001:db8::1]:1", []string{"X-Forwarded-For", "2001:db8:1::2"}, "2001:db8:1::2"},
		"4 in 6":                    {"[::ffff:10.0.0.7]:1", []string{"X-Forwarded-For", "::ffff:198.51.100.1"}, "198.51.100.1"},
		"RFC 7239":                  {proxy, []string{"Forwarded", `for=127.0.0.1, for="[2001:db8:1::2]:47";proto=https;by=x`}, "2001:db8:1::2"},
		"RFC 7239, another case":    {proxy, []string{"Forwarded", `By=x;For=198.51.100.1`}, "198.51.100.1"},
		"RFC 7239, hidden":          {proxy, []string{"Forwarded", `for=_hidden`}, "10.0.0.7"},
		"RFC 7239, without for":     {proxy, []string{"Forwarded", `proto=https`}, "10.0.0.7"},
		"both agree":                {proxy, []string{"Forwarded", "for=198.51.100.1", "X-Forwarded-For", "198.51.100.1"}, "198.51.100.1"},
		"both disagree":             {proxy, []string{"Forwarded", "for=198.51.100.2", "X-Forwarded-For", "198.51.100.1"}, "10.0.0.7"},
		"over https":                {proxy, []string{"X-Forwarded-Proto", "https"}, "10.0.0.7"},
		"in the clear":              {proxy, []string{"X-Forwarded-Proto", "http"}, "tls_required"},
		"in the clear somewhere":    {proxy, []string{"X-Forwarded-Proto", "https, http"}, "tls_required"},
		"in the clear, RFC 7239":    {proxy, []string{"Forwarded", "for=198.51.100.1;proto=http"}, "tls_required"},
		"a stranger":                {stranger, []string{"X-Forwarded-For", "198.51.100.1"}, "proxy_required"},
		"this machine":              {"127.0.0.1:1", []string{"X-Forwarded-For", "198.51.100.1", "X-Forwarded-Proto", "http"}, "127.0.0.1"},
		"this machine by another 6": {"[::1]:1", nil, "::1"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		r.RemoteAddr = c.peer
		for i := 0; i < len(c.headers); i += 2 {
			r.Header.Add(c.headers[i], c.headers[i+1])
		}
		got, err := proxies(a.config.Proxies).senderOf(r)
		if err != nil {
			if got = sdk.ReasonOf(err); sdk.AsError(err).Hint == "" {
				t.Errorf("%s has no hint", name)
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
	r.RemoteAddr, r.TLS = stranger, &tls.ConnectionState{}
	r.Header.Set("X-Forwarded-For", "198.51.100.1")
	if got, err := proxies(a.config.Proxies).senderOf(r); got != "192.0.2.9" || err != nil {
		t.Errorf("a stranger with TLS: %s, %v", got, err)
	}
	if got, err := proxies(nil).senderOf(r); got != "192.0.2.9" || err != nil {
		t.Errorf("without proxies: %s, %v", got, err)
	}
}

// TestSender_IsWhomLimitsCount: wrong credentials through a proxy slow down only their
// sender.
func TestSender_IsWhomLimitsCount(t *testing.T) {
	s := newLimitedSite(t, Limits{FailedLogins: 1, Requests: -1})
	s.api.config.Proxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} // httptest's client is there
	ask := func(client string) int {
		return s.send("wrong", "GET", "/v1/nothing", "", "X-Forwarded-For", client).StatusCode
	}
	if got := [4]int{ask("198.51.100.1"), ask("198.51.100.1"), ask("198.51.100.2"), ask("127.0.0.1, 198.51.100.2")}; got != [4]int{401, 429, 401, 429} {
		t.Errorf("%v", got)
	}
}

// TestNoAuth_IsSaid in every answer, and lets everybody in.
func TestNoAuth_IsSaid(t *testing.T) {
	s := newSite(t)
	s.api.config.NoAuth, s.api.config.Authenticator = true, Anybody{}
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 503, "/v1/openapi.json": 200, "/v1/nothing": 404, "/": 404} {
		if a := s.send("", "GET", path, ""); a.StatusCode != want || a.Header.Get("Reflectory-Auth") != "none" {
			t.Errorf("%s: %d %v", path, a.StatusCode, a.Header)
		}
	}
	if a := s.send("", "GET", "http://evil.example/v1/openapi.json", ""); a.StatusCode != 403 || a.problem(t).Code != "host_unknown" {
		t.Errorf("another host: %d", a.StatusCode)
	}
	if a := s.send("", "POST", "/v1/tokens", "{}", "Sec-Fetch-Site", "cross-site"); a.StatusCode != 403 || a.problem(t).Code != "cross_origin" {
		t.Errorf("another origin: %d", a.StatusCode)
	}
	s.api.config.NoAuth = false
	if a := s.send("", "GET", "/healthz", ""); a.Header.Get("Reflectory-Auth") != "" {
		t.Error("it is said where it isn't so")
	}
}
