package guard_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/reflectory/reflectory/core/plugin/guard"
	"github.com/reflectory/reflectory/sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func list(t *testing.T, granted ...string) *guard.List {
	t.Helper()
	l, err := guard.New(granted)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestOnlyGrantedEndpointsAreAllowed(t *testing.T) {
	l := list(t, "Example.org:443", "127.0.0.1:80", "[::1]:8080")
	for _, tt := range []struct {
		host string
		port int
		ok   bool
	}{
		{"example.org", 443, true},
		{"EXAMPLE.ORG.", 443, true},
		{"example.org", 80, false},
		{"www.example.org", 443, false},
		{"example.org.evil.test", 443, false},
		{"127.0.0.1", 80, true},
		{"::ffff:127.0.0.1", 80, true},
		{"::1", 8080, true},
		{"0:0:0:0:0:0:0:1", 8080, true},
		{"localhost", 80, false},
	} {
		if err := l.Allows(tt.host, tt.port); (err == nil) != tt.ok || err != nil && sdk.ReasonOf(err) != "network_denied" {
			t.Errorf("%s port %d: %v", tt.host, tt.port, err)
		}
	}
	if (&guard.List{}).Allows("example.org", 443) == nil {
		t.Error("the zero list allows something")
	}
}

func TestWhatIsNoEndpointIsRefused(t *testing.T) {
	for _, entry := range []string{"", "example.org", ":443", "example.org:https", "example.org:0", "example.org:65536", "::1:80"} {
		if _, err := guard.New([]string{entry}); sdk.ReasonOf(err) != "network_invalid" {
			t.Errorf("%q: %v", entry, err)
		}
	}
}

// names resolves each name to fixed addresses.
type names map[string][]netip.Addr

func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if addrs, ok := n[host]; ok {
		return addrs, nil
	}
	return nil, errors.New("no such host")
}

func TestNamesOfAddressesThatAreNotPublicAreRefused(t *testing.T) {
	for _, addr := range []string{
		"127.0.0.1", "::1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "0.1.2.3",
		"224.0.0.1", "255.255.255.255", "198.18.0.1", "fe80::1", "fe80::1%eth0", "fd00::1", "ff02::1", "::", "::ffff:127.0.0.1",
		"::127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2001:0:1::1", "fec0::1",
	} {
		d := guard.Dialer{List: list(t, "rebind.test:80"), Resolver: names{"rebind.test": {netip.MustParseAddr(addr)}}}
		if _, err := d.DialContext(t.Context(), "tcp", "rebind.test:80"); sdk.ReasonOf(err) != "address_denied" {
			t.Errorf("%s: %v", addr, err)
		}
	}
}

func TestAnAddressIsDialledWhereTheGrantNamesIt(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	addr := server.Listener.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	loopback := names{"localhost": {netip.MustParseAddr("127.0.0.1")}, "other.test": {netip.MustParseAddr("127.0.0.1")}}
	for name, ok := range map[string]bool{addr: true, "localhost:" + port: true, "other.test:" + port: false} {
		d := guard.Dialer{List: list(t, name), Resolver: loopback}
		conn, err := d.DialContext(t.Context(), "tcp", name)
		if (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
		if conn != nil {
			conn.Close()
		}
	}
	d := guard.Dialer{List: list(t, "gone.test:80"), Resolver: loopback}
	if _, err := d.DialContext(t.Context(), "tcp", "gone.test:80"); sdk.ReasonOf(err) != "network_unreachable" {
		t.Error(err)
	}
}

// site answers a few paths, and says which Host it was asked for.
func site(t *testing.T, elsewhere string) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Seen", r.Method+" "+r.Host+" "+r.Header.Get("X-Own"))
		w.WriteHeader(http.StatusTeapot)
		w.Write(body)
	})
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere, http.StatusFound) })
	mux.HandleFunc("/round", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/round", http.StatusFound) })
	mux.HandleFunc("/big", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, strings.Repeat("x", 2000)) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

func TestRequestsAreMadeWithinTheGrant(t *testing.T) {
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	server := site(t, other.URL)
	d := guard.Dialer{List: list(t, server.Listener.Addr().String())}
	res, err := d.Do(t.Context(), guard.Request{
		Method: "POST", URL: server.URL + "/echo", Body: []byte("hello"),
		Header: http.Header{"Host": {"evil.test"}, "host": {"evil.test"}, "X-Own": {"1"}, "Connection": {"close"}},
	}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	want := "POST " + server.Listener.Addr().String() + " 1"
	if res.Status != http.StatusTeapot || string(res.Body) != "hello" || res.Header.Get("X-Seen") != want {
		t.Errorf("%+v", res)
	}
	for url, reason := range map[string]string{
		server.URL + "/away":   "network_denied",
		server.URL + "/round":  "http_request_invalid",
		server.URL + "/big":    "message_too_large",
		other.URL:              "network_denied",
		"https://example.org":  "network_denied",
		"file:///etc/passwd":   "http_request_invalid",
		"http://":              "http_request_invalid",
		"://":                  "http_request_invalid",
		"http://127.0.0.1:0x1": "http_request_invalid",
	} {
		if _, err := d.Do(t.Context(), guard.Request{URL: url}, 1000); sdk.ReasonOf(err) != reason || sdk.AsError(err).Hint == "" {
			t.Errorf("%s: %v", url, err)
		}
	}
	huge := http.Header{"X-Own": {strings.Repeat("x", 70_000)}}
	if _, err := d.Do(t.Context(), guard.Request{URL: server.URL + "/echo", Header: huge}, 10); sdk.ReasonOf(err) != "http_request_invalid" {
		t.Error(err)
	}
}

func TestARequestEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	defer server.Close()
	d := guard.Dialer{List: list(t, server.Listener.Addr().String())}
	if _, err := d.Do(ctx, guard.Request{URL: server.URL}, 10); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
