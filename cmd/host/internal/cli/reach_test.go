package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/oauth2-proxy/mockoidc"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/coretest"
)

// certificate writes a certificate for localhost into the world, with its key.
func (w *world) certificate() (cert, key string, roots *x509.CertPool) {
	w.t.Helper()
	cert, key = filepath.Join(w.dir, "cert.pem"), filepath.Join(w.dir, "key.pem")
	roots = x509.NewCertPool()
	roots.AddCert(coretest.WriteCertificate(w.t, cert, key, time.Now().Add(-time.Hour), time.Now().Add(time.Hour), "localhost"))
	return cert, key, roots
}

// browser asks as a browser does, and keeps cookies.
type browser struct {
	t    *testing.T
	http http.Client
}

func newBrowser(t *testing.T, roots *x509.CertPool) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if name, port, err := net.SplitHostPort(address); err == nil && strings.HasSuffix(name, ".localhost") { // as browsers do
			address = net.JoinHostPort("127.0.0.1", port)
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &browser{t, http.Client{Transport: transport, Jar: jar}}
}

// ask sends a request, with a form unless that is nil, and follows redirects.
func (b *browser) ask(method, target string, form url.Values, headers ...string) (*http.Response, string) {
	b.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(b.t.Context(), method, target, body)
	if err != nil {
		b.t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	a, err := b.http.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = a.Body.Close() }()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return a, string(text)
}

// TestOpen_LogsABrowserIn over TLS, once; then pages and the API know it until it logs out.
func TestOpen_LogsABrowserIn(t *testing.T) {
	w := newPlainWorld(t)
	cert, key, roots := w.certificate()
	s := w.serve("--tls-cert", cert, "--tls-key", key, "--host", "localhost")
	out, _ := w.ok("open")
	link := strings.TrimSpace(out)
	if !strings.HasPrefix(s.URL, "https://localhost:") || !strings.HasPrefix(link, s.URL+"/login?link=rfo_operator_") {
		t.Fatalf("the server is at %s, and the link is %s", s.URL, link)
	}
	b := newBrowser(t, roots)
	if a, text := b.ask("GET", s.URL, nil); a.Request.URL.Path != "/login" || !strings.Contains(text, "Sign in") || a.TLS.Version < tls.VersionTLS12 || a.ProtoMajor != 2 {
		t.Errorf("somebody unknown gets %s: %s", a.Request.URL, text)
	}
	for _, passing := range [][]string{{"HEAD"}, {"GET", "Sec-Purpose", "prefetch;prerender"}} {
		if a, _ := b.ask(passing[0], link, nil, passing[1:]...); a.StatusCode != http.StatusNoContent || len(a.Cookies()) > 0 {
			t.Errorf("%v: %d", passing, a.StatusCode)
		}
	}
	a, _ := b.ask("GET", link, nil)
	cookies := a.Cookies()
	if a.StatusCode != 200 || len(cookies) != 1 {
		t.Fatalf("the link: %d %v", a.StatusCode, cookies)
	}
	if c := cookies[0]; c.Name != "__Host-reflectory" || !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.MaxAge != 12*60*60 {
		t.Errorf("the cookie: %v", c)
	}
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; " +
			"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; trusted-types reflectory; require-trusted-types-for 'script'",
	} {
		if got := a.Header.Get(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	if a, text := b.ask("GET", s.URL, nil); a.StatusCode != 200 || !strings.Contains(text, "operator") {
		t.Errorf("signed in: %d %s", a.StatusCode, text)
	}
	if a, text := b.ask("GET", s.URL+"/v1/memories?namespace=a", nil); a.StatusCode != 200 {
		t.Errorf("the API: %d %s", a.StatusCode, text)
	}
	if a, _ := newBrowser(t, roots).ask("GET", link, nil); a.StatusCode != http.StatusUnauthorized || len(a.Cookies()) > 0 {
		t.Errorf("the link again: %d", a.StatusCode)
	}
	if a, _ := b.ask("POST", s.URL+"/logout", url.Values{}, "Sec-Fetch-Site", "cross-site"); a.StatusCode != http.StatusForbidden {
		t.Errorf("another site logs out: %d", a.StatusCode)
	}
	at, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	session := b.http.Jar.Cookies(at)
	if a, _ := b.ask("POST", s.URL+"/logout", url.Values{}, "Sec-Fetch-Site", "same-origin"); a.Request.URL.Path != "/login" {
		t.Errorf("logged out, it is at %s", a.Request.URL)
	}
	b.http.Jar.SetCookies(at, session) // from anyone who kept it
	if a, _ := b.ask("GET", s.URL+"/v1/memories?namespace=a", nil); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("after the logout: %d", a.StatusCode)
	}
}

