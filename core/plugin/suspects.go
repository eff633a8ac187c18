package plugin

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// A request can end the instance that works on it: a schema that takes all memory, a text on
// which a parser overflows. Three rules keep that from those who didn't send it.
//
//   - A request that was alone on an instance that ended is never repeated by the host. If
//     several were on it, each is repeated once, alone, which shows which of them it was.
//   - A request that ended endingsToHold instances is held: it is refused for holdFor, from
//     every sender.
//   - The end counts for the breaker of the tenant that sent it. For the plugin's own breaker
//     only the first end of each tenant within exitsWindow counts, so a plugin that ends at
//     everybody's calls isn't started for ever, and one tenant can't stop it for others.
const (
	endingsToHold = 2
	holdFor       = exitsWindow
	// maxSuspects is how many requests are remembered, 150 bytes each; the one whose end was
	// longest ago is forgotten first.
	maxSuspects = 1_000
	// maxTenants is how many tenants' breakers a pool has before it looks for some that it no
	// longer needs.
	maxTenants = 1_000
)

// requestDigest identifies a request: the kind of call, the config, and the items.
type requestDigest [sha256.Size]byte

// suspect is a request that ended an instance.
type suspect struct {
	config  string
	endings int
	last    time.Time
	cause   error
}

// suspects are the suspects of a pool. They are safe for concurrent use.
type suspects struct {
	mu       sync.Mutex
	requests map[requestDigest]*suspect
	configs  map[string]int // how many of the requests have a config
}

// check refuses a call whose request is held. A config that is held from being prepared is held
// in all calls.
func (s *suspects) check(p *pool, c *call, now time.Time) error {
	s.mu.Lock()
	known := s.configs[c.config] > 0
	s.mu.Unlock()
	if !known || c.request == nil { // no digest is computed for the usual call
		return nil
	}
	for _, digest := range []requestDigest{c.request(), preparing(c.config)} {
		s.mu.Lock()
		found, ok := s.requests[digest]
		var held suspect
		if ok {
			held = *found
		}
		s.mu.Unlock()
		if ok && held.endings >= endingsToHold && now.Sub(held.last) < holdFor {
			return p.held(digest, held)
		}
	}
	return nil
}

// ended records that a call ended an instance.
func (s *suspects) ended(c *call, cause error, now time.Time) {
	if c.request == nil {
		return
	}
	digest := c.request()
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.requests[digest]
	if found == nil {
		if len(s.requests) >= maxSuspects {
			s.forgetOldest()
		}
		if s.requests == nil {
			s.requests, s.configs = map[requestDigest]*suspect{}, map[string]int{}
		}
		found = &suspect{config: c.config}
		s.requests[digest] = found
		s.configs[c.config]++
	}
	if now.Sub(found.last) >= holdFor {
		found.endings = 0
	}
	found.endings++
	found.last, found.cause = now, cause
}

func (s *suspects) forgetOldest() {
	var oldest requestDigest
	var last time.Time
	for digest, found := range s.requests {
		if last.IsZero() || found.last.Before(last) {
			oldest, last = digest, found.last
		}
	}
	config := s.requests[oldest].config
	delete(s.requests, oldest)
	if s.configs[config]--; s.configs[config] <= 0 {
		delete(s.configs, config)
	}
}

// held is the error for a request that is refused because it ended instances.
func (p *pool) held(digest requestDigest, s suspect) error {
	until := s.last.Add(holdFor).UTC().Format(time.RFC3339)
	return sdk.Errorf(sdk.Invalid, "request_held",
		"plugin %q ended %d times while it worked on this request (digest %s), which isn't sent to it again before %s; last cause: %w",
		p.plugin.Name, s.endings, hex.EncodeToString(digest[:6]), until, s.cause).
		WithHint("change the config or the output that the plugin can't take, such as a pattern or a schema that grows without end; other requests go on").
		WithDetail("plugin", p.plugin.Name).WithDetail("digest", hex.EncodeToString(digest[:])).
		WithDetail("retry_at", until).WithDetail("cause", sdk.ReasonOf(s.cause)).
		WithDetail(sdk.PermanentDetail, true)
}

// preparing is the request of a call that only prepares a config.
func preparing(config string) requestDigest {
	return requestDigest(digestOf([]string{"prepare", config}))
}

// tenantOf is the tenant for which a call is made.
func tenantOf(s *Scope) string {
	if s == nil {
		return ""
	}
	return core.Tenant(s.Namespace)
}

// admitTenant refuses a call of a tenant whose breaker is open, and otherwise returns how long
// the call waits first, so that a tenant whose requests end instances slows itself down.
func (p *pool) admitTenant(tenant string, now time.Time) (time.Duration, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.tenants[tenant]
	if b == nil {
		return 0, nil
	}
	if b.state(now) == BreakerOpen {
		return 0, p.breakerOpen(b, tenant)
	}
	return max(0, b.retryAt.Sub(now)), nil
}

// answeredTenant records that a call which began at a time was answered. The lock must be held.
func (p *pool) answeredTenant(tenant string, began time.Time) {
	if b := p.tenants[tenant]; b != nil {
		b.answered(time.Now(), began)
	}
}

// blame records that a call of a tenant ended an instance by itself. The lock must be held.
func (p *pool) blame(tenant string, now time.Time, lived time.Duration, cause error) {
	if len(p.tenants) >= maxTenants {
		for name, b := range p.tenants {
			if b.state(now) != BreakerOpen && now.Sub(b.retryAt) >= exitsWindow {
				delete(p.tenants, name)
			}
		}
	}
	b := p.tenants[tenant]
	if b == nil {
		b = &breaker{}
		if p.tenants == nil {
			p.tenants = map[string]*breaker{}
		}
		p.tenants[tenant] = b
	}
	fresh := len(b.exits) == 0 || now.Sub(b.exits[len(b.exits)-1]) >= exitsWindow
	b.exited(now, lived, cause, p.options.Random())
	if fresh && b.state(now) != BreakerOpen {
		p.breaker.exited(now, lived, cause, p.options.Random())
	} else {
		p.breaker.cause = cause
	}
}

// worstBreaker is the breaker to show: the plugin's own, or of the tenants' the one that is open
// for the longest. The lock must be held.
func (p *pool) worstBreaker(now time.Time) *breaker {
	worst := &p.breaker
	for _, b := range p.tenants {
		if b.state(now) == BreakerOpen && (worst.state(now) != BreakerOpen || b.reopens.After(worst.reopens)) {
			worst = b
		}
	}
	return worst
}
