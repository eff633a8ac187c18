package operation_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

// grant asks for a token of some scopes in some namespaces.
func grant(subject string, scopes []core.Scope, namespaces ...string) *operation.TokenNew {
	return &operation.TokenNew{Subject: subject, Scopes: scopes, Namespaces: namespaces}
}

func TestATokenIsMadeListedUsedAndRevoked(t *testing.T) {
	w := newWorld(t)
	made := try[operation.NewToken](w, "token_new", grant("ci", []core.Scope{core.ScopeMemoryRead}, here+"/**"))
	if made.State != access.Active || made.IssuedBy != core.OperatorSubject {
		t.Errorf("made %+v", made.Token)
	}
	id := w.Memory()
	c, err := w.Host.Access.Authenticate(w.Ctx, string(made.Secret))
	w.Must(err)
	if _, err := w.Do(c, "memory_get", &operation.MemoryGet{ID: id}); err != nil {
		t.Errorf("its holder is refused: %v", err)
	}
	_, err = w.Do(c, "token_list", &operation.TokenList{})
	w.Refused(err, sdk.Denied, "scope_denied")
	list := try[operation.Page[operation.Token]](w, "token_list", &operation.TokenList{})
	if len(list.Items) != 1 || list.Items[0].ID != made.ID || list.Items[0].LastUsedAt.IsZero() {
		t.Errorf("listed %+v", list.Items)
	}
	revoked := try[operation.Token](w, "token_revoke", &operation.TokenRevoke{ID: made.ID[:12]})
	if revoked.State != access.Revoked || revoked.ID != made.ID {
		t.Errorf("revoked %+v", revoked)
	}
	if _, err := w.Host.Access.Authenticate(w.Ctx, string(made.Secret)); !access.IsUnauthenticated(err) {
		t.Errorf("its holder is still let in: %v", err)
	}
	if c, err := w.Host.Access.Authenticate(w.Ctx, "rfl"); err == nil {
		t.Errorf("what is no token is %+v", c)
	}
}

