package certs

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/sdk"
)

// pair writes a certificate of names and its key, which expires that long after the epoch.
func pair(t *testing.T, cert, key string, lasts time.Duration, names ...string) *x509.Certificate {
	t.Helper()
	return coretest.WriteCertificate(t, cert, key, coretest.Epoch().Add(-time.Hour), coretest.Epoch().Add(lasts), names...)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// watched are the files of a certificate, a clock, and what was reported.
type watched struct {
	*Files
	cert, key string
	clock     *coretest.Clock
	reports   []error
}

func open(t *testing.T) (*watched, *x509.Certificate) {
	t.Helper()
	dir := t.TempDir()
	w := &watched{cert: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "key.pem"), clock: &coretest.Clock{}}
	first := pair(t, w.cert, w.key, 1000*time.Hour, "*.example.org", "host.example.org")
	files, err := Open(Options{Cert: w.cert, Key: w.key, Clock: w.clock, Report: func(err error) { w.reports = append(w.reports, err) }})
	must(t, err)
	w.Files = files
	return w, first
}

// shows is whether a handshake shows a certificate.
func (w *watched) shows(t *testing.T, want *x509.Certificate) bool {
	t.Helper()
	got, err := w.Get(nil)
	must(t, err)
	return got.Leaf.Equal(want)
}

// TestFiles_AreReadAgain when they changed, at most once in a while.
func TestFiles_AreReadAgain(t *testing.T) {
	w, first := open(t)
	if got := w.Expires(); !got.Equal(first.NotAfter) {
		t.Errorf("it expires at %s", got)
	}
	second := pair(t, w.cert, w.key, 2000*time.Hour, "host.example.org")
	if !w.shows(t, first) {
		t.Error("they are read at each handshake")
	}
	w.clock.Advance(lookEvery)
	if got := w.Expires(); !got.Equal(second.NotAfter) {
		t.Errorf("the renewed one expires at %s", got)
	}
	if !w.shows(t, second) || len(w.reports) != 1 || w.reports[0] != nil {
		t.Errorf("the renewed one isn't shown: %v", w.reports)
	}
	w.clock.Advance(lookEvery)
	if !w.shows(t, second) || len(w.reports) != 1 {
		t.Errorf("what is the same is reported: %v", w.reports)
	}
}

// TestFiles_ABrokenPairIsntUsed: the pair before is still used, and each broken pair is
// reported once.
func TestFiles_ABrokenPairIsntUsed(t *testing.T) {
	w, first := open(t)
	whole, err := os.ReadFile(w.key)
	must(t, err)
	pair(t, w.cert, filepath.Join(t.TempDir(), "other.pem"), 2000*time.Hour, "host.example.org") // its key comes later
	expired := func() { pair(t, w.cert, w.key, -time.Minute, "host.example.org") }
	for _, breaks := range []func(){
		func() {},
		func() { must(t, os.WriteFile(w.key, nil, 0o600)) },
		func() { must(t, os.Remove(w.key)) },
		expired,
		func() { must(t, os.WriteFile(w.cert, whole, 0o600)) },
	} {
		before := len(w.reports)
		breaks()
		for range 3 {
			w.clock.Advance(lookEvery)
			if !w.shows(t, first) {
				t.Error("a broken pair is shown")
			}
		}
		if len(w.reports) != before+1 || w.reports[before] == nil || strings.Contains(w.reports[before].Error(), "PRIVATE") {
			t.Errorf("reported: %v", w.reports[before:])
		}
	}
	last := pair(t, w.cert, w.key, 2000*time.Hour, "host.example.org")
	w.clock.Advance(lookEvery)
	if !w.shows(t, last) {
		t.Error("a pair that fits isn't used after broken ones")
	}
}

// TestFiles_CoverTheirNames, patterns too.
func TestFiles_CoverTheirNames(t *testing.T) {
	w, _ := open(t)
	for host, want := range map[string]bool{
		"host.example.org": true, "a.example.org": true, "127.0.0.1": true, "example.org": false, "a.b.example.org": false, "": false, "other.org": false,
	} {
		if w.Covers(host) != want {
			t.Errorf("%q: %v", host, !want)
		}
	}
	if w.Name() != "host.example.org" {
		t.Errorf("its name is %q", w.Name())
	}
}

