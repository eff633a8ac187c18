package plugin

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/reflectory/reflectory/sdk"
)

// interrupted is a failure that the call needn't have caused, so another try may succeed. It
// never leaves this package.
type interrupted struct {
	error
	// suspect is whether the call may have ended the instance: it is repeated alone.
	suspect bool
}

// retryable marks a start's error as interrupted, if the error may be temporary.
func retryable(err error) error {
	if sdk.Transient(err) {
		return interrupted{error: err}
	}
	return err
}

func errClosed() error {
	return sdk.Errorf(sdk.Unavailable, "plugins_closed", "the plugins have been stopped: the host is shutting down")
}

// errStartTimeout is the cause of the end of a start that took too long.
var errStartTimeout = errors.New("start timeout")

// WithStartTimeout bounds the start of an instance by the plugin's limit, which
// must be set. Every driver starts its instances under it.
func WithStartTimeout(ctx context.Context, p *Installed) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, p.Limits.StartTimeout, errStartTimeout)
}

// StartEnded is the error of a start whose context ended. Its reason is "start_timeout" if
// the plugin's own limit ended it; the hint is for that case.
func StartEnded(ctx context.Context, p *Installed, hint string) error {
	var e *sdk.Error
	if errors.Is(context.Cause(ctx), errStartTimeout) {
		e = sdk.Errorf(sdk.Timeout, "start_timeout", "plugin %s did not start within %s", p.Name, p.Limits.StartTimeout).WithHint("%s", hint)
	} else {
		e = sdk.Errorf(sdk.CodeOf(ctx.Err()), "", "the start of plugin %s was cancelled", p.Name)
	}
	e.Err = ctx.Err()
	return e
}

// gaveUp is the error for a call whose caller's context ended.
func (p *pool) gaveUp(ctx context.Context, when string) error {
	code, what := sdk.Cancelled, "the caller gave up"
	if ctx.Err() == context.DeadlineExceeded {
		code, what = sdk.Timeout, "the caller's time ran out"
	}
	err := sdk.Errorf(code, "", "plugin %q: %s %s", p.plugin.Name, what, when)
	err.Err = ctx.Err()
	return err
}

func (p *pool) timedOut(limit time.Duration) error {
	return sdk.Errorf(sdk.Timeout, "plugin_timeout", "plugin %q ran past its limit of %s", p.plugin.Name, limit).
		WithHint("give the call more time, such as `timeout: %s`, or less to do", 2*limit).
		WithDetail("plugin", p.plugin.Name).WithDetail("timeout_ms", limit.Milliseconds())
}

func (p *pool) kindUnsupported(c call, m *sdk.Manifest) error {
	kinds := make([]string, len(m.Kinds))
	for i, k := range m.Kinds {
		kinds[i] = string(k)
	}
	slices.Sort(kinds)
	return sdk.Errorf(sdk.Invalid, "kind_unsupported", "plugin %q is no %s: it is %s", p.plugin.Name, c.kind, strings.Join(kinds, " and ")).
		WithHint("name a plugin that is a %s", c.kind).
		WithDetail("plugin", p.plugin.Name).WithDetail("kinds", kinds)
}

// breakerOpen is the error that explains why the plugin isn't started, or isn't called for a
// tenant (if that isn't ""), by the breaker of either. The lock must be held.
func (p *pool) breakerOpen(b *breaker, tenant string) error {
	whom := ""
	if tenant != "" {
		whom = " for " + tenant + ", whose requests ended it,"
	}
	err := sdk.Errorf(sdk.Unavailable, "plugin_breaker_open",
		"plugin %q failed %d times within %s and isn't started again%s before %s; last cause: %w",
		p.plugin.Name, exitsToOpen, exitsWindow, whom, b.reopens.UTC().Format(time.RFC3339), b.cause).
		WithDetail("plugin", p.plugin.Name).WithDetail("retry_at", b.reopens.UTC().Format(time.RFC3339)).
		WithDetail("cause", sdk.ReasonOf(b.cause))
	if cause := sdk.AsError(b.cause); cause != nil && cause.Hint != "" {
		err.Hint, err.Try = cause.Hint, cause.Try
		return err
	}
	return err.WithHint("fix the last cause; the host tries again by itself after %s", openFor)
}

// notFound is the error for a plugin that isn't installed, with a hint on how to add it.
// The lock must be held.
func (s *Supervisor) notFound(name string) error {
	list := "none is installed"
	if len(s.pools) > 0 {
		list = "installed: " + strings.Join(s.names(), ", ")
	}
	err := sdk.Errorf(sdk.NotFound, "plugin_not_found", "there is no plugin %q; %s", name, list).
		WithDetail("plugin", name)
	if slices.Contains(shipped(), name) {
		return err.WithHint("put the folder plugins of the same release next to the program; in the source tree: make build PLUGINS=%q", strings.Join(s.shippedWith(name), " "))
	}
	if near := sdk.DidYouMean(name, s.names(), ""); near != "" {
		return err.WithHint("%s", near)
	}
	return err.WithHint("add it from its folder (a server reads the lock when it is started)").WithAction("plugin add", "path", nil)
}

// shippedBy is the publisher of the plugins that the Makefile builds.
const shippedBy = "reflectory/"

// shipped are the plugins that the Makefile builds.
func shipped() []string {
	return []string{shippedBy + "schema-eval", shippedBy + "checks-eval", shippedBy + "mcp-eval", shippedBy + "llm-eval", shippedBy + "lua-eval", shippedBy + "command-eval"}
}

// shippedWith lists the shipped plugins that are installed, and name, as the
// Makefile names them.
func (s *Supervisor) shippedWith(name string) []string {
	var names []string
	for _, other := range shipped() {
		if other == name || s.pools[other] != nil {
			names = append(names, strings.TrimPrefix(other, shippedBy))
		}
	}
	return names
}
