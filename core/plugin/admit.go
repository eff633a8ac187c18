package plugin

import (
	"context"

	"github.com/reflectory/reflectory/sdk"
)

// admission records that a scope's calls were admitted to a pool, and how many of the
// pool's instances had ended by then.
type admission struct {
	pool *pool
	ends int64
}

// admit asks whether the context's scope may call the plugin, unless the answer is known and
// no instance of the pool has ended since. So there is a decision on each scope before its
// first call, even if the plugin already runs for other scopes. A plugin that is denied to all
// scopes is never started. After an instance has ended, the policy is asked again before
// another instance starts. A denial doesn't count as a failure of the plugin: the next call
// asks again.
func (p *pool) admit(ctx context.Context) error {
	if p.options.Admit == nil {
		return nil
	}
	scope := scopeIn(ctx)
	if scope == nil {
		scope = &p.unscoped
	}
	now := admission{pool: p, ends: p.ends.Load()}
	if scope.isAdmitted(now) {
		return nil
	}
	if err := p.callAdmit(ctx); err != nil {
		return err
	}
	scope.setAdmitted(now)
	return nil
}

// callAdmit calls Admit. It ends when the pool is closed, which waits for it.
func (p *pool) callAdmit(ctx context.Context) error {
	p.mu.Lock()
	if p.open.Err() != nil {
		p.mu.Unlock()
		return errClosed()
	}
	p.tasks.Add(1)
	p.mu.Unlock()
	defer p.tasks.Done()

	err := p.whileOpen(ctx, func(ctx context.Context) error { return p.options.Admit(ctx, p.plugin) })
	if ctx.Err() == nil && p.open.Err() == nil {
		err = sdk.Wrap("start plugin "+p.plugin.Name, err)
	}
	return err
}

// whileOpen calls fn with a context that ends with the pool.
func (p *pool) whileOpen(ctx context.Context, fn func(context.Context) error) error {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.open, cancel)()
	err := fn(waiting)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return p.gaveUp(ctx, "before the call began")
	case p.open.Err() != nil:
		return errClosed()
	}
	return err
}

func (s *Scope) isAdmitted(a admission) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.admitted[a.pool.plugin.Name] == a
}

// setAdmitted remembers one admission for each plugin: all calls of a scope to a plugin go
// through one pool, unless that pool is replaced.
func (s *Scope) setAdmitted(a admission) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.admitted == nil {
		s.admitted = map[string]admission{}
	}
	s.admitted[a.pool.plugin.Name] = a
}
