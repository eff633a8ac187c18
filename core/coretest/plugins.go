// Package coretest holds fakes of the small interfaces in core, for tests. A
// fake is a struct of functions; one that is called without its function being
// set panics, and so names what the test forgot.
//
// It is internal to Reflectory: its API may change in any release.
package coretest

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Plugins is a [core.Plugins] made of functions.
type Plugins struct {
	DescribeFn func(ctx context.Context, plugin string) (*sdk.Manifest, error)
	// PrepareFn may be nil: then every config is right.
	PrepareFn  func(ctx context.Context, kind sdk.Kind, target core.Target) error
	EvaluateFn func(ctx context.Context, target core.Target, reqs []*sdk.EvaluateRequest) ([]sdk.EvaluateResult, error)
	GenerateFn func(ctx context.Context, target core.Target, reqs []*sdk.GenerateRequest) ([]sdk.GenerateResult, error)
	CorrectFn  func(ctx context.Context, target core.Target, reqs []*sdk.CorrectRequest) ([]sdk.CorrectResult, error)
}

var _ core.Plugins = (*Plugins)(nil)

// Describe calls DescribeFn.
func (p *Plugins) Describe(ctx context.Context, plugin string) (*sdk.Manifest, error) {
	return p.DescribeFn(ctx, plugin)
}

// Prepare calls PrepareFn.
func (p *Plugins) Prepare(ctx context.Context, kind sdk.Kind, target core.Target) error {
	if p.PrepareFn == nil {
		return nil
	}
	return p.PrepareFn(ctx, kind, target)
}

// Evaluate calls EvaluateFn.
func (p *Plugins) Evaluate(ctx context.Context, target core.Target, reqs []*sdk.EvaluateRequest) ([]sdk.EvaluateResult, error) {
	return p.EvaluateFn(ctx, target, reqs)
}

// Generate calls GenerateFn.
func (p *Plugins) Generate(ctx context.Context, target core.Target, reqs []*sdk.GenerateRequest) ([]sdk.GenerateResult, error) {
	return p.GenerateFn(ctx, target, reqs)
}

// Correct calls CorrectFn.
func (p *Plugins) Correct(ctx context.Context, target core.Target, reqs []*sdk.CorrectRequest) ([]sdk.CorrectResult, error) {
	return p.CorrectFn(ctx, target, reqs)
}