// follow follows the pages that lead on by themselves.
func (b *browser) follow(a *http.Response, text string) (*http.Response, string) {
	b.t.Helper()
	for range 3 {
		_, next, leads := strings.Cut(text, `http-equiv="refresh" content="0; url=`)
		if !leads {
			break
		}
		next, _, _ = strings.Cut(next, `"`)
		at, err := a.Request.URL.Parse(html.UnescapeString(next))
		if err != nil {
			b.t.Fatal(err)
		}
		a, text = b.ask("GET", at.String(), nil)
	}
	return a, text
}

// TestLogin_HoldsUnderItsNameOnly: another user's server on another port of this machine gets the
// cookies that the browser has for the host's name that it is reached by. None of them is a
// session, or the session isn't accepted.
func TestLogin_HoldsUnderItsNameOnly(t *testing.T) {
	w := newPlainWorld(t)
	s := w.serve()
	token, _ := w.ok("token", "new", "amy", "--scope", "memory:read", "--namespace", "a/**")
	read := "/v1/memories?namespace=a"
	enter := map[string]func(b *browser) (*http.Response, string){
		"a link": func(b *browser) (*http.Response, string) {
			out, _ := w.ok("open")
			return b.ask("GET", strings.TrimSpace(out), nil)
		},
		"a token": func(b *browser) (*http.Response, string) {
			return b.ask("POST", s.URL+"/login", url.Values{"token": {token}})
		},
		"a token, by another name": func(b *browser) (*http.Response, string) {
			return b.ask("POST", strings.Replace(s.URL, "127.0.0.1", "localhost", 1)+"/login", url.Values{"token": {token}})
		},
		"a token, by a name that another user knows": func(b *browser) (*http.Response, string) {
			return b.ask("POST", strings.Replace(s.URL, "127.0.0.1", strings.Repeat("0a", 16)+".localhost", 1)+"/login", url.Values{"token": {token}})
		},
	}
	names := map[string]bool{}
	for name, enter := range enter {
		b := newBrowser(t, nil)
		a, text := b.follow(enter(b))
		at := a.Request.URL
		if a.StatusCode != 200 || at.Path != "/" || !access.IsLoginHost(at.Hostname()) || names[at.Hostname()] || strings.HasPrefix(at.Hostname(), "0a0a") {
			t.Errorf("%s: %d at %s: %s", name, a.StatusCode, at, text)
		}
		names[at.Hostname()] = true
		cookies := b.http.Jar.Cookies(at)
		if len(cookies) != 1 {
			t.Fatalf("%s: %d cookies", name, len(cookies))
		}
		if a, _ := b.ask("GET", "http://"+at.Host+read, nil); a.StatusCode != 200 {
			t.Errorf("%s: its own page gets %d", name, a.StatusCode)
		}
		for _, other := range []string{"127.0.0.1", "localhost", "[::1]", strings.Repeat("0a", 16) + ".localhost", "a." + at.Hostname(), strings.ToUpper(at.Hostname())} {
			to := strings.Replace(s.URL, "127.0.0.1", other, 1)
			target, err := url.Parse(to)
			if err != nil {
				t.Fatal(err)
			}
			if sent := b.http.Jar.Cookies(target); len(sent) > 0 && !strings.EqualFold(other, at.Hostname()) {
				t.Errorf("%s: the browser sends its cookie to %s", name, to)
			}
			if strings.EqualFold(other, at.Hostname()) || other == "[::1]" {
				continue // the same name, written otherwise; or not listened on by every system
			}
			if a, _ := newBrowser(t, nil).ask("GET", to+read, nil, "Cookie", cookies[0].Name+"="+cookies[0].Value); a.StatusCode != http.StatusUnauthorized && a.StatusCode != http.StatusForbidden {
				t.Errorf("%s: anyone who got the cookie is let in to %s: %d", name, to, a.StatusCode)
			}
		}
	}
	out, _ := w.ok("open")
	link, err := url.Parse(strings.TrimSpace(out))
	if err != nil {
		t.Fatal(err)
	}
	link.Host = strings.TrimPrefix(s.URL, "http://")
	if a, _ := newBrowser(t, nil).ask("GET", link.String(), nil); a.StatusCode != http.StatusUnauthorized || len(a.Cookies()) > 0 {
		t.Errorf("the link under another name: %d", a.StatusCode)
	}
}

