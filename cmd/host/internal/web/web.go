// Package web shows a host to a browser: what it learned, decided and did, and what needs
// attention.
//
// A page is declared by its path, its template and a function that calls operations, as
// every surface does. The template shows the page's data, and a program can get the same
// data as JSON: see [page]. A form is posted, calls an operation and leads back to a page:
// see [form]. Everything is made on the server, charts too, so that the pages work without
// JavaScript. The only script updates a page when something happens.
//
// What a model, a plugin or a user wrote is shown only as text: templates escape it, no
// page has an inline script or style, characters that control how text is shown are made
// visible, and a content security policy makes the browser enforce this. A caller is
// identified by a session's cookie, which scripts can't read and other sites can't send.
// The host and the origin of a request are checked before this package is called.
package web

import (
	"context"
	"embed"
	"html/template"
	"net/http"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/host"
)

// Config is what [Pages] work with.
type Config struct {
	// Host carries out the requests. The pages don't close it.
	Host *host.Host
	// Authority opens and closes sessions.
	Authority *access.Authority
	// Authenticate returns the caller of a request, with the errors of
	// access.Authority.Authenticate.
	Authenticate func(*http.Request) (core.Caller, error)
	// Issuer is the name of an OpenID Connect issuer, to which a link leads (/login/oidc); ""
	// if there is none. EndSession ends a session that was opened there.
	Issuer     string
	EndSession func(cookie string)
	// Secure is whether browsers reach the pages over TLS.
	Secure bool
	// Bound is whether sessions hold only under a name that nobody can guess, at which they began:
	// without TLS. Port is then the server's port.
	Bound bool
	Port  string
	// NoAuth is whether the server needs no credentials; each page shows this.
	NoAuth bool
	// Version is the program's version.
	Version string
	// Now is the clock for ages; nil means the system's clock.
	Now func() time.Time
}

// Visit is what the server gives the pages in addition to a browser's request.
type Visit struct {
	// Failed counts a wrong credential. If there were too many, it returns how long the
	// address has to wait before the next one; otherwise 0.
	Failed func() time.Duration
	// Admit refuses a request above the rate of its subject; read is whether it changes
	// nothing.
	Admit func(ctx context.Context, c core.Caller, read bool) error
}

// Pages answer browsers. They are safe for concurrent use, and need no Close.
type Pages struct {
	config Config
	// templates are parsed for the first page.
	templates func() (*template.Template, error)
	mux       *http.ServeMux
	began     time.Time
	// parts are the parts that are being made.
	parts parts
}

//go:embed templates
var templates embed.FS

//go:embed assets
var assets embed.FS

// New makes the pages.
func New(c Config) *Pages {
	if c.Now == nil {
		c.Now = time.Now
	}
	p := &Pages{config: c, mux: http.NewServeMux(), began: c.Now()}
	p.templates = sync.OnceValues(func() (*template.Template, error) {
		return template.New("").Funcs(functions(c.Now)).ParseFS(templates, "templates/*.html")
	})
	p.mux.HandleFunc("GET /login", p.askLogin)
	p.mux.HandleFunc("POST /login", p.takeLogin)
	p.mux.HandleFunc("POST /logout", p.logout)
	p.mux.HandleFunc("POST /theme", p.takeTheme)
	p.mux.HandleFunc("GET /assets/", p.asset)
	p.mux.HandleFunc("GET /favicon.ico", p.asset)
	for _, one := range pages() {
		p.mux.HandleFunc("GET "+one.path, p.page(one))
	}
	for _, one := range forms() {
		p.mux.HandleFunc("POST "+one.path, p.form(one))
		if one.ask != nil {
			p.mux.HandleFunc("GET "+one.path, p.question(one))
		}
	}
	for _, one := range texts() {
		p.mux.HandleFunc("GET "+one.path, p.text(one))
	}
	p.mux.HandleFunc("/", p.page(page{path: "/", template: "problem.html", load: lost}))
	return p
}

// policy is the content security policy: a page may load only files of this server, and
// only its one script.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; trusted-types reflectory; require-trusted-types-for 'script'"

// Serve answers a request for one of the paths of pages.
func (p *Pages) Serve(w http.ResponseWriter, r *http.Request, v Visit) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", policy)
	p.mux.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), visitKey{}, v)))
}

// visitKey is the key of a request's [Visit] in its context.
type visitKey struct{}

// visitOfRequest returns the [Visit] of a request.
func visitOfRequest(r *http.Request) Visit { return r.Context().Value(visitKey{}).(Visit) }

// asset answers with an embedded file, which is the same for everybody.
func (p *Pages) asset(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if path == "/favicon.ico" {
		path = "/assets/icon.svg"
	}
	w.Header().Set("Cache-Control", "public, max-age=3600")
	http.ServeFileFS(w, r, assets, path) //nolint:gosec // only embedded files are in it
}
