package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
)

// TestSettings_TokenIsShownOnce: the secret is on the page that makes the token, and on no
// other; and once it is revoked, after a question, it is no longer valid.
func TestSettings_TokenIsShownOnce(t *testing.T) {
	s := newSite(t)
	fields := url.Values{"subject": {"ada <b>"}, "label": {hostile[0]}, "scope": {"memory:read", "run"}, "namespaces": {"team/a/**, team/b"}, "days": {"7"}}
	made := s.post("/settings/tokens", fields)
	root := s.tree(made, http.StatusOK)
	s.wellMade("the new token", made, root)
	secret := strings.TrimSpace(textOf(all(root, "pre")[0]))
	caller, err := s.Host.Access.Authenticate(s.Ctx, secret)
	s.Must(err)
	if caller.Subject != "ada <b>" || len(caller.Scopes) != 2 || len(caller.Namespaces) != 2 {
		t.Errorf("it is for %+v", caller)
	}
	list := s.get("/settings")
	s.wellMade("/settings", list, s.tree(list, http.StatusOK))
	if strings.Contains(list.body, secret) || !strings.Contains(textOf(s.tree(list, http.StatusOK)), hostile[0]) {
		t.Error("the list has the secret, or lacks the label")
	}
	_, rest, _ := strings.Cut(list.body, `href="/settings/tokens/`)
	id, _, _ := strings.Cut(rest, "/")
	ask := s.get("/settings/tokens/" + id + "/revoke")
	s.wellMade("the question", ask, s.tree(ask, http.StatusOK))
	if a := s.post("/settings/tokens/"+id+"/revoke", url.Values{}); a.StatusCode != http.StatusSeeOther {
		t.Errorf("%d %.300s", a.StatusCode, a.body)
	}
	if _, err := s.Host.Access.Authenticate(s.Ctx, secret); !access.IsUnauthenticated(err) {
		t.Errorf("it still holds: %v", err)
	}
	for field, value := range map[string]string{"days": "many", "scope": "none-such", "namespaces": "//"} {
		wrong := url.Values{"subject": {"ada"}, "scope": {"run"}, "namespaces": {"team/a"}}
		wrong.Set(field, value)
		if a := s.post("/settings/tokens", wrong); a.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s=%s: %d", field, value, a.StatusCode)
		}
	}
}

// TestSettings_Governance: a field is set if nobody changed the level in between, and can
// be left to the level above again; a caller that may only read sees no form.
func TestSettings_Governance(t *testing.T) {
	s := newSite(t)
	_, err := s.Host.Governance.Set(s.Ctx, "*", "max_reflection_depth=4", "retention.w_miss=0.2", "locked=retention.w_miss")
	s.Must(err)
	at := governanceURL(operationtest.Here)
	read := func() *answer {
		a := s.get(at)
		s.wellMade(at, a, s.tree(a, http.StatusOK))
		return a
	}
	version := func(a *answer) string {
		_, rest, _ := strings.Cut(a.body, `name="version" value="`)
		v, _, _ := strings.Cut(rest, `"`)
		return v
	}
	before := read()
	if text := textOf(s.tree(before, http.StatusOK)); !strings.Contains(text, "locked by *") || strings.Contains(before.body, ">Unset<") {
		t.Errorf("%s", text)
	}
	fields := url.Values{"namespace": {operationtest.Here}, "field": {"max_reflection_depth"}, "value": {"2"}, "version": {version(before)}}
	if a := s.post("/settings/governance", fields); a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != at {
		t.Fatalf("%d %.400s", a.StatusCode, a.body)
	}
	if a := s.post("/settings/governance", fields); a.StatusCode != http.StatusConflict && a.StatusCode != http.StatusPreconditionFailed {
		t.Errorf("from an old page: %d", a.StatusCode)
	}
	after := read()
	if text := textOf(s.tree(after, http.StatusOK)); !strings.Contains(text, "*: 4") || !strings.Contains(after.body, ">Unset<") {
		t.Errorf("%s", text)
	}
	fields.Set("version", version(after))
	if a := s.post("/settings/governance/unset", fields); a.StatusCode != http.StatusSeeOther {
		t.Errorf("%d %.400s", a.StatusCode, a.body)
	}
	g, err := s.Host.Governance.Explain(s.Ctx, operationtest.Here)
	s.Must(err)
	if g.Fields[0].Value.String() != "4" {
		t.Errorf("%+v", g.Fields[0])
	}
	if a := s.post("/settings/governance", url.Values{"namespace": {operationtest.Here}, "field": {"max_reflection_depth"}, "value": {"many"}}); a.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("%d", a.StatusCode)
	}
	s.become(core.ScopeMemoryRead)
	if a := read(); strings.Contains(a.body, `name="version"`) {
		t.Error("a reader has a form")
	}
}

// become signs in as somebody with some scopes here.
func (s *site) become(scopes ...core.Scope) {
	s.T.Helper()
	token, err := s.Host.Access.Issue(s.Ctx, access.Request{Subject: "reader", Scopes: scopes, Namespaces: []string{operationtest.Here}})
	s.Must(err)
	login, err := s.Host.Access.OpenSession(s.Ctx, string(token.Secret))
	s.Must(err)
	s.session.Value = string(login.Secret)
}
