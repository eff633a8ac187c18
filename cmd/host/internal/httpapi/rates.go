package httpapi

import (
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/reflectory/reflectory/sdk"
)

// Rates are per subject: a token that is used in a loop must not slow down the others. The
// number of remembered subjects is limited, since over time there are many. A subject whose
// allowance is full again can be forgotten without any effect.

// maxRated is how many subjects, and how many addresses, are remembered. If more are active
// at once, an arbitrary one is forgotten, which gives it another burst.
const maxRated = 10_000

// rates limit how often callers ask.
type rates struct {
	requests, writes, logins buckets
}

func newRates(l Limits) *rates {
	perMinute := l.FailedLogins / 60
	return &rates{
		requests: buckets{limit: rate.Limit(l.Requests), burst: burstOf(2 * l.Requests)},
		writes:   buckets{limit: rate.Limit(l.Writes), burst: burstOf(2 * l.Writes)},
		logins:   buckets{limit: rate.Limit(perMinute), burst: burstOf(l.FailedLogins)},
	}
}

// burstOf is how many requests may come at once: at least one.
func burstOf(n float64) int { return int(math.Max(1, n)) }

// admit counts a request of a subject, or returns an error that says how long to wait.
func (r *rates) admit(subject string, reads bool) error {
	if wait := r.requests.take(subject); wait > 0 {
		return tooOften("requests_exhausted", "requests", wait)
	}
	if reads {
		return nil
	}
	if wait := r.writes.take(subject); wait > 0 {
		return tooOften("writes_exhausted", "requests that write", wait)
	}
	return nil
}

// failedLogin counts wrong credentials, and refuses an address that sent too many.
func (r *rates) failedLogin(address string) error {
	if wait := r.logins.take(address); wait > 0 {
		return tooOften("logins_exhausted", "wrong credentials", wait)
	}
	return nil
}

func tooOften(reason, what string, wait time.Duration) error {
	return sdk.Errorf(sdk.Exhausted, reason, "too many %s", what).WithHint("wait before the next one, as Retry-After says").
		WithDetail(sdk.RetryAfterDetail, wait.Milliseconds()+1)
}

// buckets have an allowance for each name.
type buckets struct {
	limit rate.Limit
	burst int

	mu   sync.Mutex
	each map[string]*rate.Limiter
}

// take takes one request from a name's allowance, or returns how long until there is one.
func (b *buckets) take(name string) time.Duration {
	if b.limit < 0 {
		return 0
	}
	now := time.Now()
	next := b.of(name, now).ReserveN(now, 1)
	wait := next.DelayFrom(now)
	if wait > 0 {
		next.CancelAt(now)
	}
	return wait
}

func (b *buckets) of(name string, now time.Time) *rate.Limiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.each[name]
	if l != nil {
		return l
	}
	if b.each == nil {
		b.each = map[string]*rate.Limiter{}
	}
	if len(b.each) >= maxRated {
		b.forget(now)
	}
	l = rate.NewLimiter(b.limit, b.burst)
	b.each[name] = l
	return l
}

// forget makes room.
func (b *buckets) forget(now time.Time) {
	for name, l := range b.each {
		if l.TokensAt(now) >= float64(b.burst) {
			delete(b.each, name)
		}
	}
	for name := range b.each {
		if len(b.each) < maxRated {
			return
		}
		delete(b.each, name)
	}
}
