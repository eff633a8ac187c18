package web

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/sdk"
)

// wellMade checks what holds for every page.
func (s *site) wellMade(target string, a *answer, root *html.Node) {
	s.T.Helper()
	wrong := func(format string, args ...any) {
		s.T.Helper()
		s.T.Errorf("%s: %s", target, fmt.Sprintf(format, args...))
	}
	if n := len(all(root, "h1")); n != 1 {
		wrong("it has %d h1", n)
	}
	if n := len(a.body); n > 150<<10 {
		wrong("it has %d bytes", n)
	}
	if at := strings.IndexFunc(a.body, unseen); at >= 0 {
		wrong("it has an unseen character at %q", a.body[max(0, at-40):at+10])
	}
	ids := map[string]bool{}
	for _, n := range all(root) {
		if id, has := attr(n, "id"); has {
			if ids[id] {
				wrong("two elements have the id %s", id)
			}
			ids[id] = true
		}
		for _, at := range n.Attr {
			if at.Key == "style" || strings.HasPrefix(at.Key, "on") {
				wrong("<%s> has the attribute %s", n.Data, at.Key)
			}
			if slices.Contains([]string{"href", "src", "action"}, at.Key) && !strings.HasPrefix(at.Val, "/") && !strings.HasPrefix(at.Val, "#") {
				wrong("<%s> leads to %q", n.Data, at.Val)
			}
		}
		switch n.Data {
		case "style", "iframe", "object", "embed", "base":
			wrong("it has <%s>", n.Data)
		case "script":
			if src, _ := attr(n, "src"); src != "/assets/reflectory.js" || n.FirstChild != nil {
				wrong("it has a script %q", src)
			}
		case "th":
			if strings.TrimSpace(textOf(n)) == "" {
				wrong("it has a th without text")
			}
		}
	}
	for _, n := range all(root, "input", "select", "textarea") {
		if kind, _ := attr(n, "type"); kind == "hidden" {
			continue
		}
		id, _ := attr(n, "id")
		if !slices.ContainsFunc(all(root, "label"), func(l *html.Node) bool { of, _ := attr(l, "for"); return id != "" && of == id }) {
			wrong("the field %s has no label", id)
		}
	}
	for _, problem := range bareTerms(root) {
		wrong("%s", problem)
	}
	for _, n := range all(root, "a", "button") {
		label, _ := attr(n, "aria-label")
		if strings.TrimSpace(textOf(n)+label) == "" {
			wrong("<%s> has no text", n.Data)
		}
	}
}

// offered reports whether there is a page at a path.
func offered(path string) bool {
	for _, p := range pages() {
		if p.path == path || path == "/" {
			return true
		}
	}
	return false
}

// walk visits the pages that can be reached by links from some addresses, up to 60, checks
// each, and returns the addresses.
func (s *site) walk(from ...string) []string {
	s.T.Helper()
	seen, next := map[string]bool{}, slices.Clone(from)
	for _, target := range from {
		seen[target] = true
	}
	for len(next) > 0 {
		target := next[0]
		next = next[1:]
		a := s.get(target)
		if a.StatusCode != http.StatusOK {
			s.T.Errorf("%s answers %d: %.300s", target, a.StatusCode, a.body)
			continue
		}
		if !strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") {
			continue
		}
		root := s.tree(a, http.StatusOK)
		s.wellMade(target, a, root)
		for _, n := range all(root, "a") {
			href, _ := attr(n, "href")
			href, _, _ = strings.Cut(href, "#")
			first, _, _ := strings.Cut(strings.Trim(strings.Split(href, "?")[0], "/"), "/")
			if strings.HasPrefix(href, "/") && !seen[href] && (first == "" || offered("/"+first)) && len(seen) < 60 {
				seen[href] = true
				next = append(next, href)
			}
		}
	}
	var list []string
	for target := range seen {
		list = append(list, target)
	}
	slices.Sort(list)
	return list
}

// TestPages_AreWellMade: on an empty store every page that can be reached has one heading,
// labels, no script or style of its own, and links that answer.
func TestPages_AreWellMade(t *testing.T) {
	s := newSite(t)
	if visited := s.walk("/"); len(visited) < 10 {
		t.Errorf("only %v could be reached", visited)
	}
}

