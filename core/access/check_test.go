package access_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/journal"
)

// TestCheckFindsWhatWasPutIntoTheStore changes credentials directly in the store. A check
// finds each, one that can't be read lets nobody in, and a rebuild drops it.
func TestCheckFindsWhatWasPutIntoTheStore(t *testing.T) {
	g := newGate(t)
	short := request()
	short.Lifetime = time.Hour
	issued, expired := g.issue(short), g.issue(short)
	g.check("a use", issued.Secret, "ci")
	session, err := g.OpenSession(g.ctx, string(issued.Secret))
	g.must(err)
	_, err = g.Revoke(g.ctx, expired.ID)
	g.must(err)
	if found := g.problems(); len(found) > 0 {
		t.Fatalf("before: %q", found)
	}
	whole := g.dump()
	key, other := string(access.TokenKey(issued.ID)), string(access.TokenKey(expired.ID))
	value := whole[key]
	sessionKey := string(access.SessionKey(issued.ID, session.Secret))
	for what, forged := range map[string][2]string{
		"more scopes":             {key, strings.Replace(value, `"memory:read"`, `"memory:read","memory:write"`, 1)},
		"more namespaces":         {key, strings.Replace(value, `"lab"`, `"**"`, 1)},
		"a later end":             {key, strings.Replace(value, "T01:", "T02:", 1)},
		"the operator":            {key, strings.Replace(value, `"subject":"ci"`, `"subject":"operator"`, 1)},
		"another secret":          {key, strings.Replace(value, `"digest":"`, `"digest":"00`, 1)},
		"what isn't JSON":         {key, "x" + value},
		"a field more":            {key, strings.Replace(value, `{`, `{"more":1,`, 1)},
		"not revoked any more":    {other, strings.Replace(value, issued.ID, expired.ID, 1)},
		"another token":           {"token/ffffffffffffffff", strings.Replace(value, issued.ID, "ffffffffffffffff", 1)},
		"no token's key":          {"token/x", value},
		"the operator's key":      {"token/operator", strings.Replace(value, issued.ID, "operator", 1)},
		"a use of none":           {"token-used/ffffffffffffffff", whole["token-used/"+issued.ID]},
		"a use at no time":        {"token-used/" + issued.ID, `"soon"`},
		"a login of none":         {strings.Replace(sessionKey, issued.ID, "ffffffffffffffff", 1), whole[sessionKey]},
		"a login that isn't JSON": {sessionKey, "x"},
		"a login without digest":  {"login-link/operator/x", whole[sessionKey]},
	} {
		t.Run(what, func(t *testing.T) {
			g.t = t
			if whole[forged[0]] == forged[1] {
				t.Fatal("nothing is changed")
			}
			g.put(forged[0], forged[1])
			if found := g.problems(); len(found) == 0 || strings.Contains(strings.Join(found, ""), `"digest"`) {
				t.Errorf("a check finds %q", found)
			}
			g.must(access.Checker{}.Rebuild(g.ctx, g.store))
			if found := g.problems(); len(found) > 0 {
				t.Errorf("after a rebuild: %q", found)
			}
			if _, there := g.dump()[forged[0]]; there {
				t.Errorf("%s is left", forged[0])
			}
			for key, value := range whole {
				g.put(key, value)
			}
		})
	}
	g.t = t
	g.put(key, strings.Replace(value, `{`, `{"more":1,`, 1))
	g.check("a record that can't be read", issued.Secret, "")
	if list, err := g.List(g.ctx, access.ListFilter{}); err != nil || len(list) != 1 {
		t.Errorf("listed %+v, %v", list, err)
	}
}

// TestCheckTakesAStoreWithoutItsTokens is for a store that came from an export.
func TestCheckTakesAStoreWithoutItsTokens(t *testing.T) {
	g := newGate(t)
	issued := g.issue(request())
	_, err := g.OpenSession(g.ctx, string(issued.Secret))
	g.must(err)
	g.must(g.store.Update(g.ctx, func(tx core.Tx) error {
		for _, key := range slices.Sorted(maps.Keys(g.dump())) {
			for _, prefix := range (access.Checker{}).Derived() {
				if strings.HasPrefix(key, prefix) {
					if err := tx.Delete([]byte(key)); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}))
	for key := range g.dump() {
		if !strings.HasPrefix(key, "event") {
			t.Errorf("%s isn't of the journal, and an export has it", key)
		}
	}
	if found := g.problems(); len(found) > 0 {
		t.Errorf("a check finds %q", found)
	}
	g.must(g.store.View(g.ctx, func(r core.Reader) error {
		return journal.Checker{}.Check(g.ctx, r, func(p core.Problem) { t.Errorf("the journal's check finds %+v", p) })
	}))
	g.check("its token", issued.Secret, "")
}