func TestATokenListHasPages(t *testing.T) {
	w := newWorld(t)
	var want, got []string
	for range 5 {
		want = append(want, w.Token())
		w.Config.Clock.(*coretest.Clock).Advance(time.Second) // ids of one second are in any order
	}
	in := &operation.TokenList{Paging: operation.Paging{Limit: 2}}
	for {
		page := try[operation.Page[operation.Token]](w, "token_list", in)
		for _, item := range page.Items {
			got = append(got, item.ID)
		}
		if in.PageToken = page.NextPageToken; in.PageToken == "" {
			break
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the pages have %q; want %q", got, want)
	}
	_, err := w.Do(core.Operator(""), "token_list", &operation.TokenList{Paging: operation.Paging{PageToken: "x"}})
	w.Refused(err, sdk.Invalid, "invalid_page_token")
}

// TestACallerGivesNoMoreThanItHas is for callers that may make tokens in a part only.
func TestACallerGivesNoMoreThanItHas(t *testing.T) {
	w := newWorld(t)
	operate := []core.Scope{core.ScopeOperate, core.ScopeMemoryRead}
	who := core.Caller{Subject: "lead", Scopes: operate, Namespaces: []string{here + "/**", "lab"}, Until: w.Config.Clock.Now().Add(time.Hour)}
	for what, in := range map[string]*operation.TokenNew{
		"":                    grant("a", operate, here+"/**", here+"/below/**", here+"/below", here, "lab"),
		"scope_denied":        grant("b", []core.Scope{core.ScopeMemoryWrite}, here),
		"namespace_denied":    grant("c", operate, elsewhere),
		"namespace_denied ":   grant("d", operate, "**"),
		"namespace_denied  ":  grant("e", operate, "lab/**"),
		"namespace_denied 4":  grant("f", operate, here, "team/**"),
		"namespace_denied 5":  grant("g", operate, "lab/below"),
		"namespaces_invalid":  grant("i", operate),
		"namespace_invalid":   grant("j", operate, ""),
		"namespace_invalid 2": grant("h", operate, core.EveryNamespace),
		"scopes_invalid":      grant("k", []core.Scope{"memory:everything"}, here),
		"scopes_invalid 2":    grant("l", nil, here),
		"expires_in_invalid":  {Subject: "m", Scopes: operate, Namespaces: []string{here}, ExpiresIn: 1 << 62},
		"expires_in_invalid ": {Subject: "n", Scopes: operate, Namespaces: []string{here}, ExpiresIn: -1},
		"subject_invalid":     grant(core.OperatorSubject, operate, here),
		"subject_invalid 2":   grant("oidc:bob", operate, here),
		"subject_invalid 3":   grant(core.LocalSubject, operate, here),
		"scope_denied 2":      grant("o", []core.Scope{core.ScopeStoreExport}, here),
		"scope_denied 3":      grant("p", []core.Scope{core.ScopeMetrics, core.ScopeOperate}, here),
		"scope_denied 4":      grant("p", []core.Scope{core.ScopeModel}, here),
		"expires_in_denied":   {Subject: "q", Scopes: operate, Namespaces: []string{here}, ExpiresIn: 3601},
		"expires_in_denied 2": {Subject: "r", Scopes: operate, Namespaces: []string{here}, ExpiresIn: int64(access.MaxLifetime / time.Second)},
	} {
		_, err := w.Do(who, "token_new", in)
		want, _, _ := strings.Cut(what, " ")
		if got := sdk.ReasonOf(err); got != want {
			t.Errorf("%+v: %v; want %q", in, err, want)
		}
	}
}

// TestTokenNew_DoesntDependOnOtherTenants: no matter who has tokens where the caller doesn't reach, the answer
// is the same.
func TestTokenNew_DoesntDependOnOtherTenants(t *testing.T) {
	w := newWorld(t)
	operate := []core.Scope{core.ScopeOperate, core.ScopeMemoryRead}
	who := core.Caller{Subject: "lead", Scopes: operate, Namespaces: []string{here + "/**"}}
	for subject, namespaces := range map[string][]string{
		"nobody": nil, "one": {"lab"}, "tree": {"lab/**"}, "all": {"**"}, "two": {"lab", "mill/**"}, "both": {here, "lab"},
		"user": {"users/ana/**"}, "above": {"team/**"}, "name like a tenant's": {"lab/x"},
	} {
		if namespaces != nil {
			try[operation.NewToken](w, "token_new", grant(subject, operate, namespaces...))
		}
		out, err := w.Do(who, "token_new", grant(subject, operate, here))
		if made, is := out.(*operation.NewToken); !is || err != nil || made.Subject != subject {
			t.Errorf("%s: %+v, %v", subject, out, err)
		}
	}
	ended := try[operation.NewToken](w, "token_new", grant("ended", operate, "lab"))
	try[operation.Token](w, "token_revoke", &operation.TokenRevoke{ID: ended.ID})
	if _, err := w.Do(who, "token_new", grant("ended", operate, here)); err != nil {
		t.Error(err)
	}
}

// TestIdempotency_KeysOfASubjectsTenants: a key of a subject in one tenant says nothing about the
// subject of the same name in another.
func TestIdempotency_KeysOfASubjectsTenants(t *testing.T) {
	w := newWorld(t)
	as := func(namespaces ...string) core.Caller {
		return core.Caller{Subject: "anna", Scopes: core.Scopes(), Namespaces: namespaces}
	}
	for i, c := range []core.Caller{as("lab/**"), as("team/**"), as("users/ana/**"), as("users/bob/**"), as("**"), as("mill", "mill/**")} {
		namespace := []string{"lab", "team", "users/ana", "users/bob", "port", "mill"}[i]
		for _, first := range []bool{true, false} {
			_, again, err := keyed(w, c, "key-1", "memory_observe", &core.ObserveRequest{Namespace: namespace, Content: "It is " + namespace})
			if err != nil || again == first {
				t.Errorf("%s: %v, %v", namespace, again, err)
			}
		}
	}
}

func TestOnlyTheOperatorReplacesItsToken(t *testing.T) {
	w := newWorld(t)
	first := try[operation.OperatorToken](w, "token_operator", &operation.TokenOperator{})
	all := core.Caller{Subject: "admin", Scopes: core.Scopes(), Namespaces: []string{"**"}}
	_, err := w.Do(all, "token_operator", &operation.TokenOperator{})
	w.Refused(err, sdk.Denied, "operator_only")
	c, err := w.Host.Access.Authenticate(w.Ctx, string(first.Secret))
	if err != nil || c.Subject != core.OperatorSubject {
		t.Errorf("%+v, %v", c, err)
	}
	if second := try[operation.OperatorToken](w, "token_operator", &operation.TokenOperator{}); second.Secret == first.Secret {
		t.Error("it is the same")
	}
}

// canary is a token that is looked for everywhere.
type canary struct {
	t      *testing.T
	host   *host.Host
	ctx    context.Context
	clock  *coretest.Clock
	out    strings.Builder // all that is shown anywhere
	secret map[string]string
}

// hide notes a secret, by what it belongs to.
func (c *canary) hide(what string, secret access.Secret) {
	text := string(secret)
	c.secret[what] = text[strings.LastIndex(text, "_")+1:]
}

// do calls an operation; what it answers is shown.
func (c *canary) do(ctx context.Context, name string, in any) any {
	c.t.Helper()
	var body bytes.Buffer
	out, err := operation.Do(ctx, operation.Call{Host: c.host, Sink: &body}, name, in)
	fmt.Fprintf(&c.out, "%s: %+v %#v %v %s\n%s\n", name, out, out, err, jsontext.MustEncode(core.NewErrorInfo(err)), body.String())
	if o, err := operation.Find(name); err != nil || !o.Secret {
		fmt.Fprintf(&c.out, "%s\n", jsontext.MustEncode(out))
	}
	return out
}

// TestASecretIsNowhere makes, uses and ends each kind of credential on a store on disk, and
// looks for their secrets in all that is logged, answered, recorded, exported, or in a file.
func TestASecretIsNowhere(t *testing.T) {
	dir := t.TempDir()
	settings, err := config.Load(config.Sources{Folder: t.TempDir(), Flags: map[string]string{"data-dir": dir, "log-level": "trace"}})
	if err != nil {
		t.Fatal(err)
	}
	c := &canary{t: t, ctx: core.WithCaller(t.Context(), core.Operator("tester")), clock: &coretest.Clock{}, secret: map[string]string{}}
	log := func(message string, args ...any) { fmt.Fprintln(&c.out, append([]any{message}, args...)...) }
	c.host, err = host.Open(c.ctx, host.Config{
		Settings: settings, Clock: c.clock, Subscribers: []journal.Subscriber{journal.LogTo(log)},
		Notices:    func(n host.Notice) { log("notice", n) },
		PluginLogs: func(l plugin.LogLine) { log("plugin", l) },
	})
	if err != nil {
		t.Fatal(err)
	}
	c.live()
	if err := c.host.Close(); err != nil {
		t.Fatal(err)
	}
	c.look("what was shown", c.out.String())
	for _, name := range []string{"cmdline", "environ"} { // what a list of processes has
		if text, err := os.ReadFile("/proc/self/" + name); err == nil {
			c.look("/proc/self/"+name, string(text))
		}
	}
	files := 0
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		c.look(path, string(text))
		return err
	})
	if err != nil || files < 3 {
		t.Errorf("%d files, %v", files, err)
	}
}

