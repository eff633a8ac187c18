package httpapi

import (
	"encoding/base64"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reflectory/reflectory/cmd/host/internal/certs"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
)

// hosts are two hosts of which the first has the second's address as the home of one namespace.
// Each has a store of its own, so that an answer shows who gave it.
type hosts struct {
	first, second *site
	address       string
	peers         *certs.Peers

	mu     sync.Mutex
	failed []string
}

// newHosts starts both. between wraps the handler with which the second serves the first; it
// may be nil.
func newHosts(t *testing.T, between func(http.Handler) http.Handler) *hosts {
	t.Helper()
	h := &hosts{first: newSite(t), second: newSite(t), peers: peerCertificate(t, "peers.example.org")}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	h.first.Must(err)
	h.address = l.Addr().String()
	home := func(namespace string) (id, address string) {
		if strings.HasPrefix(namespace, operationtest.Here) {
			return "second", h.address
		}
		return "", ""
	}
	for id, s := range map[string]*site{"first": h.first, "second": h.second} { // the second, too, would send it to the second
		s.api.forwarder = newForwarder(&Peers{Home: home, Self: id, TLS: h.peers.Client(), Failed: h.note})
		t.Cleanup(s.api.forwarder.transport.CloseIdleConnections)
	}
	h.second.api.ready.Store(true)
	handler := h.second.api.Peer()
	if between != nil {
		handler = between(handler)
	}
	server := NewServer(t.Context(), h.second.api)
	server.serve(l, handler, h.peers.Server(), noOrigin)
	t.Cleanup(func() { h.first.Must(server.Stop()) })
	return h
}

func (h *hosts) note(address string, _ error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed = append(h.failed, address)
}

// peerCertificate makes a certificate that is its own authority's.
func peerCertificate(t *testing.T, name string) *certs.Peers {
	t.Helper()
	folder := t.TempDir()
	coretest.WriteCertificate(t, filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key"), time.Now().Add(-time.Hour), time.Now().Add(time.Hour), name)
	var p *certs.Peers
	text, err := os.ReadFile(filepath.Join(folder, "tls.crt"))
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "ca.crt"), text, 0o600)
	}
	if err == nil {
		p, err = certs.OpenPeers(folder, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const (
	observed = `{"id":"note-forwarded","namespace":"` + operationtest.Here + `","content":"the harbour closes at noon"}`
	recalled = `{"namespace":"` + operationtest.Here + `","query":"harbour"}`
)

// has reports whether a host's own store has the memory, whose id begins as it was chosen.
func (s *site) has(id string) bool {
	_, err := s.Host.Memories.Find(core.WithCaller(s.T.Context(), core.Operator("")), id)
	return err == nil
}

// TestForward_ANamespacesHomeAnswers, as the caller, once, and for no other namespace.
func TestForward_ANamespacesHomeAnswers(t *testing.T) {
	h := newHosts(t, nil)
	if a := h.first.send("here", "POST", "/v1/memories", observed); a.StatusCode != 200 || h.first.has("note-forwarded") || !h.second.has("note-forwarded") {
		t.Fatalf("observed: %d %s", a.StatusCode, a.body)
	}
	if l := h.second.line(); l.Subject != "here" || l.Op != "memory_observe" || l.TraceID != h.first.line().TraceID || l.Code != "ok" {
		t.Errorf("the home's line is %v, of %v", l, h.first.line())
	}
	a := h.first.send("here", "POST", "/v1/recall", recalled)
	if a.StatusCode != 200 || !strings.Contains(a.body, "note-forwarded") || a.Header.Get("Content-Type") != "application/json" {
		t.Errorf("recalled: %d %s", a.StatusCode, a.body)
	}
	if a := h.first.send("elsewhere", "POST", "/v1/recall", recalled); a.StatusCode != 403 || a.problem(t).Code != "namespace_denied" || h.first.line().Code != "namespace_denied" || h.first.line().By != h.address {
		t.Errorf("somebody without access: %d %s", a.StatusCode, a.body)
	}
	for _, own := range []string{strings.ReplaceAll(recalled, operationtest.Here, operationtest.Elsewhere), `{"query":"harbour"}`} {
		before := h.second.line()
		if a := h.first.send("operator", "POST", "/v1/recall", own); strings.Contains(a.body, "note-forwarded") || h.second.line() != before {
			t.Errorf("%s: %d %s", own, a.StatusCode, a.body)
		}
	}
	if a := h.first.send("nobody", "POST", "/v1/recall", recalled); a.StatusCode != 401 || h.second.line().Status == 401 {
		t.Errorf("a stranger: %d %s", a.StatusCode, a.body)
	}
	governed := "/v1/governance/" + strings.ReplaceAll(operationtest.Here, "/", "%2F")
	a = h.first.send("here", "GET", governed, "")
	if tag := a.Header.Get("ETag"); a.StatusCode != 200 || tag == "" || h.first.line().By != h.address {
		t.Errorf("with a version: %d %v", a.StatusCode, a.Header)
	} else if a := h.first.send("here", "GET", governed, "", "If-None-Match", tag); a.StatusCode != 304 || a.Header.Get("ETag") != tag {
		t.Errorf("what the caller has: %d %v", a.StatusCode, a.Header)
	}
	for i := range 2 {
		a := h.first.send("here", "POST", "/v1/memories", strings.Replace(observed, "note-forwarded", "note-keyed", 1), "Idempotency-Key", "k")
		if replayed := a.Header.Get(replayedHeader) == "true"; a.StatusCode != 200 || replayed != (i == 1) {
			t.Errorf("with a key, %d: %d %v", i, a.StatusCode, a.Header)
		}
	}
	if len(h.failed) > 0 {
		t.Errorf("%v didn't answer", h.failed)
	}
}

// TestForward_WithoutAnAnswer: a host that can't be reached, and one that works and breaks off.
func TestForward_WithoutAnAnswer(t *testing.T) {
	var breaks func(http.ResponseWriter, *http.Request, http.Handler)
	h := newHosts(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { breaks(w, r, next) })
	})
	breaks = func(_ http.ResponseWriter, r *http.Request, next http.Handler) {
		serve(next, r)
		panic(http.ErrAbortHandler)
	}
	if a := h.first.send("here", "POST", "/v1/memories", observed); a.StatusCode != 503 || a.problem(t).Code != "host_unanswered" || h.first.has("note-forwarded") {
		t.Errorf("what may have been done: %d %s", a.StatusCode, a.body)
	}
	for i := range 2 { // while it rests it isn't asked
		if a := h.first.send("here", "POST", "/v1/recall", recalled); a.StatusCode != 200 {
			t.Errorf("recall %d: %d %s", i, a.StatusCode, a.body)
		}
	}
	if len(h.failed) != 1 {
		t.Errorf("%v are reported", h.failed)
	}
	again := func() {
		h.first.api.forwarder.mu.Lock()
		defer h.first.api.forwarder.mu.Unlock()
		clear(h.first.api.forwarder.resting)
	}
	again()
	if a := h.first.send("here", "POST", "/v1/memories", observed, "Idempotency-Key", "k"); a.StatusCode != 200 || !h.first.has("note-forwarded") {
		t.Errorf("with a key: %d %s", a.StatusCode, a.body)
	}
	again()
	breaks = func(w http.ResponseWriter, r *http.Request, next http.Handler) { next.ServeHTTP(w, r) }
	h.second.api.ready.Store(false)
	if a := h.first.send("here", "POST", "/v1/recall", recalled); a.StatusCode != 200 || !strings.Contains(a.body, "note-forwarded") {
		t.Errorf("a host that isn't ready: %d %s", a.StatusCode, a.body)
	}
	h.second.api.ready.Store(true)
	h.second.api.forwarder.peers.Self = "third"
	if a := h.first.send("here", "POST", "/v1/recall", recalled); a.StatusCode != 200 || !strings.Contains(a.body, "note-forwarded") {
		t.Errorf("another host at the address: %d %s", a.StatusCode, a.body)
	}
	h.address = "127.0.0.1:1" // where nothing listens
	if a := h.first.send("here", "POST", "/v1/memories", strings.Replace(observed, "note-forwarded", "note-direct", 1)); a.StatusCode != 200 || !h.first.has("note-direct") {
		t.Errorf("a host that can't be reached: %d %s", a.StatusCode, a.body)
	}
}