// TestPages_OfSomebodyWhoMayLittle: a caller without scopes is shown no section, and no
// page answers with more than a refusal.
func TestPages_OfSomebodyWhoMayLittle(t *testing.T) {
	s := newSite(t)
	r := s.begin("contact")
	token, err := s.Host.Access.Issue(s.Ctx, access.Request{Subject: "reader", Scopes: []core.Scope{core.ScopeMemoryRead}, Namespaces: []string{"team/elsewhere/**"}})
	s.Must(err)
	login, err := s.Host.Access.OpenSession(s.Ctx, string(token.Secret))
	s.Must(err)
	s.session.Value = string(login.Secret)
	root := s.tree(s.get("/"), http.StatusOK)
	if text := textOf(root); strings.Contains(text, "contact") {
		t.Errorf("the overview has a run of somewhere else: %.2000s", text)
	}
	for _, n := range all(root, "a") {
		if href, _ := attr(n, "href"); n.Parent.Data == "nav" && (href == "/runs" || href == "/settings") {
			t.Errorf("the navigation leads to %s", href)
		}
	}
	s.wellMade("/runs", s.get("/runs"), s.tree(s.get("/runs"), http.StatusForbidden))
	s.tree(s.get("/runs/"+r.ID), http.StatusForbidden)
}

// TestPages_SignIn: a wrong token is refused on the form's own page, and a right one leads to
// where somebody was going, but to no other site.
func TestPages_SignIn(t *testing.T) {
	s := newSite(t)
	token, err := s.Host.Access.Issue(s.Ctx, access.Request{Subject: "reader", Scopes: core.Scopes(), Namespaces: []string{"**"}})
	s.Must(err)
	s.session = nil
	form := s.get("/login?to=%2Fruns%3Fstatus%3Dpassed")
	s.wellMade("/login", form, s.tree(form, http.StatusOK))
	if wrong := s.post("/login", url.Values{"token": {"rfl_none"}}); wrong.StatusCode != http.StatusUnauthorized {
		t.Errorf("a wrong token: %d", wrong.StatusCode)
	}
	for to, want := range map[string]string{"/runs?status=passed": "/runs?status=passed", "//elsewhere.example": "/", "https://elsewhere.example/": "/", `/\elsewhere`: "/", "": "/"} {
		right := s.post("/login", url.Values{"token": {string(token.Secret)}, "to": {to}})
		if right.StatusCode != http.StatusSeeOther || right.Header.Get("Location") != want {
			t.Errorf("to %q: %d %q", to, right.StatusCode, right.Header.Get("Location"))
		}
	}
}

// TestPages_Headers: a page may load only what is of its own server, and its script is small.
func TestPages_Headers(t *testing.T) {
	s := newSite(t)
	h := s.get("/").Header
	if h.Get("Content-Security-Policy") != policy || h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("the headers are %v", h)
	}
	size := 0
	for _, name := range []string{"reflectory.css", "reflectory.js", "icon.svg", "fonts/inter.woff2", "fonts/mono.woff2"} {
		a := s.get("/assets/" + name)
		if size += len(a.body); a.StatusCode != http.StatusOK || a.Header.Get("Content-Type") == "" {
			t.Errorf("%s: %d %v", name, a.StatusCode, a.Header)
		}
	}
	if script := len(s.get("/assets/reflectory.js").body); script > 8<<10 || size > 200<<10 {
		t.Errorf("the script has %d bytes, all assets %d", script, size)
	}
}

// TestPages_Theme: the chosen theme stays, and the form leads back to its page.
func TestPages_Theme(t *testing.T) {
	s := newSite(t)
	a := s.post("/theme", url.Values{"to": {"/runs"}})
	if a.Header.Get("Location") != "/runs" || len(a.Cookies()) != 1 {
		t.Fatalf("%v", a.Header)
	}
	page := s.get("/runs", "Cookie", s.session.String()+"; "+a.Cookies()[0].Name+"="+a.Cookies()[0].Value)
	if !strings.Contains(page.body, `data-theme="dark"`) {
		t.Errorf("the page is %.200s", page.body)
	}
}

// TestPages_Rates: a caller that asks too often gets a page that says when to try again.
func TestPages_Rates(t *testing.T) {
	s := newSite(t)
	pages := New(Config{Host: s.Host, Authority: s.Host.Access, Authenticate: func(*http.Request) (core.Caller, error) { return core.Operator("ada"), nil }})
	w := httptest.NewRecorder()
	pages.Serve(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/runs", nil), Visit{Admit: func(_ context.Context, c core.Caller, read bool) error {
		if c.Subject != core.OperatorSubject || !read {
			t.Errorf("asked for %q, %t", c.Subject, read)
		}
		return sdk.Errorf(sdk.Exhausted, "requests_exhausted", "too many requests").WithDetail(sdk.RetryAfterDetail, int64(2000))
	}})
	if a := w.Result(); a.StatusCode != http.StatusTooManyRequests || a.Header.Get("Retry-After") != "2" {
		t.Errorf("it answers %d %v", a.StatusCode, a.Header)
	}
}
