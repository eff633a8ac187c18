package identity

import (
	"html/template"
	"math"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/sdk"
)

// The paths of a browser's login.
const (
	// LoginPath sends a browser to the issuer, and the issuer sends it back to CallbackPath.
	LoginPath    = "/login/oidc"
	CallbackPath = "/login/callback"
)

// said is the only page of this package: it shows that the login succeeded, or why it
// didn't. It isn't a redirect, since in a redirect that comes from the issuer, the browser
// wouldn't send the SameSite=Strict cookie.
var said = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}} · Reflectory</title>
{{if .In}}<meta http-equiv="refresh" content="0; url={{.To}}">
{{end}}<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/assets/style.css">
</head>
<body>
<main>
<h1>{{.Title}}</h1>
{{with .Problem}}<p class="problem" role="alert">{{.}}</p>
{{end}}<p>{{if .In}}<a href="{{.To}}">Continue</a>{{else}}<a href="/login">Sign in</a>{{end}}</p>
</main>
</body>
</html>
`))

const policy = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'"

// Browser answers browsers that log in by the issuer, at [LoginPath] and [CallbackPath].
type Browser struct {
	Verifier *Verifier
	// Secure is whether browsers reach the server over TLS.
	Secure bool
	// NewHost makes a name of this machine under which a session holds, see [access.CookieName]. The
	// issuer knows only the server's own name, so the login ends there and leads to that name by a
	// link that holds once. Nil means that sessions hold under any name, as over TLS.
	NewHost func() (string, error)
}

// Serve answers a request for one of the paths. failed counts a refused login. If there
// were too many, it returns how long the address has to wait before the next one.
func (b Browser) Serve(w http.ResponseWriter, r *http.Request, failed func() time.Duration) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", policy)
	switch {
	case r.Method != http.MethodGet:
		h.Set("Allow", http.MethodGet)
		b.show(w, http.StatusMethodNotAllowed, "Sign in by the link.")
	case r.URL.Path == LoginPath:
		b.begin(w, r)
	case r.URL.Path == CallbackPath && b.NewHost != nil && r.URL.Query().Has("link"):
		b.enter(w, r, failed)
	case r.URL.Path == CallbackPath:
		b.finish(w, r, failed)
	default:
		b.show(w, http.StatusNotFound, "There is no such page.")
	}
}

// begin sends the browser to the issuer. The login's cookie is SameSite=Lax, since the
// browser has to send it when it comes back from the issuer.
func (b Browser) begin(w http.ResponseWriter, r *http.Request) {
	if home := b.home(); b.NewHost != nil && nameOf(r.Host) != home.Hostname() { // the cookie must come back
		http.Redirect(w, r, home.Scheme+"://"+home.Host+LoginPath, http.StatusSeeOther)
		return
	}
	to, browser, err := b.Verifier.Begin()
	if err != nil {
		b.refuse(w, err, nil)
		return
	}
	b.setCookie(w, b.loginCookie(), browser, loginTime, http.SameSiteLaxMode)
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// finish handles a browser that comes back.
func (b Browser) finish(w http.ResponseWriter, r *http.Request, failed func() time.Duration) {
	browser := ""
	if cookies := r.CookiesNamed(b.loginCookie()); len(cookies) == 1 {
		browser = cookies[0].Value
	}
	b.setCookie(w, b.loginCookie(), "", -time.Second, http.SameSiteLaxMode)
	host := ""
	if b.NewHost != nil {
		var err error
		if host, err = b.NewHost(); err != nil {
			b.refuse(w, err, nil)
			return
		}
	}
	cookie, lasts, err := b.Verifier.Finish(r.Context(), browser, r.URL.Query(), host)
	if err != nil {
		b.refuse(w, err, failed)
		return
	}
	if host != "" {
		to := url.URL{Scheme: "http", Host: host, Path: CallbackPath, RawQuery: url.Values{"link": {cookie}}.Encode()}
		if port := b.home().Port(); port != "" {
			to.Host = net.JoinHostPort(host, port)
		}
		b.signedIn(w, to.String())
		return
	}
	b.setCookie(w, access.CookieName(b.Secure), cookie, lasts, http.SameSiteStrictMode)
	b.signedIn(w, "/")
}

// enter gives a browser that follows the link of its login the session, under the link's name.
func (b Browser) enter(w http.ResponseWriter, r *http.Request, failed func() time.Duration) {
	cookie, ok := b.Verifier.Redeem(r.URL.Query().Get("link"), nameOf(r.Host))
	if !ok {
		b.refuse(w, access.Unauthenticated(), failed)
		return
	}
	b.setCookie(w, access.CookieName(b.Secure), cookie, access.SessionTime, http.SameSiteStrictMode)
	b.signedIn(w, "/")
}

// home is the server's own URL, to which the issuer sends browsers back.
func (b Browser) home() *url.URL {
	if home, err := url.Parse(b.Verifier.options.Client.Callback); err == nil {
		return home
	}
	return &url.URL{}
}

// nameOf is the name of a host without its port, in lower case.
func nameOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(host)
}

// refuse answers with the reason why the login failed.
func (b Browser) refuse(w http.ResponseWriter, err error, failed func() time.Duration) {
	switch {
	case access.IsUnauthenticated(err):
		if wait := failed(); wait > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
			b.show(w, http.StatusTooManyRequests, "There were too many wrong logins. Wait a minute.")
			return
		}
		b.show(w, http.StatusUnauthorized, "This login doesn't hold. Begin again, in the same browser, within ten minutes.")
	case sdk.CodeOf(err) == sdk.Denied:
		b.show(w, http.StatusForbidden, "You are known, but nothing is granted to you here. Ask the operator of this server.")
	default:
		w.Header().Set("Retry-After", "5")
		b.show(w, http.StatusServiceUnavailable, "The issuer can't be asked now. Try again.")
	}
}

// signedIn answers with the page of a login that succeeded, which leads on.
func (b Browser) signedIn(w http.ResponseWriter, to string) {
	b.page(w, http.StatusOK, map[string]any{"Title": "Signed in", "In": true, "To": to})
}

// show answers with the reason why a login failed.
func (b Browser) show(w http.ResponseWriter, status int, problem string) {
	b.page(w, status, map[string]any{"Title": "Sign in", "Problem": problem})
}

func (b Browser) page(w http.ResponseWriter, status int, view map[string]any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = said.Execute(w, view) // who asked has gone
}

// loginCookie is the name of the cookie of a login that is under way.
func (b Browser) loginCookie() string { return access.CookieName(b.Secure) + "-login" }

func (b Browser) setCookie(w http.ResponseWriter, name, value string, lasts time.Duration, site http.SameSite) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure wherever the site has TLS; each caller names SameSite
		Name: name, Value: value, Path: "/", MaxAge: int(lasts / time.Second), HttpOnly: true, Secure: b.Secure, SameSite: site,
	})
}
