package access_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/coretest"
)

// TestKeyLayout checks FORMAT.md's table of keys and values: a store with one of each.
func TestKeyLayout(t *testing.T) {
	g := newGate(t)
	issued := g.issue(request())
	g.check("a use", issued.Secret, "ci")
	link, err := g.NewLink(g.ctx)
	g.must(err)
	session, err := g.OpenSession(g.ctx, string(issued.Secret))
	g.must(err)
	revoked := g.issue(request())
	_, err = g.Revoke(g.ctx, revoked.ID)
	g.must(err)
	for what, key := range map[string][]byte{
		"token": access.TokenKey(issued.ID), "use": access.UsedKey(issued.ID),
		"link": access.LinkKey(access.OperatorID, link.Secret), "session": access.SessionKey(issued.ID, session.Secret),
	} {
		if _, there := g.dump()[string(key)]; !there {
			t.Errorf("the %s isn't at %q", what, key)
		}
	}
	var golden strings.Builder
	dump := g.dump()
	var keys []string
	for key := range dump {
		if strings.HasPrefix(key, "token") || strings.HasPrefix(key, "login") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		fmt.Fprintf(&golden, "%s\n    %s\n", key, dump[key])
	}
	for _, e := range g.events() {
		fmt.Fprintln(&golden, e)
	}
	coretest.Golden(t, "layout.golden", golden.String())
}
