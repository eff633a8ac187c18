package core

import (
	"context"
	"encoding/json"
	"time"

	"github.com/reflectory/reflectory/sdk"
)

// Plugins calls installed plugins, wherever and however they run.
type Plugins interface {
	// Describe returns a plugin's manifest. If it isn't installed, the error is
	// sdk.NotFound, reason "plugin_not_found", with a hint on how to add it.
	Describe(ctx context.Context, plugin string) (*sdk.Manifest, error)
	// Prepare has the plugin itself check a target's config for a kind, so that a wrong
	// config is refused before anything runs.
	Prepare(ctx context.Context, kind sdk.Kind, target Target) error
	// Evaluate, Generate and Correct make one round trip for all requests. The results
	// are in the order of the requests. An error means that the whole call failed: the
	// plugin is missing, its config is wrong, it crashed or was stopped.
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
	// Digest is the digest of Config, see [Digest], so that a plugin gets each config
	// only once; "" means that the callee computes it.
	Digest string
	// Timeout is the deadline of each call. 0 means the plugin's own limit
	// (default 30 s).
	Timeout time.Duration
}

// WithDigest returns the target with its digest set, and with {} in place of an absent
// config.
func (t Target) WithDigest() Target {
	if len(t.Config) == 0 {
		t.Config, t.Digest = json.RawMessage("{}"), ""
	}
	if t.Digest == "" {
		t.Digest = Digest(t.Config)
	}
	return t
}

// PluginEvaluator makes an evaluator of single outputs from a plugin with a config.
func PluginEvaluator(p Plugins, t Target) sdk.Evaluator { return single{p, t.WithDigest()} }

// PluginGenerator makes a generator from a plugin with a config.
func PluginGenerator(p Plugins, t Target) sdk.Generator { return single{p, t.WithDigest()} }

// PluginCorrector makes a corrector from a plugin with a config.
func PluginCorrector(p Plugins, t Target) sdk.Corrector { return single{p, t.WithDigest()} }

// single makes batches of one.
type single struct {
	plugins Plugins
	target  Target
}

func (s single) Evaluate(ctx context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
	results, err := s.plugins.Evaluate(ctx, s.target, []*sdk.EvaluateRequest{req})
	return only(s.target, results, err)
}

func (s single) Generate(ctx context.Context, req *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
	results, err := s.plugins.Generate(ctx, s.target, []*sdk.GenerateRequest{req})
	return only(s.target, results, err)
}

func (s single) Correct(ctx context.Context, req *sdk.CorrectRequest) (*sdk.CorrectResponse, error) {
	results, err := s.plugins.Correct(ctx, s.target, []*sdk.CorrectRequest{req})
	return only(s.target, results, err)
}

// only is the result of a batch of one.
func only[R any](t Target, results []sdk.Result[R], err error) (*R, error) {
	switch {
	case err != nil:
		return nil, withPromptApart(err)
	case len(results) != 1:
		return nil, sdk.Errorf(sdk.Invalid, "response_invalid", "plugin %q gave %d results for 1 request", t.Plugin, len(results))
	case results[0].Err == nil && results[0].Response == nil:
		return nil, sdk.Errorf(sdk.Invalid, "response_invalid", "plugin %q gave a result without a response or an error", t.Plugin)
	}
	return results[0].Response, withPromptApart(results[0].Err)
}

// Reply is a language model's reply to a call, as it is cached for identical calls:
// without its usage, since reusing it costs nothing.
type Reply struct {
	Output   json.RawMessage   `json:"output,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// ReasonNoVerdict is the reason of an error of a judge of two texts that answered, but with
// nothing that is a verdict.
const ReasonNoVerdict = "no_verdict"

// Replies caches replies of language models by a digest of everything that they depend
// on. Any reply may disappear at any time. It is safe for concurrent use.
type Replies interface {
	// Reply returns the reply with a digest; nil if there is none. memories are the
	// memories that the call may have been given: if one of them is purged, so is the
	// reply.
	Reply(ctx context.Context, digest string, memories []string) (*Reply, error)
	// KeepReply caches a reply. If one of its memories was purged meanwhile, or it is too
	// large, it isn't cached.
	KeepReply(ctx context.Context, digest string, r *Reply, memories []string) error
}

// Steps keeps what a run did before the step that it is part of ended, such as the calls of tools that
// a model asked for, until the run ends and can't be resumed. It is safe for concurrent use.
type Steps interface {
	// Step returns what was kept under a key; nil if nothing was. A reply without an output is of
	// something that was begun, or whose output a purge removed.
	Step(ctx context.Context, runID, key string) (*Reply, error)
	// KeepStep keeps a reply; nil removes it. If one of its memories was purged, its output isn't
	// kept, and it is removed when one is purged later. When the error is nil, it survives a crash.
	KeepStep(ctx context.Context, runID, key string, r *Reply, memories []string) error
	// StepMemories are the memories of all that is kept of a run, sorted.
	StepMemories(ctx context.Context, runID string) ([]string, error)
}