// TestLogin_ByAToken, in a form; after wrong ones, the address has to wait.
func TestLogin_ByAToken(t *testing.T) {
	w := newPlainWorld(t)
	s := w.serve()
	token, _ := w.ok("token", "new", "amy <b>", "--scope", "memory:read", "--namespace", "team/**")
	b := newBrowser(t, nil)
	a, text := b.ask("POST", s.URL+"/login", url.Values{"token": {token}})
	if a, text = b.follow(a, text); a.StatusCode != 200 || a.Request.URL.Path != "/" || !strings.Contains(text, "amy &lt;b&gt;") {
		t.Errorf("%d at %s: %s", a.StatusCode, a.Request.URL, text)
	}
	statuses := map[int]int{}
	for range 12 {
		a, _ := newBrowser(t, nil).ask("POST", s.URL+"/login", url.Values{"token": {"rfl_wrong"}})
		statuses[a.StatusCode]++
	}
	if statuses[http.StatusUnauthorized] < 10 || statuses[http.StatusUnauthorized]+statuses[http.StatusTooManyRequests] != 12 {
		t.Errorf("wrong ones: %v", statuses)
	}
	if a, _ := newBrowser(t, nil).ask("POST", s.URL+"/login", url.Values{"token": {token}}); a.StatusCode != 200 {
		t.Errorf("a right one after them: %d", a.StatusCode)
	}
	if a, text := b.ask("GET", s.URL+"/assets/reflectory.css", nil); a.StatusCode != 200 || !strings.Contains(text, "body") {
		t.Errorf("the style: %d", a.StatusCode)
	}
	if a, _ := b.ask("GET", s.URL+"/favicon.ico", nil); a.StatusCode != 200 || a.Header.Get("Content-Type") != "image/svg+xml" {
		t.Errorf("the icon: %d %s", a.StatusCode, a.Header.Get("Content-Type"))
	}
}

// TestServe_NoAuth lets everybody on this machine in, and says so.
func TestServe_NoAuth(t *testing.T) {
	w := newPlainWorld(t)
	s := w.serve("--no-auth")
	b := newBrowser(t, nil)
	a, text := b.ask("GET", s.URL, nil)
	if a.StatusCode != 200 || !strings.Contains(text, "no credentials") || a.Header.Get("Reflectory-Auth") != "none" {
		t.Errorf("%d %v %s", a.StatusCode, a.Header, text)
	}
	if a, _ := b.ask("GET", s.URL+"/v1/memories?namespace=a", nil); a.StatusCode != 200 || a.Header.Get("Reflectory-Auth") != "none" {
		t.Errorf("%d", a.StatusCode)
	}
	out, _ := w.ok("status")
	wantIn(t, out, "none: every program on this machine may read and write memories, and run workflows", s.URL)
	if out, _ := w.ok("open"); strings.TrimSpace(out) != s.URL+"/" {
		t.Errorf("open: %s", out)
	}
}

