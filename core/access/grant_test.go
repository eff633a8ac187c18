package access_test

import (
	"slices"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/sdk"
)

// TestGrant_IsAClaimScopesAndNamespaces, and anything else is refused with a hint.
func TestGrant_IsAClaimScopesAndNamespaces(t *testing.T) {
	g, err := access.ParseGrant(" groups=staff  run memory:read in team/** shared ")
	if err != nil || g.Claim != "groups" || g.Value != "staff" || !slices.Equal(g.Scopes, []core.Scope{"memory:read", "run"}) || !slices.Equal(g.Namespaces, []string{"shared", "team/**"}) {
		t.Errorf("%+v, %v", g, err)
	}
	for _, text := range []string{
		"", "in", "groups=staff", "groups=staff in team", "groups=staff run", "groups=staff run in", "staff run in team", "=staff run in team",
		"groups= run in team", "groups=staff runs in team", "groups=staff run in team/../x",
	} {
		if _, err := access.ParseGrant(text); sdk.ReasonOf(err) != "grant_invalid" || sdk.AsError(err).Hint == "" {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestMapping_TheFirstGrantThatFitsHolds, and nobody is mistaken for a subject of this
// host.
func TestMapping_TheFirstGrantThatFitsHolds(t *testing.T) {
	var grants []access.Grant
	for _, text := range []string{"groups=admins operate in **", "name=admins operate in **", "name=staff operate in **", "scp=jobs run in jobs", "groups=staff memory:read in team/**", "scope=runner run in jobs", "email=* evaluate in mail"} {
		g, err := access.ParseGrant(text)
		if err != nil {
			t.Fatal(err)
		}
		grants = append(grants, g)
	}
	m := access.Mapping{Grants: grants}
	for name, c := range map[string]struct {
		claims map[string]any
		want   string // the scope
	}{
		"an item of a list":   {map[string]any{"groups": []any{"other", "staff"}}, "memory:read"},
		"the first":           {map[string]any{"groups": []any{"staff", "admins"}}, "operate"},
		"a text":              {map[string]any{"groups": "staff"}, "memory:read"},
		"a word of a text":    {map[string]any{"scope": "openid runner"}, "run"},
		"any value":           {map[string]any{"email": "a@b"}, "evaluate"},
		"a word of a name":    {map[string]any{"name": "Bob staff"}, ""},
		"the last of it":      {map[string]any{"name": "Bob admins"}, ""},
		"with a line break":   {map[string]any{"name": "Bob\nadmins"}, ""},
		"a word of an item":   {map[string]any{"groups": []any{"no staff"}}, ""},
		"a word of groups":    {map[string]any{"groups": "other staff"}, ""},
		"space around":        {map[string]any{"groups": " staff "}, ""},
		"a name":              {map[string]any{"name": "admins"}, "operate"},
		"a word of scp":       {map[string]any{"scp": "openid jobs"}, "run"},
		"a part of a word":    {map[string]any{"scope": "runners"}, ""},
		"another case":        {map[string]any{"groups": "Staff"}, ""},
		"no claim":            {map[string]any{}, ""},
		"an empty text":       {map[string]any{"email": ""}, ""},
		"no text":             {map[string]any{"groups": 7.0, "email": false}, ""},
		"the star as a value": {map[string]any{"groups": "*"}, ""},
	} {
		c.claims["sub"] = "amy"
		caller, err := m.Caller(c.claims)
		got := ""
		if len(caller.Scopes) > 0 {
			got = string(caller.Scopes[0])
		}
		if err != nil || caller.Subject != "oidc:amy" || caller.Label != caller.Subject || got != c.want || (got == "") != (len(caller.Namespaces) == 0) {
			t.Errorf("%s: %+v, %v", name, caller, err)
		}
	}
	if caller, err := m.Caller(map[string]any{"sub": core.OperatorSubject}); err != nil || caller.Subject == core.OperatorSubject {
		t.Errorf("somebody is the operator: %+v, %v", caller, err)
	}
	for _, sub := range []any{nil, "", 7.0, " amy", "a\nb", string(make([]byte, 200))} {
		if _, err := m.Caller(map[string]any{"sub": sub, "groups": "admins"}); !access.IsUnauthenticated(err) {
			t.Errorf("%q: %v", sub, err)
		}
	}
	named := access.Mapping{Subject: "email", Grants: grants}
	if caller, err := named.Caller(map[string]any{"sub": "1", "email": "amy@example.org"}); err != nil || caller.Subject != "oidc:amy@example.org" {
		t.Errorf("by another claim: %+v, %v", caller, err)
	}
}