// live is the life of the credentials.
func (c *canary) live() {
	t := c.t
	made := c.do(c.ctx, "token_new", grant("ci", core.Scopes(), "team/**")).(*operation.NewToken)
	c.hide("a token", made.Secret)
	operator := c.do(c.ctx, "token_operator", &operation.TokenOperator{}).(*operation.OperatorToken)
	c.hide("the operator's token", operator.Secret)
	link, err := c.host.Access.NewLink(c.ctx)
	if err != nil {
		t.Fatal(err)
	}
	c.hide("a link", link.Secret)
	session, err := c.host.Access.Redeem(c.ctx, string(link.Secret))
	if err != nil {
		t.Fatal(err)
	}
	c.hide("a session", session.Secret)
	for what, text := range c.secret {
		for _, credential := range []string{"rfl_" + made.ID + "_" + text, "rfl_" + text, text + "\n"} {
			who, err := c.host.Access.Authenticate(c.ctx, credential)
			fmt.Fprintf(&c.out, "as %s: %+v %v %s\n", what, who, err, jsontext.MustEncode(core.NewErrorInfo(err)))
			_, err = c.host.Access.Redeem(c.ctx, credential)
			fmt.Fprintf(&c.out, "%+v\n", err)
		}
	}
	who, err := c.host.Access.Authenticate(c.ctx, string(made.Secret))
	if err != nil {
		t.Fatal(err)
	}
	ctx := core.WithCaller(c.ctx, who)
	c.do(ctx, "memory_observe", &core.ObserveRequest{ID: "m", Namespace: "team/a", Content: "something"})
	c.do(ctx, "token_new", grant("beyond", core.Scopes(), "**"))
	c.do(c.ctx, "token_list", &operation.TokenList{})
	c.do(c.ctx, "audit_entries", &operation.AuditEntries{Stream: journal.AccessStream})
	c.do(c.ctx, "store_check", &operation.StoreCheck{})
	c.do(c.ctx, "store_export", &operation.StoreExport{})
	c.do(c.ctx, "status", &operation.StatusGet{})
	c.clock.Advance(time.Hour)
	c.do(c.ctx, "token_revoke", &operation.TokenRevoke{ID: made.ID})
	c.do(c.ctx, "token_revoke", &operation.TokenRevoke{ID: string(made.Secret)}) // pasted in the wrong place
	c.do(c.ctx, "token_operator", &operation.TokenOperator{})
	if _, err := c.host.Access.AuthenticateSession(c.ctx, string(session.Secret)); !access.IsUnauthenticated(err) {
		t.Errorf("the operator's session goes on: %v", err)
	}
	for _, part := range []string{"team/a", "agent.access.token_revoked", `{"reflectory_export":1`} {
		if !strings.Contains(c.out.String(), part) {
			t.Errorf("what is looked at has no %s", part)
		}
	}
}

// look looks for the secrets, as text and as bytes.
func (c *canary) look(where, text string) {
	c.t.Helper()
	for what, secret := range c.secret {
		raw, err := hex.DecodeString(secret)
		if err != nil || len(raw) != 32 {
			c.t.Fatal("not a secret:", len(raw), err)
		}
		for part := secret; len(part) >= 16; part = part[1:] { // a part of it helps to guess the rest
			if strings.Contains(text, part[:16]) {
				c.t.Errorf("%s has a part of the secret of %s", where, what)
				break
			}
		}
		if strings.Contains(text, string(raw)) {
			c.t.Errorf("%s has the bytes of the secret of %s", where, what)
		}
	}
}
