package access_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/core/store/pebble"
	"github.com/reflectory/reflectory/sdk"
)

func TestTokenMakesItsCaller(t *testing.T) {
	g := newGate(t)
	issued := g.issue(request())
	c, err := g.Authenticate(g.ctx, string(issued.Secret))
	g.must(err)
	want := core.Caller{
		Subject: "ci", Label: "ci", Scopes: []core.Scope{core.ScopeMemoryRead, core.ScopeRun}, Namespaces: []string{"lab", "team/**"}, Home: "team", Token: issued.ID, Until: issued.ExpiresAt,
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("the caller is %+v; want %+v", c, want)
	}
	if got := issued.ExpiresAt.Sub(issued.CreatedAt); got != access.DefaultLifetime {
		t.Errorf("it holds for %s", got)
	}
	if got := g.events(); !slices.Equal(got, []string{"operator agent.access.token_issued"}) {
		t.Errorf("the journal has %q", got)
	}
}

// TestTokenThatDoesntHoldHasOneAnswer is for every way in which one may not.
func TestTokenThatDoesntHoldHasOneAnswer(t *testing.T) {
	g := newGate(t)
	live, revoked := g.issue(request()), g.issue(request())
	short := request()
	short.Lifetime = time.Hour
	expired := g.issue(short)
	_, err := g.Revoke(g.ctx, revoked.ID)
	g.must(err)
	g.clock.Advance(time.Hour - 1)
	g.check("one that is about to expire", expired.Secret, "ci")
	g.clock.Advance(1)

	text := string(live.Secret)
	_, secret, _ := strings.Cut(strings.TrimPrefix(text, "rfl_"), "_")
	other := "0"
	if text[len(text)-1] == '0' {
		other = "1"
	}
	for what, text := range map[string]string{
		"nothing": "", "a word": "secret", "a prefix": "rfl_", "expired": string(expired.Secret), "revoked": string(revoked.Secret),
		"a wrong secret":          text[:len(text)-1] + other,
		"another's secret":        "rfl_" + expired.ID + "_" + secret,
		"an unknown id":           "rfl_ffffffffffffffff_" + secret,
		"upper case":              strings.ToUpper(text),
		"space after it":          text + " ",
		"a line's end":            text + "\n",
		"too much":                text + "00",
		"too little":              text[:len(text)-2],
		"a session's prefix":      "rfs" + text[3:],
		"a link's prefix":         "rfo" + text[3:],
		"no operator's token":     "rfl_operator_" + secret,
		"an id of another length": "rfl_0" + live.ID + "_" + secret,
		"a key's part as id":      "rfl_" + "../../../" + "_" + secret,
		"a long text":             strings.Repeat("rfl_", 1<<18),
		"bytes":                   "\x00\xff" + text,
	} {
		c, err := g.Authenticate(g.ctx, text)
		g.refused(what, c, err)
	}
	g.check("the one that holds", live.Secret, "ci")
}

func TestTokenEndsInEveryProcessAtOnce(t *testing.T) {
	g := newGate(t)
	issued := g.issue(request())
	other := g.another()
	for range 2 { // the second time from its cache
		c, err := other.Authenticate(g.ctx, string(issued.Secret))
		g.holds("another process", c, err, "ci")
	}
	_, err := g.Revoke(g.ctx, issued.ID)
	g.must(err)
	c, err := other.Authenticate(g.ctx, string(issued.Secret))
	g.refused("another process after a revocation", c, err)
	g.check("this process", issued.Secret, "")

	again, err := other.Revoke(g.ctx, issued.ID)
	if err != nil || again.RevokedAt.IsZero() || again.State(g.clock.Now()) != access.Revoked {
		t.Errorf("again: %+v, %v", again, err)
	}
	if got := g.events(); len(got) != 2 {
		t.Errorf("the journal has %q: a second revocation changes nothing", got)
	}
	if _, err := g.Revoke(g.ctx, "ffffffffffffffff"); sdk.CodeOf(err) != sdk.NotFound || sdk.ReasonOf(err) != "token_not_found" {
		t.Errorf("of one that isn't there: %v", err)
	}
}