// TestServe_RefusesAnUnsafeStart before anything is opened or written, and names the flags.
func TestServe_RefusesAnUnsafeStart(t *testing.T) {
	w := newPlainWorld(t)
	cert, key, _ := w.certificate()
	files := " --tls-cert " + cert + " --tls-key " + key
	for line, says := range map[string]string{
		"--listen 0.0.0.0:0":                 "--listen",
		"--listen 0.0.0.0:0 --no-auth":       "--no-auth",
		"--listen 0.0.0.0:0" + files:         "only the operator's token",
		"--tls-by-proxy 127.0.0.1/32":        "only the operator's token",
		"--tls-by-proxy 127.0.0.1":           "--tls-by-proxy",
		"--tls-by-proxy 0.0.0.0/0":           "--tls-by-proxy",
		"--tls-cert " + cert:                 "--tls-key is missing",
		"--tls-key " + key:                   "--tls-cert is missing",
		"--tls-cert /no --tls-key /no":       "--tls-cert can't be used",
		"--no-auth --tls-by-proxy ::/8":      "--no-auth",
		"--acme localhost":                   "--acme",
		"--acme a.org --no-auth --listen :0": "--no-auth",
		"--acme a.example.org" + files:       "--acme",

		"--peer-listen 127.0.0.1:0":                                                   "--peer-tls are needed together",
		"--peer-listen 127.0.0.1:0 --peer-tls /no":                                    "--store",
		"--peer-listen 0.0.0.0:0 --peer-tls /no --store postgres://nowhere.example/x": "--peer-listen 0.0.0.0:0",
		"--peer-listen 10.0.0.1:7843 --peer-tls /no --store postgres://h.example/x":   "--peer-tls: /no can't be used: there is no file /no/tls.crt",
	} {
		code, _, errs := w.run(t.Context(), append([]string{"serve"}, strings.Fields(line)...)...)
		if code != exitUsage || !strings.Contains(errs, says) || !strings.Contains(errs, "hint: ") && !strings.Contains(errs, " (") {
			t.Errorf("%s: exit %d: %s", line, code, errs)
		}
	}
	if _, err := os.Lstat(w.env["REFLECTORY_DATA_DIR"]); !os.IsNotExist(err) {
		t.Errorf("the data folder is there: %v", err)
	}
}

// TestServe_BehindAProxy starts with a token besides the operator's, and is known by the
// names that it was given.
func TestServe_BehindAProxy(t *testing.T) {
	w := newPlainWorld(t)
	w.ok("memory", "observe", "--namespace", "team/a", "--content", "c")
	proxied := []string{"--tls-by-proxy", "127.0.0.1/32", "--host", "host.example.org"}
	code, _, errs := w.run(t.Context(), append([]string{"serve", "--listen", "127.0.0.1:0"}, proxied...)...)
	if code != exitUsage || !strings.Contains(errs, "only the operator's token") || !strings.Contains(errs, "token new SUBJECT") {
		t.Errorf("without one: exit %d: %s", code, errs)
	}
	out, _ := w.ok("token", "new", "ci", "--scope", "memory:read", "--namespace", "team/**")
	token := "Bearer " + strings.TrimSpace(out)
	s := w.serve(proxied...)
	if s.URL != "https://host.example.org" {
		t.Errorf("it is at %s", s.URL)
	}
	direct := "http://" + s.Listen + "/v1/memories?namespace=team/a"
	for name, c := range map[string]struct {
		headers []string
		want    int
	}{
		"over https":       {[]string{"X-Forwarded-Proto", "https", "X-Forwarded-For", "198.51.100.1"}, 200},
		"in the clear":     {[]string{"X-Forwarded-Proto", "http"}, 403},
		"by another name":  {[]string{"X-Host", "evil.example.org"}, 403},
		"by its name":      {[]string{"X-Host", "HOST.example.org:443"}, 200},
		"without a header": {nil, 200},
	} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", direct, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", token)
		for i := 0; i < len(c.headers); i += 2 {
			if r.Header.Set(c.headers[i], c.headers[i+1]); c.headers[i] == "X-Host" {
				r.Host = c.headers[i+1]
			}
		}
		own := &http.Transport{DisableKeepAlives: true}
		a, err := own.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		if _ = a.Body.Close(); a.StatusCode != c.want {
			t.Errorf("%s: %d, want %d", name, a.StatusCode, c.want)
		}
	}
}

