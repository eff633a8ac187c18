package operation

import (
	"context"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

// A caller is refused in this order. First, for a scope that it lacks, before the request is
// read. Second, for an id of something that it may not know about, as if the thing didn't
// exist. Third, for a namespace that it names but doesn't reach, whether the namespace exists
// or not. Last, by the access policy. So a refusal reveals nothing.

// below is the ending that makes a namespace mean itself and everything below it.
const below = "/**"

// scoped refuses a caller that lacks an operation's scope.
func (c *Call) scoped(o *Operation) error {
	if o.May(c.caller) {
		return nil
	}
	return sdk.Errorf(sdk.Denied, "scope_denied", "%s needs the scope %s, which the caller doesn't have", o.Name, o.Scope).
		WithHint("ask the operator for a token with that scope").
		WithDetail("operation", o.Name).WithDetail("scope", string(o.Scope))
}

// allowed refuses a caller that doesn't reach the namespaces of a request, or that the access
// policy denies the operation there.
func (c *Call) allowed(ctx context.Context, o *Operation, at place) error {
	refuse := func(err error) error {
		if at.absent != nil {
			return at.absent()
		}
		return err
	}
	namespaces := at.namespaces
	if len(namespaces) == 0 {
		namespaces = []string{""} // the host itself
	}
	for _, namespace := range namespaces {
		if namespace != "" && !c.reaches(namespace) {
			return refuse(sdk.Errorf(sdk.Denied, "namespace_denied", "the caller doesn't reach the namespace %s", core.Cut(namespace)).
				WithHint("use one of %s, or leave it out for %s", strings.Join(c.caller.Namespaces, ", "), home(c)).WithDetail("namespace", namespace))
		}
		if err := c.policyAllows(ctx, o, namespace); err != nil {
			return refuse(err)
		}
	}
	return nil
}

// reaches reports whether the caller reaches a namespace, or, with /** at its end, all of
// it.
func (c *Call) reaches(namespace string) bool {
	if namespace == "**" {
		return c.caller.Reaches(core.EveryNamespace)
	}
	base, tree := strings.CutSuffix(namespace, below)
	if !tree {
		return c.caller.Reaches(namespace)
	}
	for _, pattern := range c.caller.Namespaces {
		if pattern == "**" || strings.HasSuffix(pattern, below) && core.NamespaceMatches(base, pattern) {
			return true
		}
	}
	return false
}

// policyAllows asks the access policy, whose decision is recorded.
func (c *Call) policyAllows(ctx context.Context, o *Operation, namespace string) error {
	if c.replacesPolicies(o) {
		return nil
	}
	scopes := make([]string, len(c.caller.Scopes))
	for i, s := range c.caller.Scopes {
		scopes[i] = string(s)
	}
	needs := o.Scope
	if has := slices.IndexFunc(o.Or, c.caller.Has); has >= 0 && !c.caller.Has(o.Scope) {
		needs = o.Or[has]
	}
	answer := c.Host.Policies.Access(ctx, &policypoint.AccessInput{
		Subject: c.caller.Subject, Local: c.caller.Subject == core.OperatorSubject, Operation: o.Name, Scope: string(needs),
		Namespace: strings.TrimSuffix(namespace, below), Scopes: scopes, Namespaces: c.caller.Namespaces,
	})
	if answer.Allow {
		return nil
	}
	if err := ctx.Err(); err != nil { // the policy had no time to decide
		return sdk.Wrap(o.Name, err)
	}
	return c.Host.Policies.Refusal(&answer, "access_denied", o.Name+" may not be done in "+orHost(namespace))
}

// replacesPolicies reports whether the host's operator, on this machine, pushes policies while
// the policies that were pushed last can't be used. This is allowed without a decision, since
// nothing else could fix that. The event of the push records this.
func (c *Call) replacesPolicies(o *Operation) bool {
	if o.Name != host.PushOperation || !c.Local || c.caller.Subject != core.OperatorSubject {
		return false
	}
	_, unusable := c.Host.Policies.Active()
	return unusable != nil
}

func orHost(namespace string) string {
	if namespace == "" {
		return "this host"
	}
	return "namespace " + core.Cut(namespace)
}