// TestTokenIsOfNoUseOnceRevokeReturned checks a token many times while it is revoked: none
// of the checks that begin after that lets anybody in.
func TestTokenIsOfNoUseOnceRevokeReturned(t *testing.T) {
	disk, err := pebble.Open(t.Context(), pebble.Options{Dir: t.TempDir(), Durability: pebble.Relaxed})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := disk.Close(); err != nil {
			t.Error(err)
		}
	}()
	for name, store := range map[string]core.Store{"mem": mem.Open(), "pebble": disk} {
		t.Run(name, func(t *testing.T) {
			g := newGate(t)
			g.store = store
			g.Authority = g.another()
			processes := []*access.Authority{g.Authority, g.another()}
			for range 20 {
				g.clock.Advance(2 * time.Hour) // so that the use is written meanwhile
				issued := g.issue(request())
				var revoked atomic.Bool
				var after atomic.Int64
				var begun, checks sync.WaitGroup
				begun.Add(4)
				for i := range 4 {
					checks.Go(func() {
						_, err := processes[i%2].Authenticate(g.ctx, string(issued.Secret))
						if err != nil {
							t.Error("before it is revoked:", err)
						}
						begun.Done()
						for last := false; !last; {
							last = revoked.Load()
							if _, err := processes[i%2].Authenticate(g.ctx, string(issued.Secret)); err == nil && last {
								after.Add(1)
							}
						}
					})
				}
				begun.Wait()
				_, err := g.Revoke(g.ctx, issued.ID)
				revoked.Store(true)
				checks.Wait()
				g.must(err)
				if after.Load() > 0 {
					t.Fatalf("%d checks let somebody in after the token was revoked", after.Load())
				}
			}
			if found := g.problems(); len(found) > 0 {
				t.Errorf("a check finds %q", found)
			}
		})
	}
}

// counting counts the commits of a store.
type counting struct {
	core.Store
	commits atomic.Int64
}

func (s *counting) Update(ctx context.Context, fn func(core.Tx) error) error {
	s.commits.Add(1)
	return s.Store.Update(ctx, fn)
}

// interrupted is a store in which something happens before its next update.
type interrupted struct {
	core.Store
	by func()
}

func (s *interrupted) Update(ctx context.Context, fn func(core.Tx) error) error {
	if by := s.by; by != nil {
		s.by = nil
		by()
	}
	return s.Store.Update(ctx, fn)
}

// TestTokenUse_IsntWrittenOfATokenThatEnded between its check and the writing.
func TestTokenUse_IsntWrittenOfATokenThatEnded(t *testing.T) {
	for how, end := range map[string]func(g *gate, id string){
		"revoked": func(g *gate, id string) {
			_, err := g.Revoke(g.ctx, id)
			g.must(err)
		},
		"dropped": func(g *gate, id string) {
			g.must(g.store.Update(g.ctx, func(tx core.Tx) error { return tx.Delete(access.TokenKey(id)) }))
		},
	} {
		g := newGate(t)
		issued := g.issue(request())
		store := &interrupted{Store: g.store}
		g.store = store
		other := g.another()
		store.by = func() { end(g, issued.ID) }
		c, err := other.Authenticate(g.ctx, string(issued.Secret))
		g.holds("the check before it", c, err, "ci")
		if text, found := g.dump()[string(access.UsedKey(issued.ID))]; found || store.by != nil {
			t.Errorf("%s: a use is written: %s", how, text)
		}
	}
}

func TestTokenUseIsWrittenOnceAnHour(t *testing.T) {
	g := newGate(t)
	store := &counting{Store: g.store}
	g.store = store
	g.Authority = g.another()
	other := g.another()
	id := g.issue(request())
	store.commits.Store(0)
	use := func(a *access.Authority) {
		t.Helper()
		c, err := a.Authenticate(g.ctx, string(id.Secret))
		g.holds("a use", c, err, "ci")
	}
	used := func(at time.Time) {
		t.Helper()
		found, err := g.Get(g.ctx, id.ID)
		g.must(err)
		if !found.LastUsedAt.Equal(at) {
			t.Errorf("it was last used at %s; want %s", found.LastUsedAt, at)
		}
	}
	used(time.Time{})
	first := g.clock.Now()
	for range 10 {
		use(g.Authority)
		g.clock.Advance(time.Minute)
	}
	use(other) // which sees what the first has written
	used(first)
	if n := store.commits.Load(); n != 1 {
		t.Errorf("%d commits; want 1", n)
	}
	g.clock.Advance(time.Hour)
	use(g.Authority)
	used(g.clock.Now())
	before := store.commits.Load()
	use(other)
	if got := g.dump()[string(access.UsedKey(id.ID))]; !strings.Contains(got, g.clock.Now().Format(time.RFC3339)) {
		t.Errorf("the last use is %s", got)
	}
	if n := store.commits.Load() - before; n > 1 {
		t.Errorf("%d commits of another process", n)
	}
}