// TestServe_TakesTokensOfAnIssuer next to its own, and says whose in a document.
func TestServe_TakesTokensOfAnIssuer(t *testing.T) {
	issuer, err := mockoidc.Run()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = issuer.Shutdown() }()
	w := newPlainWorld(t)
	code, _, errs := w.run(t.Context(), "serve", "--listen", "127.0.0.1:0", "--oidc-issuer", issuer.Issuer())
	if code != exitUsage || !strings.Contains(errs, "there are no oidc grants") || !strings.Contains(errs, "hint: ") {
		t.Errorf("without a grant: exit %d: %s", code, errs)
	}
	// An issuer is enough beyond loopback.
	s := w.serve("--tls-by-proxy", "127.0.0.1/32", "--host", "host.example.org", "--oidc-issuer", issuer.Issuer(), "--oidc-grant", "groups=staff memory:read in team/**")
	ask := func(path, subject, audience string) (*http.Response, string) {
		token, err := issuer.Keypair.SignJWT(jwt.MapClaims{
			"iss": issuer.Issuer(), "aud": audience, "sub": subject, "groups": []string{"staff"}, "exp": time.Now().Add(time.Hour).Unix(),
		})
		if err != nil {
			t.Fatal(err)
		}
		return newBrowser(t, nil).ask("GET", "http://"+s.Listen+path, nil, "Authorization", "Bearer "+token)
	}
	if a, text := ask("/v1/memories?namespace=team/a", "amy", s.URL); a.StatusCode != http.StatusOK {
		t.Errorf("%d %s", a.StatusCode, text)
	}
	if a, text := ask("/v1/tokens", core.OperatorSubject, s.URL); a.StatusCode != http.StatusForbidden || !strings.Contains(text, "scope_denied") {
		t.Errorf("somebody is the operator: %d %s", a.StatusCode, text)
	}
	a, text := ask("/v1/memories?namespace=team/a", "amy", "https://other.example.org")
	if a.StatusCode != http.StatusUnauthorized || !strings.Contains(a.Header.Get("WWW-Authenticate"), s.URL+"/.well-known/oauth-protected-resource") {
		t.Errorf("another audience: %d %v %s", a.StatusCode, a.Header, text)
	}
	a, text = newBrowser(t, nil).ask("GET", "http://"+s.Listen+"/.well-known/oauth-protected-resource", nil)
	var document struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
	}
	if err := json.Unmarshal([]byte(text), &document); err != nil || a.StatusCode != 200 || document.Resource != s.URL || len(document.Servers) != 1 || document.Servers[0] != issuer.Issuer() {
		t.Errorf("the document: %d %s", a.StatusCode, text)
	}
	if status, _ := s.get("/v1/tokens"); status != http.StatusOK {
		t.Errorf("the operator's own token: %d", status)
	}
	out, _ := w.ok("status")
	wantIn(t, out, "token, oidc")
}

