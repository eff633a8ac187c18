package httpapi

import (
	"context"
	"time"

	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/rate"
	"github.com/reflectory/reflectory/sdk"
)

// Rates are per subject: a token that is used in a loop must not slow down the others. Hosts
// that share a store share them too, so that a subject gets no more from several hosts than
// from one. The rate of wrong credentials is each host's own: nobody who isn't known writes
// to the store.

// rates limit how often callers ask.
type rates struct {
	requests, writes, logins *rate.Limiter
}

func newRates(h *host.Host, l Limits) *rates {
	return &rates{
		requests: h.Rate("requests", l.Requests, 2*l.Requests),
		writes:   h.Rate("writes", l.Writes, 2*l.Writes),
		logins:   rate.New(rate.Options{What: "logins", PerSecond: l.FailedLogins / 60, Burst: l.FailedLogins}),
	}
}

// admit counts a request of a subject, or returns an error that says how long to wait.
func (r *rates) admit(ctx context.Context, subject string, reads bool) error {
	if wait, err := r.requests.Take(ctx, subject); err != nil || wait > 0 {
		return tooOften("requests_exhausted", "requests", wait, err)
	}
	if reads {
		return nil
	}
	if wait, err := r.writes.Take(ctx, subject); err != nil || wait > 0 {
		return tooOften("writes_exhausted", "requests that write", wait, err)
	}
	return nil
}

// failedLogin counts wrong credentials, and refuses an address that sent too many.
func (r *rates) failedLogin(ctx context.Context, address string) error {
	if wait, err := r.logins.Take(ctx, address); err != nil || wait > 0 {
		return tooOften("logins_exhausted", "wrong credentials", wait, err)
	}
	return nil
}

// tooOften is the error for what came too soon, or the one with which counting it failed.
func tooOften(reason, what string, wait time.Duration, err error) error {
	if err != nil {
		return err
	}
	return sdk.Errorf(sdk.Exhausted, reason, "too many %s", what).WithHint("wait before the next one, as Retry-After says").
		WithDetail(sdk.RetryAfterDetail, wait.Milliseconds()+1)
}
