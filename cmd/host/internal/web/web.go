// Package web shows a host to a browser: what it learned, decided and did, and what needs
// somebody.
//
// A page is declared by its path, its template and a function that calls operations, as
// every surface does, and its data is what the template shows and what a program gets that
// asks for JSON: see [page]. A form posts, calls an operation and goes back to a page: see
// [form]. All of it is made on the server, charts too, so that everything can be read and
// done without a script; the one script there is makes a page follow what happens.
//
// What a model, a plugin or a user wrote is text, and nothing else: templates escape it, no
// page has a script or a style of its own, characters that steer how text is shown are shown
// instead, and a policy in the headers has the browser hold the page to that. Who asks is a
// session's cookie, which no script can read and no other site can have sent. What checks
// the host and the origin of a request is before this package.
package web

import (
	"context"
	"embed"
	"html/template"
	"net/http"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/host"
)

// Config is what [Pages] are made of.
type Config struct {
	// Host does what is asked for. It isn't closed.
	Host *host.Host
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
	// Now is the time, in which ages are counted; nil is the system's.
	Now func() time.Time
}

// Visit is what is known of a browser's request besides the request.
type Visit struct {
	// Failed counts a wrong credential, and is how long its address has to wait for the next
	// if there were too many; 0 is not at all.
	Failed func() time.Duration
	// Admit refuses what is more than a subject may ask for in a second; read is a request
	// that changes nothing.
	Admit func(subject string, read bool) error
}

// Pages answer browsers. They are safe for concurrent use, and have nothing to close.
type Pages struct {
	config    Config
	templates *template.Template
	mux       *http.ServeMux
	began     time.Time
	// parts are those that are being made.
	parts parts
}

//go:embed templates
var templates embed.FS

//go:embed assets
var assets embed.FS

// New makes the pages.
func New(c Config) (*Pages, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	all, err := template.New("").Funcs(functions(c.Now)).ParseFS(templates, "templates/*.html")
	if err != nil {
		return nil, err
	}
	p := &Pages{config: c, templates: all, mux: http.NewServeMux(), began: c.Now()}
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
	return p, nil
}

// policy is what a page may load and do: what is of this server, and no script but the one.
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

// visitOfRequest is what is known of a request besides it.
func visitOfRequest(r *http.Request) Visit { return r.Context().Value(visitKey{}).(Visit) }

// asset answers with a file that is the same for everybody.
func (p *Pages) asset(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if path == "/favicon.ico" {
		path = "/assets/icon.svg"
	}
	w.Header().Set("Cache-Control", "public, max-age=3600")
	http.ServeFileFS(w, r, assets, path)
}
