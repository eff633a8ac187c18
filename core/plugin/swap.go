package plugin

import (
	"context"

	"github.com/reflectory/reflectory/sdk"
)

// Add makes one more plugin callable. If there is one of that name, the error is
// sdk.Conflict, reason "plugin_installed".
func (s *Supervisor) Add(p Installed) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return errClosed()
	case s.pools[p.Name] != nil:
		return sdk.Errorf(sdk.Conflict, "plugin_installed", "there is a plugin %q already", p.Name).
			WithHint("replace it, or remove it first")
	}
	s.pools[p.Name] = newPools(newPool(p, &s.options))
	return nil
}

// Remove takes a plugin out: later calls don't find it. Calls that are under way or waiting
// are completed, each within its deadline, and then its instances end.
func (s *Supervisor) Remove(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ps := s.pools[name]
	switch {
	case s.closed:
		return errClosed()
	case ps == nil:
		return s.notFound(name)
	}
	delete(s.pools, name)
	s.drain(ps.all()...)
	return nil
}

// Replace replaces a plugin by another version, without losing a call. Once the first
// instance of the new version is running and healthy, the new version takes all new calls,
// and the old version ends as with [Supervisor.Remove]. If the new version doesn't start,
// the error is the reason, and the old version stays in use. The first instance is the
// instance without an environment; an environment's instance starts with its next call.
func (s *Supervisor) Replace(ctx context.Context, p Installed) error {
	fresh, err := s.warming(p)
	if err != nil {
		return err
	}
	defer s.swaps.Done()
	if err := fresh.warm(ctx); err != nil {
		s.discard(fresh)
		return sdk.Wrap("replace plugin "+p.Name+", which goes on as it was", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.unlisted, fresh)
	old := s.pools[p.Name]
	if old == nil || s.closed { // it was removed meanwhile, or is being closed
		s.drain(fresh)
		if s.closed {
			return errClosed()
		}
		return s.notFound(p.Name)
	}
	s.pools[p.Name] = newPools(fresh)
	s.drain(old.all()...)
	return nil
}

// warming makes the pool of a plugin's new version, which no call finds yet. The
// caller ends the swap.
func (s *Supervisor) warming(p Installed) (*pool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, errClosed()
	case s.pools[p.Name] == nil:
		return nil, s.notFound(p.Name)
	}
	fresh := newPool(p, &s.options)
	fresh.latency = s.pools[p.Name].base.latency
	s.unlisted[fresh] = false
	s.swaps.Add(1)
	return fresh, nil
}

// maxCloseErrors is how many errors Close reports from pools that ended earlier: many pools
// end in a program that runs for months.
const maxCloseErrors = 20

// discard ends a pool that took no calls.
func (s *Supervisor) discard(p *pool) {
	err := p.shut()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.unlisted, p)
	if err != nil && len(s.errs) < maxCloseErrors {
		s.errs = append(s.errs, err)
	}
}

// drain ends each pool as soon as its calls have ended. The caller must hold the lock and
// have removed the pools from the list; a swap must be under way, or the supervisor must be
// open.
func (s *Supervisor) drain(pools ...*pool) {
	for _, p := range pools {
		s.unlisted[p] = true
		s.swaps.Go(func() {
			p.calls.Wait()
			s.discard(p)
		})
	}
}

// warm starts a pool's first instance and waits until it answers.
func (p *pool) warm(ctx context.Context) error {
	return p.do(ctx, call{op: "start", timeout: p.plugin.Limits.StartTimeout, run: func(ctx context.Context, i Instance) error {
		return healthy(ctx, i)
	}})
}
