package access

import (
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// An issuer of identities says who somebody is, not what they may do here. That is said by
// grants, in the operator's settings, about the claims that the issuer makes. They aren't
// added up: the first one that fits is all that somebody has, since a scope of one in the
// namespaces of another is what nobody has granted.

// SubjectPrefix begins the subject of everybody whom an issuer names, so that nobody there
// is taken for a token's subject, or for the operator.
const SubjectPrefix = "oidc:"

// DefaultSubjectClaim is the claim that names somebody: it alone never changes, and is never
// given to another.
const DefaultSubjectClaim = "sub"

// Grant is what those may do for whom a claim has a value.
type Grant struct {
	// Claim is the claim's name, and Value what it has to be, to have as an item of a list, or
	// to have as a word of a text. "*" is any value.
	Claim, Value string
	// Scopes and Namespaces are what is granted.
	Scopes     []core.Scope
	Namespaces []string
}

// ParseGrant reads a grant such as "groups=staff memory:read run in team/** shared". The
// error is sdk.Invalid, reason "grant_invalid", with all that is wrong.
func ParseGrant(text string) (Grant, error) {
	var g Grant
	words := strings.Fields(text)
	at := slices.Index(words, "in")
	invalid := func(format string, args ...any) error {
		return sdk.Errorf(sdk.Invalid, "grant_invalid", format, args...).
			WithHint("write it like groups=staff memory:read run in team/**")
	}
	if at < 2 || at == len(words)-1 {
		return g, invalid("a grant isn't a claim, scopes, in and namespaces")
	}
	ok := false
	if g.Claim, g.Value, ok = strings.Cut(words[0], "="); !ok || g.Claim == "" || g.Value == "" {
		return g, invalid("a grant begins with %q, not a claim and its value", core.Cut(words[0]))
	}
	for _, word := range words[1:at] {
		g.Scopes = append(g.Scopes, core.Scope(word))
	}
	g.Namespaces = words[at+1:]
	q := Request{Subject: "x", Scopes: g.Scopes, Namespaces: g.Namespaces}
	if err := q.normalize(); err != nil {
		return g, invalid("%w", err)
	}
	g.Scopes, g.Namespaces = q.Scopes, q.Namespaces
	return g, nil
}

// fits reports whether somebody's claims are those that the grant is for.
func (g *Grant) fits(claims map[string]any) bool {
	var values []string
	switch v := claims[g.Claim].(type) {
	case string:
		if values = strings.Fields(v); len(values) > 1 {
			values = append(values, v)
		}
	case []any:
		for _, item := range v {
			if text, ok := item.(string); ok {
				values = append(values, text)
			}
		}
	}
	return g.Value == "*" && len(values) > 0 || slices.Contains(values, g.Value)
}

// Mapping makes callers of claims.
type Mapping struct {
	// Subject is the claim that names somebody; "" is [DefaultSubjectClaim].
	Subject string
	// Grants are tried in their order.
	Grants []Grant
}

// Caller is who asks with claims that an issuer has signed. Whom no grant fits has no scopes.
// Claims that name nobody have the answer of [IsUnauthenticated].
func (m *Mapping) Caller(claims map[string]any) (core.Caller, error) {
	claim := m.Subject
	if claim == "" {
		claim = DefaultSubjectClaim
	}
	name, _ := claims[claim].(string)
	caller := core.Caller{Subject: SubjectPrefix + name, Label: SubjectPrefix + name}
	if name == "" || strings.TrimSpace(name) != name || caller.Validate() != nil {
		return nobody()
	}
	for i := range m.Grants {
		if g := &m.Grants[i]; g.fits(claims) {
			caller.Scopes, caller.Namespaces = slices.Clone(g.Scopes), slices.Clone(g.Namespaces)
			break
		}
	}
	return caller, nil
}
