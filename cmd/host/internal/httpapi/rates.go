package httpapi

import (
	"cmp"
	"context"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/rate"
	"github.com/reflectory/reflectory/sdk"
)

// Rates are per subject and tenant: a token that is used in a loop must not slow down other subjects,
// nor the subject of the same name in another tenant.
// Hosts that share a store also share the rates, so that a subject gets no more from several
// hosts than from one. Each host has its own rate for wrong credentials, so that unknown
// callers write nothing to the store.

// rates limit how often callers ask.
type rates struct {
	requests, writes, logins *rate.Limiter
}

func newRates(h *host.Host, l Limits) *rates {
	return &rates{
		requests: h.Limits.Rate("requests", l.Requests, 2*l.Requests),
		writes:   h.Limits.Rate("writes", l.Writes, 2*l.Writes),
		logins:   rate.New(rate.Options{What: "logins", PerSecond: l.FailedLogins / 60, Burst: l.FailedLogins}),
	}
}

// admit counts a request of a caller, or returns an error with the time to wait.
func (r *rates) admit(ctx context.Context, c core.Caller, reads bool) error {
	if wait, err := r.requests.Take(ctx, c.Account()); err != nil || wait > 0 {
		return tooOften("requests", "requests", c.Subject, wait, err)
	}
	if reads {
		return nil
	}
	if wait, err := r.writes.Take(ctx, c.Account()); err != nil || wait > 0 {
		return tooOften("writes", "requests that write", c.Subject, wait, err)
	}
	return nil
}

// failedLogin counts wrong credentials, and refuses an address that sent too many.
func (r *rates) failedLogin(ctx context.Context, address string) error {
	if wait, err := r.logins.Take(ctx, address); err != nil || wait > 0 {
		return tooOften("failed_logins", "wrong credentials", address, wait, err)
	}
	return nil
}

// tooOften is the error for a request that came too soon for a key, the subject or the address that a
// limit counts, or the error with which counting failed.
func tooOften(limit, what, key string, wait time.Duration, err error) error {
	if err != nil {
		return err
	}
	reason := map[string]string{"failed_logins": "logins_exhausted"}[limit]
	refused := sdk.Errorf(sdk.Exhausted, cmp.Or(reason, limit+"_exhausted"), "too many %s", what)
	return reached(refused, limit, "wait before the next one, as Retry-After says").WithDetail("key", key).WithDetail(sdk.RetryAfterDetail, wait.Milliseconds()+1)
}
