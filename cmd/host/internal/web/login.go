package web

import (
	"math"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core/access"
)

// A login link works once. Only a visit uses it up. A request for the headers only, as link
// checkers make it, doesn't use it up, and neither does a browser that prefetches pages.

// maxLogin is how many bytes the form has at most: a token and the rest of the form.
const maxLogin = 4 << 10

// askLogin accepts a login link, or shows the form for a token.
func (p *Pages) askLogin(w http.ResponseWriter, r *http.Request) {
	link := r.URL.Query().Get("link")
	switch {
	case p.config.NoAuth:
		http.Redirect(w, r, local(r.URL.Query().Get("to")), http.StatusSeeOther) //nolint:gosec // local keeps it on this site
	case link == "":
		p.show(w, http.StatusOK, "login.html", p.signIn(r, ""))
	case r.Method != http.MethodGet || strings.Contains(r.Header.Get("Sec-Purpose"), "prefetch"):
		w.WriteHeader(http.StatusNoContent)
	default:
		host := ""
		if p.config.Bound {
			host = nameOf(r.Host)
		}
		login, err := p.config.Authority.RedeemAt(r.Context(), link, host)
		if err != nil {
			p.refuse(w, r, err, "This link is no longer valid. A login link works once, within a minute.")
			return
		}
		p.remember(w, login)
		// This isn't a redirect: after a redirect, a browser that came from elsewhere, such as a
		// mail or a file, leaves the cookie out. A request from this page comes from this site.
		v := p.signIn(r, "")
		v.Title, v.To = "Signed in", local(r.URL.Query().Get("to"))
		p.show(w, http.StatusOK, "welcome.html", v)
	}
}

// takeLogin handles the form with a token.
func (p *Pages) takeLogin(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxLogin)
	if p.config.Bound {
		p.leadOn(w, r)
		return
	}
	login, err := p.config.Authority.OpenSession(r.Context(), strings.TrimSpace(r.PostFormValue("token")))
	if err != nil {
		p.refuse(w, r, err, "This token isn’t valid here.")
		return
	}
	p.remember(w, login)
	http.Redirect(w, r, local(r.PostFormValue("to")), http.StatusSeeOther) //nolint:gosec // local keeps it on this site
}

// leadOn answers the form with a token by a page that leads to a link under a name of its own. It
// isn't a redirect, since the page's policy forbids forms to lead elsewhere.
func (p *Pages) leadOn(w http.ResponseWriter, r *http.Request) {
	host, err := p.config.Authority.NewLoginHost()
	if err != nil {
		p.unavailable(w, r)
		return
	}
	link, err := p.config.Authority.LinkOf(r.Context(), strings.TrimSpace(r.PostFormValue("token")), host)
	if err != nil {
		p.refuse(w, r, err, "This token isn’t valid here.")
		return
	}
	v := p.signIn(r, "")
	query := url.Values{"link": {string(link.Secret)}, "to": {local(r.PostFormValue("to"))}}
	v.Title, v.To = "Signed in", "http://"+net.JoinHostPort(host, p.config.Port)+"/login?"+query.Encode()
	p.show(w, http.StatusOK, "welcome.html", v)
}

// nameOf is a host's name without its port.
func nameOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return host
}

// logout ends the session.
func (p *Pages) logout(w http.ResponseWriter, r *http.Request) {
	for _, cookie := range r.CookiesNamed(p.cookie()) {
		if p.config.EndSession != nil {
			p.config.EndSession(cookie.Value)
		}
		if err := p.config.Authority.CloseSession(r.Context(), cookie.Value); err != nil {
			p.unavailable(w, r)
			return
		}
	}
	p.setCookie(w, "", -1)
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// refuse answers with the reason why a login was refused.
func (p *Pages) refuse(w http.ResponseWriter, r *http.Request, err error, why string) {
	if !access.IsUnauthenticated(err) {
		p.unavailable(w, r)
		return
	}
	if wait := visitOfRequest(r).Failed(); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
		p.show(w, http.StatusTooManyRequests, "login.html", p.signIn(r, "There were too many failed logins. Wait a minute."))
		return
	}
	p.show(w, http.StatusUnauthorized, "login.html", p.signIn(r, why))
}

// cookie is the name of the session's cookie.
func (p *Pages) cookie() string { return access.CookieName(p.config.Secure) }

// remember gives the browser its session.
func (p *Pages) remember(w http.ResponseWriter, l *access.Login) {
	p.setCookie(w, string(l.Secret), int(access.SessionTime/time.Second))
}

func (p *Pages) setCookie(w http.ResponseWriter, value string, seconds int) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure wherever the site has TLS
		Name: p.cookie(), Value: value, Path: "/", MaxAge: seconds, HttpOnly: true, Secure: p.config.Secure, SameSite: http.SameSiteStrictMode,
	})
}

// signIn is the data for the form for a token. why is the reason why a login was refused; ""
// if no login was tried.
func (p *Pages) signIn(r *http.Request, why string) view {
	v := view{content: content{Title: "Sign in"}, Version: p.config.Version, NoAuth: p.config.NoAuth, Issuer: p.config.Issuer, Theme: themeOf(r), Path: local(r.FormValue("to"))}
	if why != "" {
		v.Problem = &problem{Message: why}
	}
	return v
}

// unavailable answers that the caller can't be authenticated now.
func (p *Pages) unavailable(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Retry-After", "1")
	p.show(w, http.StatusServiceUnavailable, "login.html", p.signIn(r, "The server can’t check who you are now. Try again."))
}
