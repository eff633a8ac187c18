package httpapi

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

// TestAPI_OnlyTLSIsRemembered by browsers, for a name that is this server's alone.
func TestAPI_OnlyTLSIsRemembered(t *testing.T) {
	for name, c := range map[string]struct {
		host      string
		encrypted bool
		proxy     bool
		want      bool
	}{
		"over TLS": {"example.com", true, false, true}, "behind a proxy": {"example.com", false, true, true}, "in the clear": {"example.com", false, false, false},
		"with a port": {"example.com:7842", true, false, true}, "this machine": {"localhost", true, false, false}, "this machine, with a port": {"localhost:1", true, false, false},
		"below it": {"a.localhost", true, false, false}, "an address": {"127.0.0.1:7842", true, false, false}, "IPv6": {"[::1]:7842", true, false, false},
	} {
		s := newSite(t)
		if c.encrypted {
			s.api.config.TLS = &tls.Config{MinVersion: tls.VersionTLS13}
		}
		if c.proxy {
			s.api.config.Proxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
		}
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/healthz", nil)
		r.Host = c.host
		a := serve(s.api.Remote(), r)
		if got := a.Header.Get("Strict-Transport-Security") != ""; got != c.want {
			t.Errorf("%s: %q", name, a.Header.Get("Strict-Transport-Security"))
		}
	}
}

// TestAPI_AnswersWhoOnlyEndedSending: a client that closes its half of the connection after the
// request gets the answer, not a refusal because the policy was interrupted.
func TestAPI_AnswersWhoOnlyEndedSending(t *testing.T) {
	s := newSite(t)
	id := s.Memory()
	server := httptest.NewServer(s.api.Remote())
	t.Cleanup(server.Close)
	for _, c := range []struct{ request string }{
		{"GET /v1/memories/" + id}, {"GET /v1/memories?namespace=team/here"}, {"GET /v1/memories/" + id + "/explain"}, {"GET /v1/status"},
		{"GET /v1/tokens"}, {"GET /v1/runs?namespace=team/here"}, {"GET /v1/stats"}, {"GET /v1/jobs"},
	} {
		for range 5 {
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer operator\r\nConnection: close\r\n\r\n", c.request)
			if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			a, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _ = a.Body.Close(); a.StatusCode != http.StatusOK {
				t.Errorf("%s: %d", c.request, a.StatusCode)
			}
			_ = conn.Close()
		}
	}
}