func TestTokenRequestIsCheckedAtOnce(t *testing.T) {
	g := newGate(t)
	_, err := g.Issue(g.ctx, access.Request{
		Subject: "a\nb", Scopes: []core.Scope{"memory:raed"}, Namespaces: []string{"a/*/b"}, Label: strings.Repeat("x", access.MaxLabel+1), Lifetime: 366 * day,
	})
	for _, part := range []string{"subject", "memory:raed", "memory:read", "a/*/b", "label has 129 bytes (limit 128)", "365 days"} {
		if err == nil || sdk.CodeOf(err) != sdk.Invalid || !strings.Contains(err.Error(), part) {
			t.Errorf("%v has no %q", err, part)
		}
	}
	for what, change := range map[string]func(*access.Request){
		"subject_invalid":    func(q *access.Request) { q.Subject = "" },
		"scopes_invalid":     func(q *access.Request) { q.Scopes = nil },
		"namespaces_invalid": func(q *access.Request) { q.Namespaces = nil },
		"namespace_invalid":  func(q *access.Request) { q.Namespaces = []string{""} },
		"expires_in_invalid": func(q *access.Request) { q.Lifetime = -time.Hour },
		"label_invalid":      func(q *access.Request) { q.Label = "\xff" },
	} {
		q := request()
		change(&q)
		if _, err := g.Issue(g.ctx, q); sdk.CodeOf(err) != sdk.Invalid || sdk.ReasonOf(err) != what {
			t.Errorf("%s: %v", what, err)
		}
	}
	q := request()
	q.Subject = core.OperatorSubject
	if _, err := g.Issue(g.ctx, q); sdk.ReasonOf(err) != "subject_invalid" {
		t.Errorf("a token of the operator's subject: %v", err)
	}
	q = request()
	q.Namespaces = make([]string, core.MaxCallerNamespaces+1)
	if _, err := g.Issue(g.ctx, q); sdk.CodeOf(err) != sdk.Invalid {
		t.Errorf("too many patterns: %v", err)
	}
	if got := g.events(); len(got) != 0 {
		t.Errorf("the journal has %q", got)
	}
}

func TestTokenListIsWhatWasIssued(t *testing.T) {
	g := newGate(t)
	var ids []string
	for i := range 5 {
		q := request()
		q.Subject, q.Namespaces = fmt.Sprint("subject-", i), []string{fmt.Sprint("n/", i%2)}
		ids = append(ids, g.issue(q).ID)
		g.clock.Advance(time.Second)
	}
	list, err := g.List(g.ctx, access.ListFilter{})
	g.must(err)
	var got []string
	for i := range list {
		got = append(got, list[i].ID)
	}
	if !slices.Equal(got, ids) {
		t.Errorf("listed %q; issued %q", got, ids)
	}
	page, err := g.List(g.ctx, access.ListFilter{After: ids[1], Limit: 2})
	if err != nil || len(page) != 2 || page[0].ID != ids[2] || page[1].ID != ids[3] {
		t.Errorf("a page after %s: %+v, %v", ids[1], page, err)
	}
	some, err := g.List(g.ctx, access.ListFilter{Reaches: func(pattern string) bool { return pattern == "n/1" }})
	if err != nil || len(some) != 2 {
		t.Errorf("of n/1: %+v, %v", some, err)
	}
	if n, err := g.Active(g.ctx); err != nil || n != 5 {
		t.Errorf("%d hold, %v", n, err)
	}
	found, err := g.Find(g.ctx, ids[4][:15])
	if sdk.ReasonOf(err) == "token_ambiguous" {
		found, err = g.Find(g.ctx, ids[4])
	}
	if err != nil || found.ID != ids[4] {
		t.Errorf("%+v, %v", found, err)
	}
	if _, err := g.Find(g.ctx, ids[4][:1]); sdk.ReasonOf(err) != "token_ambiguous" {
		t.Errorf("of the beginning that all have: %v", err)
	}
	for _, id := range []string{"", "zz", "ff", "operator", "a/b", strings.Repeat("f", 1000)} {
		if _, err := g.Find(g.ctx, id); sdk.ReasonOf(err) != "token_not_found" {
			t.Errorf("find %.20q: %v", id, err)
		}
	}
}

