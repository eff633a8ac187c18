package outbound_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core/outbound"
	"github.com/reflectory/reflectory/sdk"
)

// aProxy is a real CONNECT proxy that connects every name to one server.
type aProxy struct {
	*httptest.Server
	mu     sync.Mutex
	asked  []string // METHOD target authorization
	refuse int      // a status instead of a connection
}

func newProxy(t *testing.T, to string) *aProxy {
	t.Helper()
	p := &aProxy{}
	p.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.asked = append(p.asked, r.Method+" "+r.Host+" "+r.Header.Get("Proxy-Authorization"))
		refuse := p.refuse
		p.mu.Unlock()
		if refuse != 0 {
			w.Header().Set("Location", "http://elsewhere.test/s3cret")
			http.Error(w, "you sent "+r.Header.Get("Proxy-Authorization")+" s3cret", refuse)
			return
		}
		out, err := net.Dial("tcp", to)
		if err != nil {
			t.Error(err)
			return
		}
		defer out.Close()
		w.WriteHeader(http.StatusOK)
		in, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer in.Close()
		done := make(chan struct{})
		go func() { defer close(done); _, _ = io.Copy(out, buffered); _ = out.(*net.TCPConn).CloseWrite() }()
		_, _ = io.Copy(in, out)
		_ = in.Close()
		<-done
	}))
	p.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(p.Close)
	return p
}

func (p *aProxy) requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.asked...)
}

// authority writes the certificate of a server into a file, as a company's own authority.
func authority(t *testing.T, s *httptest.Server) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ca.pem")
	data := append([]byte("a comment\n"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})...)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func greets(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }

// get makes one request over a tunnel that a network made.
func get(t *testing.T, n *outbound.Network, base string) (string, error) {
	t.Helper()
	transport := n.Transport()
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport}).Get(base)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return string(body), err
}

// A name that only the proxy knows is reached, with an authority that only a file has.
func TestNetwork_ThroughAProxyWithAnOwnAuthority(t *testing.T) {
	model := httptest.NewTLSServer(http.HandlerFunc(greets))
	t.Cleanup(model.Close)
	ca := authority(t, model)
	for name, trusted := range map[string]outbound.Options{
		"SSL_CERT_FILE": {CertFile: ca}, "SSL_CERT_DIR": {CertDir: "/nowhere:" + filepath.Dir(ca)}, "settings.llm.ca": {CA: ca},
	} {
		for _, secure := range []bool{false, true} {
			p := newProxy(t, model.Listener.Addr().String())
			if p.Start(); secure {
				p = newProxy(t, model.Listener.Addr().String())
				p.TLS = &tls.Config{Certificates: model.TLS.Certificates}
				p.StartTLS()
			}
			o := trusted
			o.HTTPSProxy = strings.Replace(p.URL, "127.0.0.1", "user:s3cret@127.0.0.1", 1)
			n := open(t, o)
			if got, err := get(t, n, "https://example.com/v1"); got != "hello" || err != nil { // the certificate is for example.com
				t.Errorf("%s: %q, %v", name, got, err)
			}
			conn, err := n.Through("https", "example.com", 443)(t.Context())
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			c := tls.Client(conn, &tls.Config{RootCAs: n.Roots(), ServerName: "example.com"})
			if err := c.HandshakeContext(t.Context()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			_ = c.Close()
			for _, asked := range p.requests() {
				if asked != "CONNECT example.com:443 Basic dXNlcjpzM2NyZXQ=" {
					t.Errorf("the proxy was asked %q", asked)
				}
			}
			if len(p.requests()) != 2 {
				t.Errorf("%d requests", len(p.requests()))
			}
		}
	}
	if _, err := get(t, open(t, outbound.Options{HTTPSProxy: "http://127.0.0.1:1"}), model.URL); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("without the authority, directly: %v", err)
	}
}

