package web

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core/access"
)

// A login link is good once. So it is used by nothing but a visit: neither by who only asks
// for the headers, as checkers of links do, nor by a browser that fetches what might be
// visited next.

// maxForm is how many bytes a form has at most: a token with what is around it.
const maxForm = 4 << 10

// askLogin takes a login link, or shows the form for a token.
func (p *Pages) askLogin(w http.ResponseWriter, r *http.Request, v Visit) {
	link := r.URL.Query().Get("link")
	switch {
	case p.config.NoAuth:
		http.Redirect(w, r, "/", http.StatusSeeOther)
	case link == "":
		p.show(w, http.StatusOK, "login.html", page{Title: "Sign in"})
	case r.Method != http.MethodGet || strings.Contains(r.Header.Get("Sec-Purpose"), "prefetch"):
		w.WriteHeader(http.StatusNoContent)
	default:
		login, err := p.config.Authority.Redeem(r.Context(), link)
		if err != nil {
			p.refuse(w, err, v, "This link holds no more. A login link is good once, for a minute.")
			return
		}
		p.remember(w, login)
		// Not a redirect: after one, a browser that came from elsewhere, such as a mail or a
		// file, leaves the cookie out. From this page it comes from here.
		p.show(w, http.StatusOK, "welcome.html", page{Title: "Signed in", To: "/"})
	}
}

// takeLogin takes the form with a token.
func (p *Pages) takeLogin(w http.ResponseWriter, r *http.Request, v Visit) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	login, err := p.config.Authority.OpenSession(r.Context(), strings.TrimSpace(r.PostFormValue("token")))
	if err != nil {
		p.refuse(w, err, v, "This token doesn't hold here.")
		return
	}
	p.remember(w, login)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// logout ends the session.
func (p *Pages) logout(w http.ResponseWriter, r *http.Request) {
	for _, cookie := range r.CookiesNamed(p.cookie()) {
		if p.config.EndSession != nil {
			p.config.EndSession(cookie.Value)
		}
		if err := p.config.Authority.CloseSession(r.Context(), cookie.Value); err != nil {
			p.unavailable(w)
			return
		}
	}
	p.setCookie(w, "", -1)
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// refuse says why a login wasn't taken.
func (p *Pages) refuse(w http.ResponseWriter, err error, v Visit, why string) {
	if !access.IsUnauthenticated(err) {
		p.unavailable(w)
		return
	}
	if wait := v.Failed(); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
		p.show(w, http.StatusTooManyRequests, "login.html", page{Title: "Sign in", Problem: "There were too many wrong logins. Wait a minute."})
		return
	}
	p.show(w, http.StatusUnauthorized, "login.html", page{Title: "Sign in", Problem: why})
}

// cookie is the name of the session's cookie.
func (p *Pages) cookie() string { return access.CookieName(p.config.Secure) }

// remember gives the browser its session.
func (p *Pages) remember(w http.ResponseWriter, l *access.Login) {
	p.setCookie(w, string(l.Secret), int(access.SessionTime/time.Second))
}

func (p *Pages) setCookie(w http.ResponseWriter, value string, seconds int) {
	http.SetCookie(w, &http.Cookie{
		Name: p.cookie(), Value: value, Path: "/", MaxAge: seconds, HttpOnly: true, Secure: p.config.Secure, SameSite: http.SameSiteStrictMode,
	})
}
