package cli

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/sdk"
)

// admit asks the admission policy whether a call's scope may run a plugin.
func (l *livePolicies) admit(set *install.Set) func(context.Context, plugin.Installed) error {
	return func(ctx context.Context, p plugin.Installed) error {
		answer := l.Admission(ctx, admissionInput(set, p, plugin.ScopeOf(ctx).Namespace))
		if answer.Allow {
			return nil
		}
		return l.denied(p, &answer)
	}
}

// admissionInput is what the policy sees of a plugin: as it is pinned, with what
// it gets beyond computing, also from the operator.
func admissionInput(set *install.Set, p plugin.Installed, namespace string) *core.AdmissionInput {
	in := &core.AdmissionInput{
		Namespace: namespace, Plugin: p.Name, Version: p.Version, Runtime: string(p.Runtime), Capabilities: p.Granted.List(),
	}
	for _, pair := range p.Env {
		name, _, _ := strings.Cut(pair, "=")
		in.Capabilities = append(in.Capabilities, "env:"+name)
	}
	slices.Sort(in.Capabilities)
	in.Capabilities = slices.Compact(in.Capabilities)
	if found := set.Find(p.Name); found != nil {
		in.Digest, in.Locked, in.Shipped = found.Digest(), !found.Dev(), found.Place.Label == shippedLabel
		if found.Package != nil {
			for _, kind := range found.Package.Kinds {
				in.Kinds = append(in.Kinds, string(kind))
			}
		}
	}
	return in
}

var reasonForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// denied is a refusal under the policy's own code, if that can be one.
func (l *livePolicies) denied(p plugin.Installed, answer *core.Permission) error {
	d := &answer.Decision
	code, why := answer.Code, answer.Reason
	if !reasonForm.MatchString(code) {
		code = "plugin_denied"
	}
	if d.Failure != nil {
		why = d.Failure.Message
	}
	if why == "" {
		why = "the policy gives no reason"
	}
	return sdk.Errorf(sdk.Denied, code, "plugin %s may not run in namespace %s: %s", p.Name, d.Namespace, why).
		WithHint("%s", l.policyHint(d)).
		WithDetail("plugin", p.Name).WithDetail("namespace", d.Namespace).
		WithDetail("file", d.File).WithDetail("rule", d.Rule).WithDetail("condition", d.Condition)
}
