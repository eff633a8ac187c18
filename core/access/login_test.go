package access_test

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/sdk"
)

func (g *gate) session(what string, s *access.Login, subject string) {
	g.t.Helper()
	c, err := g.AuthenticateSession(g.ctx, string(s.Secret))
	if subject == "" {
		g.refused(what, c, err)
		return
	}
	g.holds(what, c, err, subject)
}

func (g *gate) link() *access.Login {
	g.t.Helper()
	link, err := g.NewLink(g.ctx)
	g.must(err)
	return link
}

func TestLoginLinkIsGoodForOneUse(t *testing.T) {
	g := newGate(t)
	link := g.link()
	session, err := g.Redeem(g.ctx, string(link.Secret))
	g.must(err)
	c, err := g.AuthenticateSession(g.ctx, string(session.Secret))
	g.must(err)
	if c.Subject != core.OperatorSubject || len(c.Scopes) != len(core.Scopes()) || !c.Reaches(core.EveryNamespace) {
		t.Errorf("the caller is %+v", c)
	}
	_, err = g.Redeem(g.ctx, string(link.Secret))
	g.refused("a second use", core.Caller{}, err)

	late := g.link()
	g.clock.Advance(access.LinkTime)
	_, err = g.Redeem(g.ctx, string(late.Secret))
	g.refused("a link of a minute ago", core.Caller{}, err)
	for what, text := range map[string]string{"nothing": "", "a session": string(session.Secret), "as a token": "rfl" + string(late.Secret)[3:]} {
		_, err = g.Redeem(g.ctx, text)
		g.refused(what, core.Caller{}, err)
	}
	for what, secret := range map[string]access.Secret{"a link": late.Secret, "a session": session.Secret} {
		g.check(what+" as a token", secret, "")
	}
	if want := []string{"operator agent.access.operator_token_issued", "operator agent.access.login_opened"}; !slices.Equal(g.events(), want) {
		t.Errorf("the journal has %q", g.events())
	}
}

func TestLoginLinkIsRedeemedOnceByMany(t *testing.T) {
	g := newGate(t)
	link := g.link()
	var got atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := g.Redeem(g.ctx, string(link.Secret)); err == nil {
				got.Add(1)
			} else if !access.IsUnauthenticated(err) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got.Load() != 1 {
		t.Errorf("%d sessions came of one link", got.Load())
	}
}

func TestLoginLinkIsForTheOperator(t *testing.T) {
	g := newGate(t)
	ctx := core.WithCaller(g.ctx, core.Caller{Subject: "ci", Scopes: core.Scopes(), Namespaces: []string{"**"}})
	if _, err := g.NewLink(ctx); sdk.CodeOf(err) != sdk.Denied || sdk.ReasonOf(err) != "operator_only" {
		t.Errorf("for another: %v", err)
	}
}

// TestSessionEndsWithItsToken is for all ways in which the token ends.
func TestSessionEndsWithItsToken(t *testing.T) {
	g := newGate(t)
	issued := g.issue(request())
	session, err := g.OpenSession(g.ctx, string(issued.Secret))
	g.must(err)
	g.session("of a token", session, "ci")
	g.clock.Advance(access.SessionTime - 1)
	g.session("before 12 h", session, "ci")
	g.clock.Advance(1)
	g.session("after 12 h", session, "")

	session, err = g.OpenSession(g.ctx, string(issued.Secret))
	g.must(err)
	_, err = g.another().Revoke(g.ctx, issued.ID)
	g.must(err)
	g.session("of a token that was revoked", session, "")
	_, err = g.OpenSession(g.ctx, string(issued.Secret))
	g.refused("with a token that was revoked", core.Caller{}, err)

	short := request()
	short.Lifetime = time.Hour
	issued = g.issue(short)
	session, err = g.OpenSession(g.ctx, string(issued.Secret))
	g.must(err)
	if !session.ExpiresAt.Equal(issued.ExpiresAt) {
		t.Errorf("it ends at %s, and its token at %s", session.ExpiresAt, issued.ExpiresAt)
	}
	g.clock.Advance(time.Hour)
	g.session("of a token that expired", session, "")

	operators, err := g.Redeem(g.ctx, string(g.link().Secret))
	g.must(err)
	g.session("of the operator", operators, core.OperatorSubject)
	open := g.link()
	_, err = g.another().ReplaceOperatorToken(g.ctx)
	g.must(err)
	g.session("of the operator's token before", operators, "")
	_, err = g.Redeem(g.ctx, string(open.Secret))
	g.refused("a link of the operator's token before", core.Caller{}, err)
}

func TestSessionIsClosed(t *testing.T) {
	g := newGate(t)
	issued := g.issue(request())
	one, err := g.OpenSession(g.ctx, string(issued.Secret))
	g.must(err)
	two, err := g.OpenSession(g.ctx, string(issued.Secret))
	g.must(err)
	g.must(g.CloseSession(g.ctx, string(one.Secret)))
	g.session("one that was closed", one, "")
	g.session("another", two, "ci")
	g.must(g.CloseSession(g.ctx, string(one.Secret)))
	g.must(g.CloseSession(g.ctx, "nothing"))
}

// TestSessionsOfATokenAreBounded leaves the newest, and no text of theirs in the store.
func TestSessionsOfATokenAreBounded(t *testing.T) {
	g := newGate(t)
	issued := g.issue(request())
	var all []*access.Login
	for range access.MaxSessions + 2 {
		s, err := g.OpenSession(g.ctx, string(issued.Secret))
		g.must(err)
		all = append(all, s)
		g.clock.Advance(time.Second)
	}
	g.session("the oldest", all[0], "")
	g.session("the oldest but one", all[1], "")
	g.session("the oldest that is left", all[2], "ci")
	var links []*access.Login
	for range access.MaxLinks + 1 {
		links = append(links, g.link())
		g.clock.Advance(time.Second)
	}
	_, err := g.Redeem(g.ctx, string(links[0].Secret))
	g.refused("the oldest link", core.Caller{}, err)
	dump := g.dump()
	for _, l := range append(all, links...) {
		for key, value := range dump {
			if text := string(l.Secret); strings.Contains(key+value, text[len(text)-64:]) {
				t.Errorf("%s has a secret", key)
			}
		}
	}
	if found := g.problems(); len(found) > 0 {
		t.Errorf("a check finds %q", found)
	}
}
