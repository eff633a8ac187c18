package host

import (
	"context"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

// admit asks the admission policy before a scope's calls reach a plugin's instances.
func (p *Policies) admit(set *install.Set, ready func(context.Context) error) func(context.Context, plugin.Installed) error {
	return func(ctx context.Context, installed plugin.Installed) error {
		if p.shared != nil { // the store has the policy
			if err := ready(ctx); err != nil {
				return err
			}
		}
		answer := p.Admission(ctx, admissionInput(set, installed, plugin.ScopeOf(ctx).Namespace))
		if answer.Allow {
			return nil
		}
		return p.Refusal(&answer, "plugin_denied", "plugin "+installed.Name+" may not run in namespace "+answer.Decision.Namespace).
			WithDetail("plugin", installed.Name)
	}
}

// Admits reports whether the admission policy lets an installed plugin run in a namespace,
// with what the operator grants to the plugin.
func (p *Plugins) Admits(ctx context.Context, set *install.Set, of *install.Plugin, namespace string) bool {
	granted := Granted(p.config.Settings, []plugin.Installed{of.Installed()}, p.config.Getenv)[0]
	return p.policies.Admission(ctx, admissionInput(set, granted, namespace)).Allow
}

// admissionInput is what the policy sees of a plugin: the pinned plugin, with everything
// that the lock and the operator grant to it.
func admissionInput(set *install.Set, p plugin.Installed, namespace string) *policypoint.AdmissionInput {
	in := &policypoint.AdmissionInput{
		Namespace: namespace, Plugin: install.BareName(p.Name), Version: p.Version, Runtime: string(p.Runtime), Capabilities: p.Granted.List(),
	}
	for _, pair := range p.Env {
		name, _, _ := strings.Cut(pair, "=")
		in.Capabilities = append(in.Capabilities, "env:"+name)
	}
	slices.Sort(in.Capabilities)
	in.Capabilities = slices.Compact(in.Capabilities)
	if found := set.Find(p.Name); found != nil {
		in.Digest, in.Locked, in.Shipped = found.Digest(), !found.Dev(), found.Place.Label == ShippedLabel
		if found.Package != nil {
			for _, kind := range found.Package.Kinds {
				in.Kinds = append(in.Kinds, string(kind))
			}
		}
	}
	return in
}

var reasonForm = core.Pattern(`^[a-z][a-z0-9_]{0,63}$`)

// Refusal is a policy's refusal as an error. It has the policy's own code if that is valid,
// otherwise the given code, and its message names what is refused and why. If no policy was asked,
// because the store that has them can't be read, it is the store's error, which is no refusal.
func (p *Policies) Refusal(answer *policypoint.Permission, code, what string) *sdk.Error {
	d := &answer.Decision
	if d.Unread != nil {
		return sdk.AsError(d.Unread)
	}
	why := answer.Reason
	if reasonForm().MatchString(answer.Code) {
		code = answer.Code
	}
	if d.Failure != nil {
		why = d.Failure.Message
	}
	if why == "" {
		why = "the policy gives no reason"
	}
	return sdk.Errorf(sdk.Denied, code, "%s: %s", what, why).
		WithHint("%s", p.policyHint(d)).
		WithAction("policy explain", "point", string(d.Point), "namespace", d.Namespace).
		WithDetail("namespace", d.Namespace).WithDetail("file", d.File).WithDetail("rule", d.Rule).WithDetail("condition", d.Condition)
}
