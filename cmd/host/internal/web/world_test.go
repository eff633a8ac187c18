package web

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/reflectory/reflectory/cmd/host/internal/httpapi"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
)

func TestMain(m *testing.M) { os.Exit(coretest.WithPlain(m).Run()) }

// site is the pages of a host in memory, behind what checks every request.
type site struct {
	*operationtest.World
	handler http.Handler
	pages   *Pages
	// session is the cookie of the operator's session.
	session *http.Cookie
}

func newSite(t testing.TB) *site { return siteOf(operationtest.New(t)) }

func siteOf(w *operationtest.World) *site {
	w.T.Helper()
	s := &site{World: w}
	tokens := httpapi.Tokens{Authority: w.Host.Access, Cookie: access.CookieName(false)}
	pages := New(Config{Host: w.Host, Authority: w.Host.Access, Version: w.Config.Version, Authenticate: tokens.Authenticate, Now: w.Config.Clock.Now})
	api, err := httpapi.New(httpapi.Config{
		Host: w.Host, Version: "1.2.3", Authenticator: tokens, Hosts: []string{"example.com"},
		Limits: httpapi.Limits{Requests: -1, Writes: -1, FailedLogins: -1},
		Pages:  func(w http.ResponseWriter, r *http.Request, v httpapi.Visit) { pages.Serve(w, r, Visit(v)) },
	})
	s.Must(err)
	s.handler, s.pages = api.Remote(), pages
	s.signIn()
	return s
}

// signIn opens a session of the operator's.
func (s *site) signIn() {
	s.T.Helper()
	s.Must(os.MkdirAll(filepath.Join(s.Folder, "data"), 0o700)) // for the operator's token
	link, err := s.Host.Access.NewLink(s.Ctx)
	s.Must(err)
	login, err := s.Host.Access.Redeem(s.Ctx, string(link.Secret))
	s.Must(err)
	s.session = &http.Cookie{Name: access.CookieName(false), Value: string(login.Secret)}
}

// answer is how a request was answered.
type answer struct {
	*http.Response
	body string
}

// get asks for an address as the operator.
func (s *site) get(target string, headers ...string) *answer {
	return s.send(http.MethodGet, target, nil, headers...)
}

// post sends a form as the operator, as a page of this server does.
func (s *site) post(target string, fields url.Values) *answer {
	return s.send(http.MethodPost, target, fields, "Sec-Fetch-Site", "same-origin")
}

func (s *site) send(method, target string, fields url.Values, headers ...string) *answer {
	s.T.Helper()
	var body io.Reader
	if fields != nil {
		body = strings.NewReader(fields.Encode())
	}
	r := httptest.NewRequestWithContext(s.T.Context(), method, target, body)
	if fields != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if s.session != nil {
		r.AddCookie(s.session)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return &answer{w.Result(), w.Body.String()}
}

// tree is a page's elements. The page must have been answered with a status.
func (s *site) tree(a *answer, status int) *html.Node {
	s.T.Helper()
	if a.StatusCode != status || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") {
		s.T.Fatalf("%d %s: %.2000s", a.StatusCode, a.Header.Get("Content-Type"), a.body)
	}
	root, err := html.Parse(strings.NewReader(a.body))
	s.Must(err)
	return root
}

// all are the elements of some names below a node; no name is every element.
func all(root *html.Node, names ...string) (found []*html.Node) {
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		for _, name := range names {
			if n.Data == name {
				found = append(found, n)
			}
		}
		if len(names) == 0 {
			found = append(found, n)
		}
	}
	return found
}

// attr is an attribute of an element, and whether it has it.
func attr(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

// textOf is the text below a node.
func textOf(root *html.Node) string {
	var b strings.Builder
	for n := range root.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
	}
	return b.String()
}
