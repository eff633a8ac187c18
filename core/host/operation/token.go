package operation

import (
	"context"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/sdk"
)

// The place of a token is all the namespaces that it is for. A caller that makes a token
// has to reach them, and the access policy is asked for each. So a caller can't give
// rights that it doesn't have, and for that caller, tokens for other namespaces don't
// exist.

// tokens are the operations on tokens.
func tokens() []Operation {
	return []Operation{
		define(Operation{
			Name: "token_new", main: true, Method: "POST", Path: "/v1/tokens", Scope: core.ScopeOperate, Secret: true,
			Doc: "Make a token for scopes and namespaces that the caller has. It is shown only this once.",
		}, ofNewToken, tokenNew),
		define(Operation{
			Name: "token_operator", main: true, Method: "POST", Path: "/v1/tokens/operator", Scope: core.ScopeOperate, Destructive: true, Secret: true,
			Doc: "Replace the local operator's token, and end the operator's logins. The new token is shown only this once.",
		}, inAll[TokenOperator], tokenOperator),
		define(Operation{
			Name: "token_list", main: true, Method: "GET", Path: "/v1/tokens", Scope: core.ScopeOperate, ReadOnly: true, Idempotent: true,
			Doc: "List the tokens for namespaces that the caller reaches, in the order in which they were made.",
		}, onHost[TokenList], tokenList),
		define(Operation{
			Name: "token_revoke", main: true, Method: "POST", Path: "/v1/tokens/{id}/revoke", Scope: core.ScopeOperate, Destructive: true, Idempotent: true,
			Doc: "Revoke a token, and end the logins made with it. Further requests with it are refused.",
		}, ofToken, tokenRevoke),
	}
}

// Token is what is known about a token.
type Token struct {
	access.Token
	State access.State `json:"state"`
}

func (c *Call) token(t *access.Token) Token { return Token{*t, c.Host.Access.State(t)} }

// TokenNew asks for a token: see [access.Request].
type TokenNew struct {
	// Subject is the name of the user or program that will use the token.
	Subject string `json:"subject"`
	// Scopes and Namespaces are what the token allows, within what the caller may do.
	Scopes     []core.Scope `json:"scopes"`
	Namespaces []string     `json:"namespaces"`
	// DefaultNamespace is the namespace of requests with the token that name none; "" is the root of
	// the first pattern.
	DefaultNamespace string `json:"default_namespace,omitempty"`
	// The models that it may ask with the scope model, and for how much.
	core.ModelGrant
	// Label describes for people what the token is used for.
	Label string `json:"label,omitempty"`
	// ExpiresIn is how many seconds it is valid; 0 means 90 days.
	ExpiresIn int64 `json:"expires_in,omitempty"`
}

// NewToken is a token with its secret.
type NewToken struct {
	Token
	Secret access.Secret `json:"token"`
}

// ofNewToken refuses scopes that the caller doesn't have; the namespaces are checked as
// the token's place. Invalid scopes and patterns are refused when the token is made.
func ofNewToken(_ context.Context, c *Call, in *TokenNew) (place, error) {
	for _, s := range core.Scopes() {
		if slices.Contains(in.Scopes, s) && !c.caller.Has(s) {
			return place{}, sdk.Errorf(sdk.Denied, "scope_denied", "the token can't have the scope %s, which the caller doesn't have", s).
				WithHint("leave it out, or ask the operator").WithDetail("operation", "token_new").WithDetail("scope", string(s))
		}
	}
	return place{namespaces: in.Namespaces[:min(len(in.Namespaces), core.MaxCallerNamespaces)]}, nil
}

func (in *TokenNew) request() access.Request {
	lifetime := time.Duration(in.ExpiresIn) * time.Second
	if most := int64(access.MaxLifetime / time.Second); in.ExpiresIn > most || in.ExpiresIn < 0 {
		lifetime = access.MaxLifetime + time.Second // too long, so it is refused, but it doesn't overflow
	}
	return access.Request{Subject: in.Subject, Scopes: in.Scopes, Namespaces: in.Namespaces, DefaultNamespace: in.DefaultNamespace, ModelGrant: in.ModelGrant, Label: in.Label, Lifetime: lifetime}
}

func (in *TokenNew) check() error {
	asked := in.request()
	return asked.Check()
}

func tokenNew(ctx context.Context, c *Call, in *TokenNew) (*NewToken, error) {
	issued, err := c.Host.Access.Issue(ctx, in.request())
	if err != nil {
		return nil, err
	}
	return &NewToken{c.token(&issued.Token), issued.Secret}, nil
}

// TokenOperator asks for a new operator's token.
type TokenOperator struct{}

// OperatorToken is the operator's token, which is in the file in the data folder.
type OperatorToken struct {
	Secret access.Secret `json:"token"`
}

func tokenOperator(ctx context.Context, c *Call, _ *TokenOperator) (*OperatorToken, error) {
	if c.caller.Subject != core.OperatorSubject {
		return nil, sdk.Errorf(sdk.Denied, "operator_only", "only the local operator can replace the operator's token").
			WithHint("ask the operator")
	}
	if err := c.Host.Config.Settings.MakeDataDir(); err != nil {
		return nil, err
	}
	secret, err := c.Host.Access.ReplaceOperatorToken(ctx)
	if err != nil {
		return nil, err
	}
	return &OperatorToken{secret}, nil
}

// TokenList asks for the tokens.
type TokenList struct {
	// Since leaves out tokens that were issued before; the zero time selects all.
	Since time.Time `json:"since,omitzero"`
	Paging
}

func tokenList(ctx context.Context, c *Call, in *TokenList) (*Page[Token], error) {
	filter := *in
	filter.Paging = Paging{}
	after, limit, err := in.open(ctx, c, filter)
	if err != nil {
		return nil, err
	}
	list, err := c.Host.Access.List(ctx, access.ListFilter{Reaches: c.reaches, Since: in.Since, After: after, Limit: limit + 1}) // one more shows whether there is a next page
	if err != nil {
		return nil, err
	}
	next := ""
	if len(list) > limit {
		list = list[:limit]
		next = list[limit-1].ID
	}
	items := make([]Token, len(list))
	for i := range list {
		items[i] = c.token(&list[i])
	}
	return pageOf(ctx, c, items, next, filter)
}

// TokenRevoke names a token.
type TokenRevoke struct {
	ID string `json:"id"`
}

// ofToken is the place of a token, named by its id or, for a caller that reaches every
// namespace, the start of its id.
func ofToken(ctx context.Context, c *Call, in *TokenRevoke) (place, error) {
	absent := absence(access.NotFound, in.ID)
	find := c.Host.Access.Get
	if c.reaches("**") {
		find = c.Host.Access.Find
	}
	found, err := find(ctx, in.ID)
	if err != nil {
		return place{}, err
	}
	in.ID = found.ID
	return place{namespaces: found.Namespaces, absent: absent}, nil
}

func tokenRevoke(ctx context.Context, c *Call, in *TokenRevoke) (*Token, error) {
	revoked, err := c.Host.Access.Revoke(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	t := c.token(revoked)
	return &t, nil
}
