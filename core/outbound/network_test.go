package outbound_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/outbound"
	"github.com/reflectory/reflectory/sdk"
)

func open(t *testing.T, o outbound.Options) *outbound.Network {
	t.Helper()
	n, err := outbound.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestNetwork_CloseReadsNoAuthorities: they are read when they are needed, and not to end.
func TestNetwork_CloseReadsNoAuthorities(t *testing.T) {
	dir := t.TempDir()
	n := open(t, outbound.Options{CA: filepath.Join(dir, "ca.pem")})
	n.Close()
	coretest.WriteCertificate(t, filepath.Join(dir, "ca.pem"), filepath.Join(dir, "key.pem"), time.Now(), time.Now().Add(time.Hour))
	if err := n.Problem(); err != nil {
		t.Errorf("the file was read before it was there: %v", err)
	}
}

func TestNetwork_For(t *testing.T) {
	const secure, plain = "http://secure.test:3128", "http://plain.test:3128"
	for _, c := range []struct {
		no, url string
		want    string // "" is directly
	}{
		{"", "https://api.example.org", secure},
		{"", "http://api.example.org", plain},
		{"", "https://8.8.8.8", secure},
		// This machine, however it is written.
		{"", "http://localhost:11434", ""},
		{"", "http://LOCALHOST:11434", ""},
		{"", "http://localhost.:11434", ""},
		{"", "http://models.localhost:11434", ""},
		{"", "https://127.0.0.1", ""},
		{"", "https://127.8.9.10:8443", ""},
		{"", "http://[::1]:11434", ""},
		{"", "http://[::ffff:127.0.0.1]:11434", ""},
		{"", "http://0.0.0.0:11434", ""},
		{"", "http://[::]:11434", ""},
		// Exceptions.
		{"*", "https://api.example.org", ""},
		{"a.test, *", "http://10.0.0.1", ""},
		{"example.org", "https://api.example.org", ""},
		{"example.org", "https://example.org", ""},
		{"example.org", "https://notexample.org", secure},
		{".example.org", "https://api.example.org", ""},
		{".example.org", "https://example.org", secure},
		{"*.example.org", "https://api.example.org", ""},
		{"API.Example.Org", "https://api.example.org.", ""},
		{"example.org.", "https://api.example.org", ""},
		{"example.org:8443", "https://api.example.org:8443", ""},
		{"example.org:8443", "https://api.example.org", secure},
		{"10.0.0.0/8", "http://10.1.2.3:11434", ""},
		{"10.0.0.0/8", "http://11.1.2.3:11434", plain},
		{"10.0.0.0/8", "http://[::ffff:10.1.2.3]:11434", ""},
		{"10.1.2.3", "http://10.1.2.3:11434", ""},
		{"10.1.2.3:80", "http://10.1.2.3:11434", plain},
		{"fd00::/8", "http://[fd00::7]", ""},
		{"[fd00::7]", "http://[fd00::7]", ""},
		{"[fd00::7]:80", "http://[fd00::7]", ""},
		{"a.test b.test\texample.org", "https://api.example.org", ""},
		{"a.test;example.org", "https://api.example.org", ""},
		{",,", "https://api.example.org", secure},
	} {
		n := open(t, outbound.Options{HTTPSProxy: secure, HTTPProxy: "plain.test:3128", NoProxy: c.no})
		u, err := url.Parse(c.url)
		if err != nil {
			t.Fatal(err)
		}
		got, err := n.Proxy(&http.Request{URL: u})
		if err != nil || got != nil && got.String() != c.want || got == nil && c.want != "" {
			t.Errorf("%s with NO_PROXY=%q goes through %v, want %q", c.url, c.no, got, c.want)
		}
	}
}

func TestNetwork_OneProxyIsForItsSchemeOnly(t *testing.T) {
	n := open(t, outbound.Options{HTTPSProxy: "http://secure.test:3128"})
	n.Speaks("http://GPU.example.org:8000/v1")
	for endpoint, proxied := range map[string]bool{
		"gpu.example.org:8000": false, "gpu.example.org:8443": true, "api.example.org:443": true, "api.example.org:80": false, "api.example.org:8000": true,
	} {
		host, text, _ := net.SplitHostPort(endpoint)
		port, _ := net.LookupPort("tcp", text)
		if got := n.Through("", host, port) != nil; got != proxied {
			t.Errorf("%s through a proxy: %t", endpoint, got)
		}
	}
}

func TestNew_RefusesWhatIsNoProxy(t *testing.T) {
	for _, text := range []string{
		"ftp://proxy.test", "http://", "http://user:s3cret@:3128", "http://proxy.test:99999", "http://user:s3cret@proxy.test:port", "://s3cret", "socks4://user:s3cret@proxy.test",
		"http://user:s3cret@pro xy.test", "\x7fs3cret", "http://[::1", "unix:///s3cret.sock", "file:s3cret",
	} {
		_, err := outbound.New(outbound.Options{HTTPSProxy: text})
		if sdk.ReasonOf(err) != "proxy_invalid" || strings.Contains(err.Error()+sdk.AsError(err).Hint, "s3cret") {
			t.Errorf("%q: %v", text, err)
		}
	}
	for text, shown := range map[string]string{
		"proxy.test:3128": "http://proxy.test:3128", "HTTP://user:s3cret@proxy.test": "http://proxy.test (with a user)", "https://proxy.test:443/": "https://proxy.test:443",
		"socks5h://u@[::1]:1080": "socks5h://[::1]:1080 (with a user)", "user:s3cret@proxy.test:3128": "http://proxy.test:3128 (with a user)",
	} {
		if err := outbound.CheckProxy(text); err != nil || outbound.Shown(text) != shown {
			t.Errorf("%s is shown as %s, %v", text, outbound.Shown(text), err)
		}
	}
}

// TestTransport_KeepsTheConnectionsOfManyRequests: the next requests begin without a handshake.
func TestTransport_KeepsTheConnectionsOfManyRequests(t *testing.T) {
	const atOnce = 16
	var opened atomic.Int32
	var together sync.WaitGroup
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		together.Done()
		together.Wait() // so that each has a connection of its own
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	n, err := outbound.New(outbound.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	client := http.Client{Transport: n.Transport()}
	for range 2 {
		together.Add(atOnce)
		var asked sync.WaitGroup
		for range atOnce {
			asked.Go(func() {
				r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
				resp, err := client.Do(r)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			})
		}
		asked.Wait()
	}
	if got := opened.Load(); got != atOnce {
		t.Errorf("%d connections for %d requests at once", got, atOnce)
	}
}