// TestOpen_RefusesWhatIsNoPair, and names the file that is wrong.
func TestOpen_RefusesWhatIsNoPair(t *testing.T) {
	w, _ := open(t)
	other := filepath.Join(t.TempDir(), "other.pem")
	pair(t, filepath.Join(t.TempDir(), "cert.pem"), other, time.Hour, "a.org")
	old, oldKey := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	pair(t, old, oldKey, -time.Minute, "a.org")
	for name, o := range map[string]Options{
		"tls_cert is gone":    {Cert: other + "x", Key: w.key},
		"tls_key is gone":     {Cert: w.cert, Key: other + "x"},
		"tls_cert of another": {Cert: w.cert, Key: other},
		"tls_cert a key":      {Cert: w.key, Key: w.key},
		"tls_cert expired":    {Cert: old, Key: oldKey},
	} {
		field, _, _ := strings.Cut(name, " ")
		o.Clock = w.clock
		_, err := Open(o)
		if e := sdk.AsError(err); sdk.ReasonOf(err) != "tls_invalid" || e.Hint == "" || e.Details["field"] != field || !strings.HasPrefix(err.Error(), field+" ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFiles_RenewalKeepsConnections: an open one continues with the certificate that it
// was shown, and a new one is shown the new one. Versions before 1.2 are refused.
func TestFiles_RenewalKeepsConnections(t *testing.T) {
	w, first := open(t)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: w.Get}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	// httptest adds a certificate of its own, which is shown where GetCertificate has none.
	server.StartTLS()
	defer server.Close()
	client := func(most uint16) *http.Client {
		roots := x509.NewCertPool()
		certificate, err := w.Get(nil)
		must(t, err)
		roots.AddCert(certificate.Leaf)
		return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
			RootCAs: roots, ServerName: "host.example.org", MaxVersion: most, Time: w.clock.Now,
		}}}
	}
	ask := func(c *http.Client) *x509.Certificate {
		r, err := http.NewRequestWithContext(t.Context(), "GET", server.URL, nil)
		must(t, err)
		a, err := c.Do(r)
		must(t, err)
		_, err = io.Copy(io.Discard, a.Body)
		must(t, err)
		_ = a.Body.Close()
		return a.TLS.PeerCertificates[0]
	}
	open := client(0)
	if !ask(open).Equal(first) {
		t.Error("the first one isn't shown")
	}
	second := pair(t, w.cert, w.key, 2000*time.Hour, "host.example.org")
	w.clock.Advance(lookEvery)
	w.readAgain()
	if !ask(open).Equal(first) {
		t.Error("the open connection was dropped")
	}
	if !ask(client(0)).Equal(second) {
		t.Error("a new connection is shown the old one")
	}
	old := client(tls.VersionTLS11)
	r, err := http.NewRequestWithContext(t.Context(), "GET", server.URL, nil)
	must(t, err)
	if a, err := old.Do(r); err == nil {
		_ = a.Body.Close()
		t.Error("TLS 1.1 is taken")
	}
	open.CloseIdleConnections()
}

// TestFiles_RenewalUnderLoad: no connection fails while the pair is replaced again and again,
// its two files one after the other.
func TestFiles_RenewalUnderLoad(t *testing.T) {
	w, _ := open(t)
	w.options.Report = func(error) {} // while a pair doesn't fit together yet
	const renewals = 20
	roots := x509.NewCertPool()
	first, err := w.Get(nil)
	must(t, err)
	roots.AddCert(first.Leaf)
	dir := t.TempDir()
	var last *x509.Certificate
	for i := range renewals {
		last = pair(t, filepath.Join(dir, fmt.Sprint(i, "c")), filepath.Join(dir, fmt.Sprint(i, "k")), 1000*time.Hour, "host.example.org")
		roots.AddCert(last)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: w.Get}
	server.StartTLS()
	defer server.Close()
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "host.example.org", Time: w.clock.Now}}
	var work sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		work.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				r, err := http.NewRequestWithContext(t.Context(), "GET", server.URL, nil)
				if err != nil {
					t.Error(err)
					return
				}
				a, err := transport.RoundTrip(r)
				if err != nil {
					t.Error(err)
					return
				}
				_ = a.Body.Close()
			}
		})
	}
	for i := range renewals {
		for _, file := range [][2]string{{"c", w.cert}, {"k", w.key}} {
			must(t, os.Rename(filepath.Join(dir, fmt.Sprint(i, file[0])), file[1]))
			w.clock.Advance(lookEvery)
			w.readAgain()
		}
	}
	close(stop)
	work.Wait()
	w.clock.Advance(lookEvery)
	if !w.shows(t, last) {
		t.Error("the last one isn't shown")
	}
}

// TestFiles_RefuseAKeyThatIsOpen to other users of the machine.
func TestFiles_RefuseAKeyThatIsOpen(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	coretest.WriteCertificate(t, cert, key, time.Now().Add(-time.Hour), time.Now().Add(time.Hour), "localhost")
	for mode, open := range map[os.FileMode]bool{
		0o600: false, 0o400: false, 0o440: false, 0o640: false, 0o644: true, 0o604: true, 0o666: true, 0o602: true, 0o660: true, 0o620: true, 0o444: true, 0o755: true,
	} {
		if err := os.Chmod(key, mode); err != nil {
			t.Fatal(err)
		}
		_, err := Open(Options{Cert: cert, Key: key})
		if (err != nil) != open || open && (sdk.CodeOf(err) != sdk.Invalid || !strings.Contains(err.Error(), key)) {
			t.Errorf("%#o: %v", mode, err)
		}
	}
}

// TestSuites_AuthenticateWhatTheyEncrypt, with a key of their own for each connection.
func TestSuites_AuthenticateWhatTheyEncrypt(t *testing.T) {
	ids := Suites()
	if len(ids) < 6 {
		t.Errorf("%d suites", len(ids))
	}
	for _, id := range ids {
		if name := tls.CipherSuiteName(id); strings.Contains(name, "CBC") || strings.Contains(name, "TLS_RSA") || strings.Contains(name, "RC4") || strings.Contains(name, "3DES") {
			t.Errorf("%s", name)
		}
	}
}
