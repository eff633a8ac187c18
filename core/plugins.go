package core

import (
	"context"
	"encoding/json"
	"time"

	"github.com/reflectory/reflectory/sdk"
)

// Plugins calls installed plugins, wherever and however they run.
type Plugins interface {
	// Describe returns a plugin's manifest. An unknown one is sdk.NotFound,
	// reason "plugin_not_found", with a hint that says how to add it.
	Describe(ctx context.Context, plugin string) (*sdk.Manifest, error)
	// Prepare checks a target's config for a kind, by the plugin itself, so that
	// a bad one is refused before anything runs.
	Prepare(ctx context.Context, kind sdk.Kind, target Target) error
	// Evaluate, Generate and Correct make one round trip for all requests. The
	// results are in their order. The error means that the whole call failed:
	// the plugin is missing, its config is wrong, it crashed or was stopped.
	Evaluate(ctx context.Context, target Target, reqs []*sdk.EvaluateRequest) ([]sdk.EvaluateResult, error)
	Generate(ctx context.Context, target Target, reqs []*sdk.GenerateRequest) ([]sdk.GenerateResult, error)
	Correct(ctx context.Context, target Target, reqs []*sdk.CorrectRequest) ([]sdk.CorrectResult, error)
}

// Target is a plugin with a config, and how long a call of it may take.
type Target struct {
	// Plugin is the installed plugin's name.
	Plugin string
	// Config is a JSON object; nil means {}.
	Config json.RawMessage
	// Digest names Config; "" means that the callee computes it. See
	// [ConfigDigest].
	Digest string
	// Timeout is the deadline of each call. 0 means the plugin's own limit
	// (default 30 s, spec 2.2).
	Timeout time.Duration
}

// Value is a value of a workflow that may hold templates.
type Value interface {
	// Render returns the value as JSON for a scope. A value without templates
	// returns the same bytes each time; the caller mustn't change them.
	Render(scope Scope) (json.RawMessage, error)
	// Constant reports whether the value is the same in every scope.
	Constant() bool
}

// Scope is what templates see. Each is JSON; nil is null.
type Scope struct {
	State   json.RawMessage
	Output  json.RawMessage
	Context json.RawMessage
}

// Constant is a [Value] without templates.
type Constant json.RawMessage

// Render returns the value itself.
func (c Constant) Render(Scope) (json.RawMessage, error) { return json.RawMessage(c), nil }

// Constant returns true.
func (c Constant) Constant() bool { return true }
