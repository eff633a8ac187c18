package guard_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/plugin/guard"
	"github.com/reflectory/reflectory/sdk"
)

// A proxy reaches nothing that a plugin may not: the name is granted before the proxy is
// asked, and an address that is refused stays refused.
func TestDialer_ThroughAProxyReachesNoMore(t *testing.T) {
	public, private := netip.MustParseAddr("8.8.8.8"), netip.MustParseAddr("10.0.0.7")
	resolver := names{
		"public.test": {public}, "private.test": {private}, "mixed.test": {public, private}, "rebind.test": {netip.MustParseAddr("127.0.0.1")},
		"metadata.test": {netip.MustParseAddr("169.254.169.254")},
	}
	granted := []string{
		"public.test:443", "private.test:443", "mixed.test:443", "rebind.test:443", "metadata.test:80", "unknown.test:443", "10.0.0.7:443", "[fd00::7]:443",
	}
	for addr, reason := range map[string]string{
		"public.test:443": "", "PUBLIC.test.:443": "", "unknown.test:443": "", "10.0.0.7:443": "", "[fd00::7]:443": "", "[::ffff:10.0.0.7]:443": "",
		"private.test:443": "address_denied", "mixed.test:443": "address_denied", "rebind.test:443": "address_denied", "metadata.test:80": "address_denied",
		"public.test:80": "network_denied", "other.test:443": "network_denied", "10.0.0.8:443": "network_denied", "8.8.8.8:443": "network_denied",
		"proxy.test:3128": "network_denied", "127.0.0.1:3128": "network_denied", "public.test": "network_invalid", "public.test:443\r\nX: y": "network_invalid",
	} {
		var asked []string
		d := guard.Dialer{List: list(t, granted...), Resolver: resolver, Through: func(scheme, host string, port int) func(context.Context) (net.Conn, error) {
			return func(context.Context) (net.Conn, error) {
				asked = append(asked, fmt.Sprintf("%s %s:%d", scheme, host, port))
				return nil, errors.New("asked")
			}
		}}
		_, err := d.DialContext(t.Context(), "tcp", addr)
		if reason == "" && (len(asked) != 1 || err == nil || err.Error() != "asked") || reason != "" && (len(asked) > 0 || sdk.ReasonOf(err) != reason) {
			t.Errorf("%q: the proxy is asked for %q, %v", addr, asked, err)
		}
	}
}

// A module's request goes through the proxy of its scheme, and so does where it is
// redirected to.
func TestDo_ThroughAProxy(t *testing.T) {
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "https://secure.test/", http.StatusFound)
		}
	}))
	t.Cleanup(target.Close)
	var asked []string
	d := guard.Dialer{List: list(t, "plain.test:80", "secure.test:443"), Resolver: names{}, Through: func(scheme, host string, port int) func(context.Context) (net.Conn, error) {
		return func(ctx context.Context) (net.Conn, error) {
			asked = append(asked, fmt.Sprintf("%s %s:%d", scheme, host, port))
			if scheme == "https" {
				return nil, sdk.Errorf(sdk.Denied, "proxy_refused", "the proxy refuses")
			}
			return new(net.Dialer).DialContext(ctx, "tcp", target.Listener.Addr().String())
		}
	}}
	if res, err := d.Do(t.Context(), guard.Request{URL: "http://plain.test/"}, 100); err != nil || res.Status != 200 {
		t.Errorf("%+v, %v", res, err)
	}
	if _, err := d.Do(t.Context(), guard.Request{URL: "http://plain.test/away"}, 100); sdk.ReasonOf(err) != "proxy_refused" {
		t.Errorf("redirected: %v", err)
	}
	if got := strings.Join(asked, ", "); got != "http plain.test:80, http plain.test:80, https secure.test:443" {
		t.Errorf("the proxy was asked for %s", got)
	}
}
