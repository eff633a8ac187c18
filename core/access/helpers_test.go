package access_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

// gate is an Authority on a store, and what it works with.
type gate struct {
	*access.Authority
	t     *testing.T
	ctx   context.Context // the operator's
	store core.Store
	clock *coretest.Clock
	file  string
}

func newGate(t *testing.T) *gate {
	t.Helper()
	g := &gate{
		t: t, ctx: core.WithCaller(t.Context(), core.Operator("tester")), store: mem.Open(), clock: &coretest.Clock{},
		file: filepath.Join(t.TempDir(), access.OperatorFileName),
	}
	g.Authority = g.another()
	return g
}

// another is another process's Authority on the same store.
func (g *gate) another() *access.Authority {
	return access.New(access.Options{
		Writer: &journal.Writer{Store: g.store, Clock: g.clock}, Random: &coretest.Random{}, OperatorFile: g.file,
	})
}

func (g *gate) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

// request is one that is granted.
func request() access.Request {
	return access.Request{Subject: "ci", Scopes: []core.Scope{core.ScopeRun, core.ScopeMemoryRead}, Namespaces: []string{"team/**", "lab"}, Label: "the build"}
}

func (g *gate) issue(q access.Request) *access.Issued {
	g.t.Helper()
	issued, err := g.Issue(g.ctx, q)
	g.must(err)
	return issued
}

// refused checks that a credential gets the one answer that all invalid ones get.
func (g *gate) refused(what string, c core.Caller, err error) {
	g.t.Helper()
	const want = "the token or login isn't valid"
	if !access.IsUnauthenticated(err) || sdk.AsError(err).Message != want || len(sdk.AsError(err).Details) > 0 || c.Subject != "" || len(c.Scopes) > 0 {
		g.t.Errorf("%s: %+v, %v; want %q", what, c, err, want)
	}
}

// holds checks that a credential lets its holder in.
func (g *gate) holds(what string, c core.Caller, err error, subject string) {
	g.t.Helper()
	if err != nil || c.Subject != subject {
		g.t.Errorf("%s: %+v, %v; want the caller %s", what, c, err, subject)
	}
}

func (g *gate) check(what string, secret access.Secret, subject string) {
	g.t.Helper()
	c, err := g.Authenticate(g.ctx, string(secret))
	if subject == "" {
		g.refused(what, c, err)
		return
	}
	g.holds(what, c, err, subject)
}

// dump is all that the store holds.
func (g *gate) dump() map[string]string {
	g.t.Helper()
	all := map[string]string{}
	g.must(g.store.View(g.ctx, func(r core.Reader) error {
		return r.Scan(nil, nil, func(key, value []byte) (bool, error) {
			all[string(key)] = string(value)
			return true, nil
		})
	}))
	return all
}

// events are the types of the journal's events on access.
func (g *gate) events() (types []string) {
	g.t.Helper()
	g.must(g.store.View(g.ctx, func(r core.Reader) error {
		return journal.Read(r, journal.AccessStream, func(e journal.Entry) error {
			types = append(types, e.Subject+" "+e.Type)
			return nil
		})
	}))
	return types
}

func (g *gate) put(key, value string) {
	g.t.Helper()
	g.must(g.store.Update(g.ctx, func(tx core.Tx) error { return tx.Put([]byte(key), []byte(value)) }))
}

// problems are what a check finds.
func (g *gate) problems() (found []string) {
	g.t.Helper()
	g.must(g.store.View(g.ctx, func(r core.Reader) error {
		return access.Checker{}.Check(g.ctx, r, func(p core.Problem) { found = append(found, p.Key+": "+p.Message) })
	}))
	return found
}

const day = 24 * time.Hour