// TestToken_NextExpiry is of the tokens that are valid, and that were made for two weeks or longer.
func TestToken_NextExpiry(t *testing.T) {
	const day = 24 * time.Hour
	g := newGate(t)
	issue := func(lifetime time.Duration) *access.Issued {
		q := request()
		q.Lifetime = lifetime
		return g.issue(q)
	}
	want := func(what string, at time.Time) {
		t.Helper()
		if got, err := g.NextExpiry(g.ctx); err != nil || !got.Equal(at) {
			t.Errorf("%s: %s, %v; want %s", what, got, err, at)
		}
	}
	want("without a token", time.Time{})
	issue(time.Hour)
	issue(14*day - time.Minute)
	want("made for a task", time.Time{})
	last := issue(0)
	want("made for the default", last.ExpiresAt)
	two := issue(14 * day)
	want("made for two weeks", two.ExpiresAt)
	third := issue(15 * day)
	want("another that ends later", two.ExpiresAt)
	_, err := g.Revoke(g.ctx, two.ID)
	g.must(err)
	want("one that is revoked", third.ExpiresAt)
	g.clock.Advance(15*day - 1)
	want("just before it expires", third.ExpiresAt)
	g.clock.Advance(1)
	want("one that expired", last.ExpiresAt)
	g.clock.Advance(access.DefaultLifetime)
	want("all of them expired", time.Time{})
}

// TestTokenThatEndedIsDropped is for those that ended long ago, which a new one drops.
func TestTokenThatEndedIsDropped(t *testing.T) {
	g := newGate(t)
	short := request()
	short.Lifetime = day
	expired, revoked := g.issue(short), g.issue(request())
	g.check("a use", expired.Secret, "ci")
	_, err := g.Revoke(g.ctx, revoked.ID)
	g.must(err)
	g.clock.Advance(access.KeepEnded + day) // both are listed for as long
	kept := g.issue(request())
	if list, err := g.List(g.ctx, access.ListFilter{}); err != nil || len(list) != 2 {
		t.Errorf("listed %+v, %v", list, err)
	}
	g.clock.Advance(time.Second)
	last := g.issue(request())
	list, err := g.List(g.ctx, access.ListFilter{})
	if err != nil || len(list) != 2 || list[0].ID != kept.ID || list[1].ID != last.ID {
		t.Errorf("listed %+v, %v", list, err)
	}
	for key := range g.dump() {
		if strings.Contains(key, expired.ID) || strings.Contains(key, revoked.ID) {
			t.Errorf("%s is left", key)
		}
	}
	if found := g.problems(); len(found) > 0 {
		t.Errorf("a check finds %q", found)
	}
}

// TestSecretIsShownNowhere formats what holds one in every way.
func TestSecretIsShownNowhere(t *testing.T) {
	g := newGate(t)
	issued := g.issue(request())
	secret := string(issued.Secret)
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("issued", "token", issued.Secret, "all", issued)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("issued", "token", issued.Secret)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&log, verb+" "+verb+" "+verb, issued.Secret, issued, *issued)
	}
	if text := log.String(); strings.Contains(text, secret[25:]) || !strings.Contains(text, "[secret]") {
		t.Errorf("it is in %s", text)
	}
	if got := string(jsontext.MustEncode(issued)); !strings.Contains(got, `"token":"`+secret+`"`) {
		t.Errorf("the answer doesn't show it: %s", got)
	}
	for key, value := range g.dump() {
		if strings.Contains(key+value, secret[len(secret)-64:]) {
			t.Errorf("it is in %s", key)
		}
	}
	// Nor is its hash where others may read it.
	var rec struct{ Digest string }
	dump := g.dump()
	g.must(json.Unmarshal([]byte(dump[string(access.TokenKey(issued.ID))]), &rec))
	for key, value := range dump {
		if strings.HasPrefix(key, "event/") && strings.Contains(value, rec.Digest) || rec.Digest == "" {
			t.Errorf("the hash is in %q", key)
		}
	}
}

