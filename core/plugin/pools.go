package plugin

import (
	"cmp"
	"context"
	"crypto/sha256"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core/share"
	"github.com/reflectory/reflectory/sdk"
)

// Defaults of [Options].
const (
	// DefaultEnvironments is how many environments of one plugin have instances at a
	// time. With [DefaultInstances] subprocesses of 25 MiB each, this number of environments
	// takes 800 MiB, which a small server still has.
	DefaultEnvironments = 16
	// DefaultEnvironmentIdle equals the breaker's window, so closing an idle pool discards
	// no exit that would still count.
	DefaultEnvironmentIdle = exitsWindow
)

// pools are the pools of one plugin. base serves calls whose scope has no environment
// for the plugin, and lasts as long as the plugin is installed. Each environment has a
// pool of its own, made by the first call that brings it.
//
// An environment holds keys, so its instances serve only calls with the same
// environment, and they are closed after a while without calls. The supervisor's lock
// guards pools.
type pools struct {
	base  *pool
	byEnv map[[sha256.Size]byte]*pool
	made  int // counts the pools that were made for environments
}

func newPools(base *pool) *pools {
	return &pools{base: base, byEnv: map[[sha256.Size]byte]*pool{}}
}

// find returns the pool of an environment, nil if there is none.
func (ps *pools) find(e environment) *pool {
	if len(e.pairs) == 0 {
		return ps.base
	}
	return ps.byEnv[e.key]
}

// all lists the pools in the order in which they were made.
func (ps *pools) all() []*pool {
	all := []*pool{ps.base}
	for _, p := range ps.byEnv {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *pool) int { return cmp.Compare(a.number, b.number) })
	return all
}

// enter returns the plugin's pool for the context's scope and counts one more call on it.
// The caller must end the call with leave.
func (s *Supervisor) enter(ctx context.Context, name string) (*pool, error) {
	e := scopeIn(ctx).environment(name)
	s.mu.RLock()
	var p *pool
	if ps := s.pools[name]; ps != nil {
		p = ps.find(e)
	}
	if p != nil {
		p.join()
	}
	s.mu.RUnlock()
	if p == nil {
		return s.enterNew(name, tenantOf(scopeIn(ctx)), e)
	}
	return p, nil
}

// enterNew does what enter does if the environment has no pool yet, or nothing is
// installed.
func (s *Supervisor) enterNew(name, tenant string, e environment) (*pool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ps := s.pools[name]
	switch {
	case ps == nil:
		return nil, s.notFound(name)
	case s.closed:
		return nil, errClosed()
	}
	p := ps.find(e) // another call may have made it
	if p == nil {
		if crowded := ps.crowded(tenant, s.options.Environments); (crowded || len(ps.byEnv) >= s.options.Environments) && !s.makeRoom(ps, tenant, crowded) {
			return nil, s.environmentsFull(name)
		}
		ps.made++
		p = newPool(ps.base.plugin.with(e), &s.options)
		p.env, p.number, p.latency, p.tenant = e, ps.made, ps.base.latency, tenant
		p.idle = time.AfterFunc(s.options.EnvironmentIdle, func() { s.closeIdle(ps, p) })
		ps.byEnv[e.key] = p
	}
	p.join()
	return p, nil
}

// with returns the plugin with an environment added.
func (p Installed) with(e environment) Installed {
	p.Env = normalized(slices.Concat(p.Env, e.pairs))
	return p
}

// crowded reports whether a tenant has half or more of the environments while another tenant has
// some: its next one then takes the place of one of its own.
func (ps *pools) crowded(tenant string, environments int) bool {
	own := 0
	for _, p := range ps.byEnv {
		if p.tenant == tenant {
			own++
		}
	}
	return own < len(ps.byEnv) && int64(own) >= share.Half(int64(environments))
}

// makeRoom closes the idle environment that was used least recently, if there is
// one, for a tenant's new one; own is whether it must be the tenant's. A busy environment is never closed to make room: the call is refused. Waiting could
// make a call that holds one environment, and asks for a model in another, wait for itself.
func (s *Supervisor) makeRoom(ps *pools, tenant string, own bool) bool {
	var oldest *pool
	var used time.Time
	for _, p := range ps.byEnv {
		if last, idle := p.idleSince(); idle && (!own || p.tenant == tenant) && (oldest == nil || last.Before(used)) {
			oldest, used = p, last
		}
	}
	if oldest == nil {
		return false
	}
	s.takeOut(ps, oldest)
	return true
}

// closeIdle closes an environment's pool if it has been idle for longer than allowed.
// Otherwise it checks again later.
func (s *Supervisor) closeIdle(ps *pools, p *pool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.pools[p.plugin.Name] != ps || ps.byEnv[p.env.key] != p {
		return // it is being ended already
	}
	limit := s.options.EnvironmentIdle
	if last, idle := p.idleSince(); !idle {
		p.idle.Reset(limit)
	} else if left := limit - time.Since(last); left > 0 {
		p.idle.Reset(left)
	} else {
		s.takeOut(ps, p)
	}
}

// takeOut ends an environment's pool. The lock must be held, and the supervisor open.
func (s *Supervisor) takeOut(ps *pools, p *pool) {
	delete(ps.byEnv, p.env.key)
	s.drain(p)
}

// join puts a call on the pool. The supervisor's lock must be held.
func (p *pool) join() {
	p.calls.Add(1)
	p.callers.Add(1)
}

// leave ends what join began.
func (p *pool) leave() {
	if p.idle != nil {
		p.mu.Lock()
		p.lastUsed = time.Now()
		p.mu.Unlock()
	}
	p.callers.Add(-1)
	p.calls.Done()
}

// idleSince returns when the last call left, and whether no call is on the pool. The
// supervisor's lock must be held, so that no call enters.
func (p *pool) idleSince() (last time.Time, idle bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lastUsed, p.callers.Load() == 0
}

func (s *Supervisor) environmentsFull(name string) error {
	n := s.options.Environments
	return sdk.Errorf(sdk.Exhausted, "plugin_environments_full", "plugin %q is at work in %d environments (limit %d), each with keys of its own", name, n, n).
		WithHint("try again when one of their runs has ended, or let runs share keys").
		WithDetail("plugin", name).WithDetail("limit", n)
}

// maxCloseErrors is how many errors Close reports from pools that ended earlier: many pools
// end in a program that runs for months.
const maxCloseErrors = 20

// drain ends a pool as soon as its calls have ended. The caller must hold the lock and have removed
// the pool from the list, and the supervisor must be open.
func (s *Supervisor) drain(p *pool) {
	s.draining[p] = true
	s.drains.Go(func() {
		p.calls.Wait()
		err := p.shut()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.draining, p)
		if err != nil && len(s.errs) < maxCloseErrors {
			s.errs = append(s.errs, err)
		}
	})
}
