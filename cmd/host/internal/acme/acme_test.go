package acme

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
	"github.com/miekg/dns"

	"github.com/reflectory/reflectory/sdk"
)

const name = "host.example.org"

// resolver answers that every name is this machine.
func resolver(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	server := &dns.Server{Listener: l, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		if len(q.Question) == 1 && q.Question[0].Qtype == dns.TypeA {
			m.Answer = append(m.Answer, &dns.A{
				Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 1}, A: net.IPv4(127, 0, 0, 1),
			})
		}
		_ = w.WriteMsg(m)
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.ActivateAndServe() }()
	t.Cleanup(func() { _ = server.Shutdown(); _ = l.Close(); <-done })
	return l.Addr().String()
}

// issuer is an ACME server that connects to a port to check who has a name.
func issuer(t *testing.T, port int) (directory string, own, issued *x509.CertPool) {
	t.Helper()
	t.Setenv("PEBBLE_VA_NOSLEEP", "1")
	t.Setenv("PEBBLE_WFE_NONCEREJECT", "0")
	quiet := log.New(io.Discard, "", 0)
	store := db.NewMemoryStore()
	authority := ca.New(quiet, store, "", "ecdsa", 0, 1, map[string]ca.Profile{"default": {Description: "any"}})
	front := wfe.New(quiet, store, va.New(quiet, 0, port, false, resolver(t), store), authority, []string{"example.org"}, false, false, 0, 0)
	server := httptest.NewTLSServer(front.Handler())
	t.Cleanup(server.Close)
	own, issued = x509.NewCertPool(), x509.NewCertPool()
	own.AddCert(server.Certificate())
	issued.AddCert(authority.GetRootCert(0).Cert)
	return server.URL + wfe.DirectoryPath, own, issued
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestCertificate_IsObtained by the server's own listener, and kept for the next start.
func TestCertificate_IsObtained(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	directory, own, issued := issuer(t, l.Addr().(*net.TCPAddr).Port)
	folder, reports := t.TempDir(), make(chan error, 8)
	open := func() *Certificate {
		c, err := New(Options{Name: "HOST.example.org", Folder: folder, Directory: directory, Listen: l.Addr().String(), Roots: own, Report: func(err error) { reports <- err }})
		must(t, err)
		return c
	}
	c := open()
	if at := c.Expires(); !at.IsZero() {
		t.Errorf("before there is one, it expires at %s", at)
	}
	server := &http.Server{
		Handler:   http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }),
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.Get, NextProtos: []string{Protocol}}, ErrorLog: log.New(io.Discard, "", 0),
	}
	served := make(chan struct{})
	go func() { defer close(served); _ = server.ServeTLS(l, "", "") }()
	defer func() { _ = server.Close(); <-served }()
	must(t, c.Start())
	if err := <-reports; err != nil {
		t.Fatal(err)
	}
	browser := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: issued, ServerName: name}, ForceAttemptHTTP2: true,
	}
	defer browser.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), "GET", "https://"+l.Addr().String(), nil)
	must(t, err)
	a, err := browser.RoundTrip(r)
	must(t, err)
	_ = a.Body.Close()
	first := a.TLS.PeerCertificates[0]
	if a.ProtoMajor != 2 || first.VerifyHostname(name) != nil || !c.Covers("Host.example.org") || c.Covers("example.org") || c.Name() != name {
		t.Errorf("it is for %v over %s", first.DNSNames, a.Proto)
	}
	if at := c.Expires(); !at.Equal(first.NotAfter) {
		t.Errorf("it expires at %s, want %s", at, first.NotAfter)
	}
	must(t, c.Close())
	must(t, c.Close())
	again := open()
	defer func() { must(t, again.Close()) }()
	must(t, again.Start())
	if err := <-reports; err != nil {
		t.Fatal(err)
	}
	shown, err := again.Get(&tls.ClientHelloInfo{ServerName: name, CipherSuites: []uint16{tls.TLS_AES_128_GCM_SHA256}, SupportedVersions: []uint16{tls.VersionTLS13}})
	must(t, err)
	if !shown.Leaf.Equal(first) {
		t.Error("the next start asks for another one")
	}
}

// TestCertificate_RefusalsAreReported, with what to do; and a listener must have a port.
func TestCertificate_RefusalsAreReported(t *testing.T) {
	reported := make(chan error, 1)
	report(func(err error) { reported <- err }, "cert_failed", map[string]any{"error": io.ErrUnexpectedEOF})
	if err := <-reported; sdk.ReasonOf(err) != "certificate_failed" || sdk.AsError(err).Hint == "" || !strings.Contains(err.Error(), io.ErrUnexpectedEOF.Error()) {
		t.Errorf("%v", err)
	}
	if _, err := New(Options{Name: name, Listen: "nowhere"}); sdk.ReasonOf(err) != "listen_invalid" {
		t.Errorf("%v", err)
	}
}
