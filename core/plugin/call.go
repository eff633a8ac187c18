package plugin

import (
	"context"
	"errors"
	"time"

	"github.com/reflectory/reflectory/sdk"
)

// How long an instance has to answer after the end of a call's context, before it is
// killed. The plugin knew the deadline from the start, so its grace only covers the time
// that the answer takes to arrive; a cancellation comes without warning.
const (
	deadlineGrace = 50 * time.Millisecond
	cancelGrace   = time.Second
)

// call is one call of a plugin.
type call struct {
	op      string   // such as "evaluate with lua-eval"
	kind    sdk.Kind // what the plugin must be; "" is anything
	timeout time.Duration
	config  string               // the digest of the config; "" without one
	bytes   int                  // of config, state and output
	request func() requestDigest // identifies the request; nil if it can't be at fault
	item    func() error         // after a call that succeeded: the error of its items, if all failed; may be nil
	run     func(ctx context.Context, instance Instance) error
}

// do makes a call, and makes it once more if the instance ended during the call and that
// needn't have been the fault of the call. That is safe, because every call of the contract
// has an idempotency key or changes nothing.
func (p *pool) do(ctx context.Context, c call) error {
	if err := p.suspects.check(p, &c, time.Now()); err != nil {
		return err
	}
	err := p.try(ctx, c, false)
	if cut, ok := errors.AsType[interrupted](err); ok && ctx.Err() == nil {
		err = p.try(ctx, c, cut.suspect)
	}
	if cut, ok := errors.AsType[interrupted](err); ok {
		return cut.error
	}
	return err
}

// try makes a call on one instance, alone or next to other calls.
func (p *pool) try(ctx context.Context, c call, alone bool) (err error) {
	tenant := tenantOf(scopeIn(ctx))
	delay, err := p.admitTenant(tenant, time.Now())
	if err != nil {
		return err
	}
	if delay > 0 {
		if err := p.whileOpen(ctx, func(ctx context.Context) error { return pause(ctx, delay) }); err != nil {
			return err
		}
	}
	if err := p.admit(ctx); err != nil {
		return err
	}
	granted, place, err := p.acquire(ctx, tenant, c.bytes, alone)
	if err != nil {
		return err
	}
	defer place()
	m := granted.member
	answered, began := false, time.Now()
	defer func() { p.release(granted, tenant, answered, began) }()
	if manifest := m.Manifest(); c.kind != "" && !manifest.Has(c.kind) {
		return p.kindUnsupported(c, manifest)
	}

	if before := p.options.Before; before != nil {
		if err := p.whileOpen(ctx, before); err != nil {
			return err
		}
	}
	limited, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	began = time.Now()
	err = p.guard(ctx, limited, m, c)
	now := time.Now()
	took := now.Sub(began)
	if c.kind != "" && (err == nil || ctx.Err() == nil) {
		p.latency.note(now, took, err != nil)
	}
	caller := ScopeOf(ctx).Namespace
	switch {
	case err == nil:
		p.noteStep(m, caller, &c, nil, now)
		answered = c.kind != ""
		return nil
	case ctx.Err() != nil:
		return p.gaveUp(ctx, "before the plugin answered")
	case ended(limited):
		return p.timedOut(c.timeout)
	case sdk.ReasonOf(err) == "plugin_exited":
		err = sdk.Wrap(c.op, err)
		m.settle()
		if m.culprit {
			p.suspects.ended(&c, err, now)
			return sdk.AsPermanent(err)
		}
		return interrupted{error: err, suspect: m.suspicious}
	}
	answered = true
	p.noteStep(m, caller, &c, err, now)
	return sdk.Wrap(c.op, err)
}

// guard runs a call on a member, and kills the member if it doesn't answer in time once
// limited has ended. If ctx has ended too, the caller ended the call; otherwise the call
// ran past its deadline.
func (p *pool) guard(ctx, limited context.Context, m *member, c call) error {
	returned, enforced := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(limited, func() {
		defer close(enforced)
		grace, reason := p.overdue(ctx, c)
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-returned:
		case <-timer.C:
			p.stop(ctx, m, &c, reason)
		}
	})
	err := c.run(limited, m.Instance)
	close(returned)
	if !stop() {
		<-enforced
	}
	if limited.Err() != nil && unanswered(err) {
		_, reason := p.overdue(ctx, c)
		p.stop(ctx, m, &c, reason)
	}
	return err
}

// stop kills a member whose call doesn't end. If that is because of the deadline, and not
// because the caller gave up, the request has cost an instance.
func (p *pool) stop(ctx context.Context, m *member, c *call, reason error) {
	if p.kill(m, reason) && ctx.Err() == nil {
		p.suspects.ended(c, reason, time.Now())
	}
}

// pause waits for a time, which may be 0.
func pause(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stopped returns a call's error. If there is none, it returns the error of an item on
// which the plugin gave up because the host's context had ended: that error then counts
// as the call's error.
func stopped(ctx context.Context, err, item error) error {
	if code := sdk.CodeOf(item); err == nil && ended(ctx) && (code == sdk.Cancelled || code == sdk.Timeout) {
		return item
	}
	return err
}

// ended reports whether a call's context has ended or its deadline has passed: on a loaded
// machine the plugin may see the deadline before the timer of the context does.
func ended(ctx context.Context) bool {
	deadline, limited := ctx.Deadline()
	return ctx.Err() != nil || limited && !time.Now().Before(deadline)
}

// overdue returns the grace period of a call once its context has ended, and the reason
// to kill its instance after that.
func (p *pool) overdue(ctx context.Context, c call) (time.Duration, error) {
	if ctx.Err() != nil {
		return cancelGrace, p.gaveUp(ctx, "and the plugin worked on")
	}
	return deadlineGrace, p.timedOut(c.timeout)
}

// unanswered reports whether an error means that the driver didn't wait for the plugin's
// answer. A plugin's answer is never the context's own error, because an error's cause
// doesn't cross the boundary.
func unanswered(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}
