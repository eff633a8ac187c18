package web

import (
	"net/http"
	"time"
)

// A page is light or dark like the browser's system, until the user chooses.

// themeCookie has the choice. It isn't a credential.
const themeCookie = "reflectory_theme"

// themeOf is the chosen theme, light or dark; "" is the system's.
func themeOf(r *http.Request) string {
	if c, err := r.Cookie(themeCookie); err == nil && (c.Value == "light" || c.Value == "dark") {
		return c.Value
	}
	return ""
}

// takeTheme switches to the next theme: from the system's to dark, to light, and back.
func (p *Pages) takeTheme(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxLogin)
	next := map[string]string{"": "dark", "dark": "light", "light": ""}[themeOf(r)]
	c := &http.Cookie{Name: themeCookie, Value: next, Path: "/", MaxAge: int((365 * 24 * time.Hour).Seconds()), HttpOnly: true, Secure: p.config.Secure, SameSite: http.SameSiteStrictMode} //nolint:gosec // Secure wherever the site has TLS
	if next == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
	http.Redirect(w, r, local(r.PostFormValue("to")), http.StatusSeeOther) //nolint:gosec // local keeps it on this site
}