// TestLogin_ByTheIssuer: the page for signing in leads there and back, and what the cookie
// may do is what is granted, until the browser logs out.
func TestLogin_ByTheIssuer(t *testing.T) {
	issuer, err := mockoidc.Run()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = issuer.Shutdown() }()
	client := issuer.Config()
	w := newPlainWorld(t)
	w.env["REFLECTORY_OIDC_CLIENT_SECRET"], w.env["REFLECTORY_OIDC_SCOPES"] = client.ClientSecret, "groups"
	cert, key, roots := w.certificate()
	s := w.serve("--tls-cert", cert, "--tls-key", key, "--host", "localhost", "--oidc-issuer", issuer.Issuer(), "--oidc-client", client.ClientID,
		"--oidc-grant", "groups=staff memory:read in team/**")
	issuer.QueueUser(&mockoidc.MockUser{Subject: "amy", Groups: []string{"staff"}})
	issuer.QueueUser(&mockoidc.MockUser{Subject: "eve", Groups: []string{"others"}})
	b := newBrowser(t, roots)
	if _, text := b.ask("GET", s.URL+"/login", nil); !strings.Contains(text, `<a href="/login/oidc">Sign in with 127.0.0.1:`) {
		t.Fatalf("the page has no link: %s", text)
	}
	a, text := b.ask("GET", s.URL+"/login/oidc", nil)
	if a.StatusCode != 200 || a.Request.URL.Path != "/login/callback" || !strings.Contains(text, "Signed in") || !strings.Contains(text, `content="0; url=/"`) {
		t.Fatalf("%d at %s: %s", a.StatusCode, a.Request.URL, text)
	}
	for _, c := range a.Cookies() {
		if !c.HttpOnly || !c.Secure || c.Path != "/" || c.Name == "__Host-reflectory" && (c.SameSite != http.SameSiteStrictMode || c.MaxAge != 12*60*60) {
			t.Errorf("the cookie: %v", c)
		}
	}
	if a, text := b.ask("GET", s.URL, nil); a.StatusCode != 200 || !strings.Contains(text, "oidc:amy") {
		t.Errorf("signed in: %d %s", a.StatusCode, text)
	}
	for path, status := range map[string]int{"/v1/memories?namespace=team/a": 200, "/v1/memories?namespace=other": 403, "/v1/tokens": 403} {
		if a, text := b.ask("GET", s.URL+path, nil); a.StatusCode != status {
			t.Errorf("%s: %d %s", path, a.StatusCode, text)
		}
	}
	again := a.Request.URL.String()
	if a, _ := newBrowser(t, roots).ask("GET", again, nil); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("the same answer again, in another browser: %d", a.StatusCode)
	}
	if a, text := newBrowser(t, roots).ask("GET", s.URL+"/login/oidc", nil); a.StatusCode != http.StatusForbidden || !strings.Contains(text, "nothing is granted") {
		t.Errorf("without a grant: %d %s", a.StatusCode, text)
	}
	at, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	session := b.http.Jar.Cookies(at)
	if a, _ := b.ask("POST", s.URL+"/logout", url.Values{}, "Sec-Fetch-Site", "same-origin"); a.Request.URL.Path != "/login" {
		t.Errorf("logged out, it is at %s", a.Request.URL)
	}
	b.http.Jar.SetCookies(at, session)
	if a, _ := b.ask("GET", s.URL+"/v1/memories?namespace=team/a", nil); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("after the logout: %d", a.StatusCode)
	}
	if out, errs := w.ok("config", "--json"); strings.Contains(out+errs, client.ClientSecret) {
		t.Error("config shows the client's secret")
	}
}

