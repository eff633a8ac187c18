package access

import (
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// An OpenID Connect issuer identifies a person, but doesn't decide what the person may do
// here. Grants in the operator's settings decide that, by the claims in the person's token.
// Grants aren't added up: only the first matching grant counts, since nobody has granted
// the scopes of one in the namespaces of another.

// SubjectPrefix begins the subject of everybody whom an issuer identifies, so that nobody
// is mistaken for a token's subject or for the operator.
const SubjectPrefix = "oidc:"

// DefaultSubjectClaim is the claim that identifies a person: only this claim never changes,
// and is never given to another person.
const DefaultSubjectClaim = "sub"

// Grant is what everybody with a certain value of a claim may do.
type Grant struct {
	// Claim is the claim's name, and Value what it has to be or to have as an item of a list. A
	// text is one value, such as a display name, but for the claims scope and scp, whose words
	// are a list. "*" is any value.
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
	if err := q.Check(); err != nil {
		return g, invalid("%w", err)
	}
	g.Scopes, g.Namespaces = q.Scopes, q.Namespaces
	return g, nil
}

// fits reports whether a person's claims match the grant.
func (g *Grant) fits(claims map[string]any) bool {
	var values []string
	switch v := claims[g.Claim].(type) {
	case string:
		if values = []string{v}; g.Claim == "scope" || g.Claim == "scp" { // lists, by OAuth
			values = strings.Fields(v)
		}
		if strings.TrimSpace(v) == "" {
			values = nil
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

// Mapping makes callers from claims.
type Mapping struct {
	// Subject is the claim that identifies a person; "" is [DefaultSubjectClaim].
	Subject string
	// Grants are tried in their order.
	Grants []Grant
}

// Caller returns the caller with claims that an issuer has signed. If no grant matches, the
// caller has no scopes. Claims without a subject give an error of [IsUnauthenticated].
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