func TestTunnel_FaultsOfTheProxy(t *testing.T) {
	for status, want := range map[int]string{
		407: "proxy_refused", 403: "proxy_refused", 404: "proxy_refused", 302: "proxy_refused", 204: "proxy_refused", 502: "proxy_failed", 503: "proxy_failed", 504: "proxy_failed", 429: "proxy_failed",
	} {
		p := newProxy(t, "127.0.0.1:1")
		p.refuse = status
		p.Start()
		n := open(t, outbound.Options{HTTPSProxy: "http://user:s3cret@" + p.Listener.Addr().String()})
		_, err := n.Through("https", "example.com", 443)(t.Context())
		checkFault(t, fmt.Sprint(status), err, want)
		if _, err := get(t, n, "https://example.com"); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%d: net/http says %v", status, err)
		}
		if len(p.requests()) != 2 {
			t.Errorf("%d: %d requests", status, len(p.requests()))
		}
	}
	for name, answer := range map[string]string{
		"nothing": "", "garbage": "\x00\x01 s3cret \xff\r\n\r\n", "a page": "<html>s3cret</html>\r\n\r\n", "a cut head": "HTTP/1.1 200 OK\r\nX: s3cret",
		"a head without end": "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: s3cret\r\n", 100_000), "an odd status": "HTTP/1.1 s3cret\r\n\r\n", "another protocol": "SSH-2.0-s3cret\r\n",
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var served sync.WaitGroup
		served.Go(func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Read(make([]byte, 4096))
				_, _ = io.WriteString(conn, answer)
				_ = conn.Close()
			}
		})
		for _, scheme := range []string{"http", "https", "socks5"} {
			n := open(t, outbound.Options{HTTPSProxy: scheme + "://user:s3cret@" + l.Addr().String()})
			_, err = n.Through("https", "example.com", 443)(t.Context())
			checkFault(t, name+" over "+scheme, err, "proxy_failed")
		}
		_ = l.Close()
		served.Wait()
	}
}

func checkFault(t *testing.T, name string, err error, reason string) {
	t.Helper()
	if sdk.ReasonOf(err) != reason {
		t.Errorf("%s: %v", name, err)
		return
	}
	if text := fmt.Sprintf("%v %+v %s", err, sdk.AsError(err), sdk.AsError(err).Hint); strings.Contains(text, "s3cret") {
		t.Errorf("%s shows the password: %s", name, text)
	}
}

func TestTunnel_EndsWithItsContext(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // it accepts, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	for _, scheme := range []string{"http", "https", "socks5"} {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		n := open(t, outbound.Options{HTTPSProxy: scheme + "://" + l.Addr().String()})
		_, err := n.Through("https", "example.com", 443)(ctx)
		checkFault(t, scheme, err, "proxy_failed")
		cancel()
	}
}

func TestNetwork_ProblemsOfAuthorities(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	key := "-----BEGIN PRIVATE KEY-----\nczNjcmV0\n-----END PRIVATE KEY-----\n"
	for name, c := range map[string]struct {
		o    outbound.Options
		says string
	}{
		"missing":        {outbound.Options{CertFile: filepath.Join(dir, "none.pem")}, "SSL_CERT_FILE: stat " + dir + "/none.pem: no such file"},
		"a folder":       {outbound.Options{CertFile: dir}, "SSL_CERT_FILE: " + dir + " isn't a file"},
		"a device":       {outbound.Options{CertFile: "/dev/zero"}, "SSL_CERT_FILE: /dev/zero isn't a file"},
		"empty":          {outbound.Options{CertFile: file("empty", "")}, "has no certificate"},
		"no certificate": {outbound.Options{CertFile: file("text", "s3cret")}, "has no certificate"},
		"a key":          {outbound.Options{CA: file("key", key)}, "settings.llm.ca: " + dir + "/key has no certificate"},
		"too large":      {outbound.Options{CertFile: file("large", strings.Repeat("x", 5<<20))}, "has more than 4194304 bytes"},
		"no folder":      {outbound.Options{CertDir: filepath.Join(dir, "none")}, "SSL_CERT_DIR: open " + dir + "/none: no such file"},
		"broken":         {outbound.Options{CertFile: file("broken", "-----BEGIN CERTIFICATE-----\nczNjcmV0\n-----END CERTIFICATE-----\n")}, "has no certificate"},
	} {
		err := open(t, c.o).Problem()
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := open(t, outbound.Options{}); n.Problem() != nil || n.Roots() != nil {
		t.Error("the system's authorities are replaced")
	}
	server := httptest.NewTLSServer(nil)
	server.Close()
	ca := authority(t, server)
	text, _ := os.ReadFile(ca)
	bundle, folders := open(t, outbound.Options{CertFile: file("both", key+string(text)), CertDir: dir}).Bundle()
	if pool := x509.NewCertPool(); !pool.AppendCertsFromPEM(bundle) || strings.Contains(string(bundle), "PRIVATE") || !folders {
		t.Errorf("the bundle is %s", bundle)
	}
}