// TestLogin_ByTheIssuerHoldsUnderItsNameOnly: without TLS, a login at the issuer ends under a name
// that nobody can guess, and neither its cookie nor its link holds under another.
func TestLogin_ByTheIssuerHoldsUnderItsNameOnly(t *testing.T) {
	issuer, err := mockoidc.Run()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = issuer.Shutdown() }()
	client := issuer.Config()
	w := newPlainWorld(t)
	w.env["REFLECTORY_OIDC_CLIENT_SECRET"], w.env["REFLECTORY_OIDC_SCOPES"] = client.ClientSecret, "groups"
	s := w.serve("--oidc-issuer", issuer.Issuer(), "--oidc-client", client.ClientID, "--oidc-grant", "groups=staff memory:read in team/**")
	const read = "/v1/memories?namespace=team/a"
	under := func(name string) string { return strings.Replace(s.URL, "127.0.0.1", name, 1) }
	names := map[string]bool{}
	for _, from := range []string{"127.0.0.1", "localhost", strings.Repeat("0a", 16) + ".localhost"} {
		issuer.QueueUser(&mockoidc.MockUser{Subject: "amy", Groups: []string{"staff"}})
		b := newBrowser(t, nil)
		a, text := b.ask("GET", under(from)+"/login/oidc", nil)
		_, rest, _ := strings.Cut(text, `<a href="`)
		link, _, _ := strings.Cut(rest, `"`)
		to, err := url.Parse(html.UnescapeString(link))
		if err != nil || a.StatusCode != 200 || !access.IsLoginHost(to.Hostname()) || names[to.Hostname()] || to.Hostname() == from {
			t.Fatalf("from %s: %d at %s: %s", from, a.StatusCode, a.Request.URL, text)
		}
		for _, name := range []string{"127.0.0.1", "localhost"} {
			at, err := url.Parse(under(name))
			if err != nil {
				t.Fatal(err)
			}
			if cookies := b.http.Jar.Cookies(at); len(cookies) > 0 {
				t.Errorf("from %s: every server of %s gets %v", from, name, cookies)
			}
		}
		other := *to
		for _, name := range []string{"127.0.0.1", strings.Repeat("0b", 16) + ".localhost"} {
			other.Host = strings.TrimPrefix(under(name), "http://")
			if a, _ := newBrowser(t, nil).ask("GET", other.String(), nil); a.StatusCode != http.StatusUnauthorized || len(a.Cookies()) > 0 {
				t.Errorf("from %s: the link under %s: %d, %v", from, name, a.StatusCode, a.Cookies())
			}
		}
		if a, text := b.ask("GET", to.String(), nil); a.StatusCode != 200 || !strings.Contains(text, `content="0; url=/"`) {
			t.Fatalf("from %s: the link: %d %s", from, a.StatusCode, text)
		}
		names[to.Hostname()] = true
		cookies := b.http.Jar.Cookies(to)
		if len(cookies) != 1 {
			t.Fatalf("from %s: cookies %v", from, cookies)
		}
		if a, _ := b.ask("GET", "http://"+to.Host+read, nil); a.StatusCode != 200 {
			t.Errorf("from %s: its own page gets %d", from, a.StatusCode)
		}
		if a, _ := newBrowser(t, nil).ask("GET", to.String(), nil); a.StatusCode != http.StatusUnauthorized {
			t.Errorf("from %s: the link again: %d", from, a.StatusCode)
		}
		for _, name := range []string{"127.0.0.1", "localhost", strings.Repeat("0b", 16) + ".localhost", "a." + to.Hostname()} {
			if a, _ := newBrowser(t, nil).ask("GET", under(name)+read, nil, "Cookie", cookies[0].Name+"="+cookies[0].Value); a.StatusCode != http.StatusUnauthorized && a.StatusCode != http.StatusForbidden {
				t.Errorf("from %s: a stolen cookie is let in to %s: %d", from, name, a.StatusCode)
			}
		}
		if a, _ := b.ask("POST", "http://"+to.Host+"/logout", url.Values{}, "Sec-Fetch-Site", "same-origin"); a.Request.URL.Path != "/login" {
			t.Errorf("from %s: logged out, it is at %s", from, a.Request.URL)
		}
	}
}
