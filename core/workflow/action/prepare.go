package action

import (
	"context"
	"sync"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Prepare has every plugin of an action check its config, so that a wrong config is
// refused before the first attempt. Templates that produce text don't prevent the check
// of the rest of a config; a config with other templates is checked when it is rendered.
// Problems are in the order of the action's parts. refused holds mistakes in the request:
// an unknown plugin, one that may not run, a config that its plugin rejects. broken holds
// failures of plugins: one doesn't start, or ended during the check.
func (a *Actions) Prepare(ctx context.Context, s Spec) (refused, broken []error) {
	var wg sync.WaitGroup
	uses := usesOf(s)
	errs := make([]error, len(uses))
	started := make([]bool, len(uses))
	for i, u := range uses {
		wg.Go(func() { started[i], errs[i] = a.prepare(ctx, u) })
	}
	wg.Wait()
	for i, err := range errs {
		switch {
		case err == nil:
		case isBroken(started[i], sdk.CodeOf(err)):
			broken = append(broken, sdk.Wrap(uses[i].what, err))
		default:
			refused = append(refused, sdk.Wrap(uses[i].what, err))
		}
	}
	return refused, broken
}

// isBroken reports whether an error of this class is a plugin's failure. A plugin that
// isn't installed, may not run, or is no longer waited for didn't fail. An error from a
// plugin that started is about the config, unless the plugin gave no answer.
func isBroken(started bool, code sdk.Code) bool {
	if !started {
		return code != sdk.NotFound && code != sdk.Denied && code != sdk.Cancelled
	}
	return code == sdk.Unavailable || code == sdk.Timeout || code == sdk.Exhausted
}

// prepare has one plugin check its config, and reports whether the plugin started at all.
func (a *Actions) prepare(ctx context.Context, u use) (started bool, err error) {
	s, err := newStep(a.Plugins, u.step, listener{})
	if err != nil {
		return true, err
	}
	m, err := a.Plugins.Describe(ctx, u.step.Plugin)
	if err != nil {
		return false, err
	}
	if s.config == nil {
		return true, a.Plugins.Prepare(ctx, u.kind, s.target)
	}
	if !m.Has(u.kind) {
		return true, sdk.Errorf(sdk.Invalid, "kind_unsupported", "plugin %s doesn't have the kind %s, only %v", m.Name, u.kind, m.Kinds)
	}
	if sampler, ok := s.config.(Sampler); ok {
		if sample := sampler.Sample(); sample != nil {
			target := s.target
			target.Config, target.Digest = sample, core.Digest(sample)
			return true, a.Plugins.Prepare(ctx, u.kind, target)
		}
	}
	return true, nil
}

// use is one plugin that an action needs, and its role.
type use struct {
	what string
	kind sdk.Kind
	step Step
}

func usesOf(s Spec) (uses []use) {
	for _, u := range stepsOf(s) {
		uses = append(uses, u)
		if u.step.Tools == nil {
			continue
		}
		for _, t := range u.step.Tools.Tools {
			if t.Define != nil { // which also checks the tool's name
				t.Step.Config = Constant(t.Define)
			}
			if t.Step.Plugin == "" {
				continue
			}
			uses = append(uses, use{u.what + ": tool " + t.Name, sdk.KindGenerator, t.Step})
		}
	}
	return uses
}

// stepsOf are the steps of an action, without their tools.
func stepsOf(s Spec) []use {
	switch s := s.(type) {
	case *LoopSpec:
		uses := append([]use{{"generator", sdk.KindGenerator, s.Generator}}, evaluators("evaluator", s.Evaluator)...)
		if s.Corrector != nil {
			uses = append(uses, use{"corrector", sdk.KindCorrector, *s.Corrector})
		}
		return uses
	case *EvaluateSpec:
		return evaluators("evaluator", s.Evaluator)
	case *CorrectSpec:
		return []use{{"corrector", sdk.KindCorrector, s.Corrector}}
	case *CallSpec:
		return []use{{"action", sdk.KindGenerator, s.Step}}
	}
	return nil
}

func evaluators(what string, s Step) []use {
	if s.Composite == nil {
		return []use{{what, sdk.KindEvaluator, s}}
	}
	var uses []use
	for _, child := range s.Composite.Children {
		uses = append(uses, evaluators(what+" "+child.Name, child)...)
	}
	return uses
}
