package host

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/core/policyset"
	"github.com/reflectory/reflectory/policy"
	"github.com/reflectory/reflectory/sdk"
)

// Pushed is the result of a push.
type Pushed struct {
	// Epoch counts the sets that were pushed, from 1.
	Epoch uint64 `json:"epoch"`
	// Digest is the digest of the set now in force, and Previous the digest of the previous set; "" if
	// the defaults decided before.
	Digest   string `json:"digest"`
	Previous string `json:"previous,omitempty"`
	// Files is how many policies it has, and PromptFiles how many prompt policies and role mixes.
	Files       int `json:"files"`
	PromptFiles int `json:"prompt_files,omitempty"`
	// Unchanged is whether the set was already in force, so that nothing was pushed.
	Unchanged bool `json:"unchanged,omitempty"`
}

// Push checks the files of a set of policies, by names such as gate/strict.yaml, and puts it in force for all
// hosts of the store. Every transaction that commits after the push decides with this set. A set
// under which the caller couldn't push another set is refused, since it couldn't be corrected.
// Without a shared store the error is sdk.Incompatible, reason "policies_not_shared".
func (p *Policies) Push(ctx context.Context, files map[string]string) (*Pushed, error) {
	set, err := p.Points.LoadFiles(files)
	if err != nil {
		return nil, err
	}
	if p.shared == nil {
		return nil, sdk.Errorf(sdk.Incompatible, "policies_not_shared", "this host's policies are the files of its folder").
			WithHint("change the files of the policy folder, whose changes are followed; sets are pushed where hosts share a database (--store)")
	}
	if err := p.checkPush(ctx, set); err != nil {
		return nil, err
	}
	var now, before policyset.Active
	err = p.journal.Update(ctx, func(tx *journal.Tx) (err error) {
		next := policyset.Set{Digest: set.Digest(), Files: files, Policies: len(set.Files())}
		if _, _, err = p.shared.read(tx); isUnusable(err) {
			next.Unusable, err = sdk.ReasonOf(err), nil
		}
		if err == nil {
			now, before, err = policyset.Put(tx, next)
		}
		return err
	})
	if err == nil {
		err = p.shared.refresh(ctx)
	}
	if err != nil {
		return nil, sdk.Wrap("push policies", err)
	}
	return &Pushed{
		Epoch: now.Epoch, Digest: now.Digest, Previous: before.Digest, Files: len(set.Files()), PromptFiles: len(PromptTexts(set)), Unchanged: now == before,
	}, nil
}

// checkPush refuses a set under which the caller couldn't push another set.
func (p *Policies) checkPush(ctx context.Context, set *policy.Set) error {
	caller := core.CallerOf(ctx)
	in := &policypoint.AccessInput{
		Subject: caller.Subject, Local: caller.Subject == core.OperatorSubject, Operation: PushOperation, Scope: string(core.ScopePolicy),
		Namespace: "**", Namespaces: caller.Namespaces,
	}
	for _, s := range caller.Scopes {
		in.Scopes = append(in.Scopes, string(s))
	}
	answer := policy.New(p.Points, policy.Options{Set: set, Clock: p.config.Clock}).Access(ctx, in)
	if answer.Allow {
		return nil
	}
	return sdk.Errorf(sdk.Invalid, "policy_locks_out", "with these policies, you couldn't push others: %s says no", answer.Decision.File).
		WithHint("let it allow %s for the caller who pushes", PushOperation).
		WithDetail("file", answer.Decision.File).WithDetail("rule", answer.Decision.Rule)
}

// PushOperation is the name of the operation that pushes policies.
const PushOperation = "policy_push"

// Active returns the newest set of policies that this host has seen in a store that hosts share,
// and the reason if the set can't be used. It returns the zero value if none was pushed, or if the
// policies are in a folder.
func (p *Policies) Active() (policyset.Active, error) {
	if p.shared == nil {
		return policyset.Active{}, nil
	}
	return p.shared.active()
}

// inForce returns the set that is in force at this moment. For a store that hosts share, it reads
// which one that is, and later decisions are made with that set or a newer one.
func (p *Policies) inForce(ctx context.Context) (*policy.Set, error) {
	if p.shared != nil {
		if err := p.shared.refresh(ctx); err != nil {
			return nil, err
		}
	}
	return p.Set(), nil
}

// ready makes sure that the policies of a shared store can be used.
func (p *Policies) ready(ctx context.Context) error {
	if p.shared == nil {
		return nil
	}
	return p.shared.ready(ctx)
}
