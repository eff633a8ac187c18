// Package web is what a browser is shown: for now, how somebody logs in and out, and who
// they are then.
//
// A page has no script and asks for nothing from elsewhere, and a policy in its headers has
// the browser hold it to that, whatever text of a model or a user is on it. Who asks is a
// session's cookie, which no script can read and no other site can have sent. What checks
// the host and the origin of a request is before this package.
package web

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
)

// Config is what [Pages] are made of.
type Config struct {
	// Authority opens and closes sessions.
	Authority *access.Authority
	// Authenticate says who asks; its errors are those of access.Authority.Authenticate.
	Authenticate func(*http.Request) (core.Caller, error)
	// Issuer is the name of who else says who somebody is, for whom there is a link to
	// /login/oidc; "" is nobody. EndSession ends a session that was opened there.
	Issuer     string
	EndSession func(cookie string)
	// Secure is whether browsers reach the pages over TLS.
	Secure bool
	// NoAuth is whether the server asks for no credentials, which each page says.
	NoAuth bool
	// Version is the program's.
	Version string
}

// Visit is what is known of a request besides the request.
type Visit struct {
	// Failed counts a wrong credential, and is how long its address has to wait for the next
	// if there were too many; 0 is not at all.
	Failed func() time.Duration
}

// Pages answer browsers. They are safe for concurrent use, and have nothing to close.
type Pages struct {
	config    Config
	templates *template.Template
}

//go:embed templates/*.html
var templates embed.FS

//go:embed assets
var assets embed.FS

// New makes the pages.
func New(c Config) (*Pages, error) {
	all, err := template.ParseFS(templates, "templates/*.html")
	if err != nil {
		return nil, err
	}
	return &Pages{c, all}, nil
}

// policy is what a page may load and do: what is of this server, and no script.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; trusted-types reflectory; require-trusted-types-for 'script'"

// Serve answers a request for one of the paths of pages.
func (p *Pages) Serve(w http.ResponseWriter, r *http.Request, v Visit) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", policy)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.home)
	mux.HandleFunc("GET /login", func(w http.ResponseWriter, r *http.Request) { p.askLogin(w, r, v) })
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) { p.takeLogin(w, r, v) })
	mux.HandleFunc("POST /logout", p.logout)
	mux.HandleFunc("GET /assets/", p.asset)
	mux.HandleFunc("GET /favicon.ico", p.asset)
	mux.ServeHTTP(w, r)
}

// asset answers with a file that is the same for everybody.
func (p *Pages) asset(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if path == "/favicon.ico" {
		path = "/assets/icon.svg"
	}
	w.Header().Set("Cache-Control", "public, max-age=3600")
	http.ServeFileFS(w, r, assets, path)
}

// page is what every template is given.
type page struct {
	Title   string
	Version string
	NoAuth  bool
	// Caller is who is signed in; its subject is "" for nobody.
	Caller core.Caller
	// Problem is why a login was refused, and Wait whether too many were.
	Problem string
	// Issuer is who else says who somebody is; "" is nobody.
	Issuer string
	// To is where the browser goes on by itself; "" is nowhere.
	To string
}

// show answers with a page.
func (p *Pages) show(w http.ResponseWriter, status int, name string, data page) {
	data.Version, data.NoAuth, data.Issuer = p.config.Version, p.config.NoAuth, p.config.Issuer
	var text bytes.Buffer
	if err := p.templates.ExecuteTemplate(&text, name, data); err != nil {
		http.Error(w, "the page can't be made", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes()) // who asked has gone
}

// home says who is signed in, or asks for a login.
func (p *Pages) home(w http.ResponseWriter, r *http.Request) {
	caller, err := p.config.Authenticate(r)
	switch {
	case access.IsUnauthenticated(err):
		http.Redirect(w, r, "/login", http.StatusSeeOther)
	case err != nil:
		p.unavailable(w)
	default:
		p.show(w, http.StatusOK, "home.html", page{Title: "Signed in", Caller: caller})
	}
}

// unavailable says that it can't be known who asks.
func (p *Pages) unavailable(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	p.show(w, http.StatusServiceUnavailable, "login.html", page{Title: "Sign in", Problem: "The server can't check who you are now. Try again."})
}
