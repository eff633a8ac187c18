package action

import (
	"context"
	"sync"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Prepare has every plugin of an action check its config, so that a wrong one is
// refused before the first attempt. Templates that give texts don't keep the rest of
// a config from being checked; a config with others is checked when it is rendered.
// Problems come back in the order of the action's parts. Those in refused are wrong
// with what was asked for: an unknown plugin, one that may not run, a config that its
// plugin refuses. Those in broken are a plugin's own: it doesn't start, or it went
// away while it was asked.
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

// isBroken reports whether an error of this class is a plugin's failure. One that isn't
// there, may not run, or isn't waited for any more didn't fail. One that runs speaks of
// the config, unless it gave no answer.
func isBroken(started bool, code sdk.Code) bool {
	if !started {
		return code != sdk.NotFound && code != sdk.Denied && code != sdk.Cancelled
	}
	return code == sdk.Unavailable || code == sdk.Timeout || code == sdk.Exhausted
}

// prepare has one plugin check its config, and reports whether it runs at all.
func (a *Actions) prepare(ctx context.Context, u use) (started bool, err error) {
	s, err := newStep(a.Plugins, u.step, nil)
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
		return true, sdk.Errorf(sdk.Invalid, "kind_unsupported", "plugin %s is no %s; it is %v", m.Name, u.kind, m.Kinds)
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

// use is one plugin that an action needs, and for what.
type use struct {
	what string
	kind sdk.Kind
	step Step
}

func usesOf(s Spec) []use {
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