func FuzzToken(f *testing.F) {
	whole := "rfl_0123456789abcdef_" + strings.Repeat("0a", 32)
	for _, text := range []string{whole, strings.Replace(whole, "0123456789abcdef", "operator", 1), whole[:20], "rfl__", "rfl_operator_", whole + "_", "\x00"} {
		f.Add(text)
	}
	authority := access.New(access.Options{Writer: &journal.Writer{Store: mem.Open()}})
	f.Fuzz(func(t *testing.T, text string) {
		id, again, ok := access.Parse(text)
		if ok && again != text {
			t.Errorf("%q is taken as %q: a token has one spelling", text, again)
		}
		if ok && (strings.ContainsAny(id, "/\x00") || len(text) > access.MaxCredential) {
			t.Errorf("%q has the id %q", text, id)
		}
		if c, err := authority.Authenticate(t.Context(), text); !access.IsUnauthenticated(err) || c.Subject != "" {
			t.Errorf("%q: %+v, %v", text, c, err)
		}
	})
}

// TestToken_SubjectsOfOthersArentGivenAway: the maker of a token can't make it for a subject
// that somebody else vouches for, or that looks like one.
func TestToken_SubjectsOfOthersArentGivenAway(t *testing.T) {
	g := newGate(t)
	for _, subject := range []string{
		"oidc:bob", "oidc:", "OIDC:bob", "Oidc:bob", "oidc: bob", "oidc::bob", "oidc:oidc:bob", "o\u0131dc\u200b:bob", "oi\u200bdc:bob",
		"operator", "Operator", "OPERATOR", "local", "Local", "system", "SYSTEM",
		"oper\u200bator", "lo\u00adcal", "bob\U000E0062\U000E006F", "\u202ebob", "bob\ufe0f", "\ufeffbob",
	} {
		q := request()
		q.Subject = subject
		if issued, err := g.Issue(g.ctx, q); sdk.CodeOf(err) != sdk.Invalid || sdk.ReasonOf(err) != "subject_invalid" {
			t.Errorf("%q: %+v, %v", subject, issued, err)
		}
	}
	for _, subject := range []string{"bob", "ci-1", "oidc", "oidc-bob", "bob@example.org", "équipe", "team/ci", "operators", "the local build", "memory:read", "bob:", "not oidc:bob"} {
		q := request()
		q.Subject = subject
		if _, err := g.Issue(g.ctx, q); err != nil {
			t.Errorf("%q: %v", subject, err)
		}
	}
}

// TestToken_EndsNoLaterThanItsMaker, also by default, and also through a session.
func TestToken_EndsNoLaterThanItsMaker(t *testing.T) {
	g := newGate(t)
	q := request()
	q.Lifetime = time.Hour
	maker := g.issue(q)
	c, err := g.Authenticate(g.ctx, string(maker.Secret))
	g.holds("the maker", c, err, "ci")
	login, err := g.OpenSession(g.ctx, string(maker.Secret))
	g.must(err)
	browser, err := g.AuthenticateSession(g.ctx, string(login.Secret))
	g.holds("the maker's browser", browser, err, "ci")
	for name, c := range map[string]core.Caller{"token": c, "browser": browser} {
		ctx := core.WithCaller(t.Context(), c)
		for lifetime, want := range map[time.Duration]string{
			0: "", time.Minute: "", time.Hour: "", time.Hour + time.Second: "expires_in_denied", 2 * time.Hour: "expires_in_denied",
			access.DefaultLifetime: "expires_in_denied", access.MaxLifetime: "expires_in_denied", access.MaxLifetime + 1: "expires_in_invalid",
		} {
			q := request()
			q.Lifetime = lifetime
			issued, err := g.Issue(ctx, q)
			if sdk.ReasonOf(err) != want {
				t.Errorf("%s, %s: %v, want %q", name, lifetime, err, want)
			} else if err == nil && issued.ExpiresAt.After(maker.ExpiresAt) {
				t.Errorf("%s, %s: it lasts until %s, its maker until %s", name, lifetime, issued.ExpiresAt, maker.ExpiresAt)
			}
		}
	}
	g.clock.Advance(time.Hour - 30*time.Second)
	if _, err := g.Issue(core.WithCaller(t.Context(), c), request()); sdk.ReasonOf(err) != "expires_in_denied" {
		t.Errorf("half a minute before its end: %v", err)
	}
	if issued := g.issue(request()); issued.ExpiresAt.Sub(g.clock.Now()) < access.DefaultLifetime-time.Second {
		t.Errorf("the operator's lasts until %s", issued.ExpiresAt)
	}
}