// TestPeers_ShowEachOtherACertificate of the same authority, for the same name.
func TestPeers_ShowEachOtherACertificate(t *testing.T) {
	h := newHosts(t, nil)
	stranger := peerCertificate(t, "peers.example.org")
	for who, encryption := range map[string]*Peers{
		"another authority's": {TLS: h.peers.Client()},
		"none":                {TLS: h.peers.Client()},
	} {
		if encryption.TLS.GetClientCertificate = nil; who != "none" {
			encryption.TLS.GetClientCertificate = stranger.Client().GetClientCertificate
		}
		transport := newForwarder(encryption).transport
		if a, err := transport.RoundTrip(askStatus(t, h.address)); err == nil {
			_ = a.Body.Close()
			t.Errorf("a certificate: %s: %d", who, a.StatusCode)
		}
		transport.CloseIdleConnections()
	}
	for _, origin := range []string{"", "nothing", "e30K", base64.StdEncoding.EncodeToString([]byte(`{"Caller":{"Subject":"a","Scopes":["all"]}}`))} {
		r := askStatus(t, h.address)
		r.Header.Set("Authorization", "Bearer operator")
		r.Header.Set(forwardedHeader, origin)
		a, err := h.first.api.forwarder.transport.RoundTrip(r)
		h.first.Must(err)
		if _ = a.Body.Close(); a.StatusCode == http.StatusOK {
			t.Errorf("a request of %q: %d", origin, a.StatusCode)
		}
		if a := h.first.send("", "GET", "/v1/status", "", forwardedHeader, origin); a.StatusCode != http.StatusUnauthorized {
			t.Errorf("a stranger who says it is of %q: %d", origin, a.StatusCode)
		}
	}
}

// askStatus is a request for the status of the host at an address.
func askStatus(t *testing.T, address string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", "https://"+address+"/v1/status", nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
