package process

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/wire"
)

// Prepare has the plugin check and keep a config.
func (i *instance) Prepare(ctx context.Context, kind sdk.Kind, c plugin.Config) error {
	ctx, cancel := i.deadline(ctx)
	defer cancel()
	i.runs.enter("")
	return i.explain(ctx, i.client.Prepare(ctx, kind, i.config(ctx, c)))
}

// Evaluate judges a batch.
func (i *instance) Evaluate(ctx context.Context, c plugin.Config, reqs []*sdk.EvaluateRequest) ([]sdk.EvaluateResult, error) {
	ctx, cancel := i.deadline(ctx)
	defer cancel()
	enterAll(&i.runs, reqs, func(r *sdk.EvaluateRequest) sdk.Call { return r.Call })
	results, err := i.client.Evaluate(ctx, i.config(ctx, c), reqs)
	return results, i.explain(ctx, err)
}

// Generate makes a batch of outputs.
func (i *instance) Generate(ctx context.Context, c plugin.Config, reqs []*sdk.GenerateRequest) ([]sdk.GenerateResult, error) {
	ctx, cancel := i.deadline(ctx)
	defer cancel()
	enterAll(&i.runs, reqs, func(r *sdk.GenerateRequest) sdk.Call { return r.Call })
	results, err := i.client.Generate(ctx, i.config(ctx, c), reqs)
	return results, i.explain(ctx, err)
}

// Correct repairs a batch of outputs.
func (i *instance) Correct(ctx context.Context, c plugin.Config, reqs []*sdk.CorrectRequest) ([]sdk.CorrectResult, error) {
	ctx, cancel := i.deadline(ctx)
	defer cancel()
	enterAll(&i.runs, reqs, func(r *sdk.CorrectRequest) sdk.Call { return r.Call })
	results, err := i.client.Correct(ctx, i.config(ctx, c), reqs)
	return results, i.explain(ctx, err)
}

// config returns the name under which the plugin knows a config. A plugin that may ask
// the host could keep, with a prepared config, the answers that it got meanwhile; so it
// prepares the config separately for each kind of scope, under another name. The salt
// keeps the plugin from recognizing a scope by its digest.
func (i *instance) config(ctx context.Context, c plugin.Config) wire.Config {
	if len(i.installed.Granted.Host) == 0 || c.Digest == "" {
		return wire.Config(c)
	}
	scope := plugin.ScopeOf(ctx).Digest()
	sum := sha256.Sum256(slices.Concat(i.salt[:], scope[:], []byte(c.Digest)))
	return wire.Config{JSON: c.JSON, Digest: hex.EncodeToString(sum[:])}
}

// deadline gives a call without a deadline the plugin's own.
func (i *instance) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, i.installed.Limits.Timeout)
}

// explain replaces the error of a lost connection by its cause: the end of the instance,
// which follows soon.
func (i *instance) explain(ctx context.Context, err error) error {
	if err == nil || !errors.Is(err, wire.ErrLost) {
		return err
	}
	select {
	case <-i.done:
	case <-ctx.Done():
		return err
	}
	cause := i.Cause()
	if sdk.ReasonOf(cause) == "plugin_exited" {
		return cause
	}
	e := sdk.Errorf(sdk.Unavailable, "plugin_exited", "plugin %s was ended", i.installed.Name)
	if cause != nil {
		e = sdk.Errorf(sdk.Unavailable, "plugin_exited", "plugin %s was ended: %w", i.installed.Name, cause)
		e.Hint, e.Try = sdk.AsError(cause).Hint, sdk.AsError(cause).Try
	}
	return i.withTail(e)
}

// serve answers the plugin's requests to the host.
func (i *instance) serve(ctx context.Context, c wire.HostCall) (json.RawMessage, error) {
	return plugin.Ask(ctx, i.options.Services, &i.installed, plugin.ServiceRequest{
		Service: c.Service, RunID: c.RunID, Body: c.Body, Redactor: i.redactor,
	})
}
