package host

import (
	"strings"

	"github.com/reflectory/reflectory/sdk"
)

// A server runs for months, and plugins are added meanwhile. What reflectory.yaml, the lock and the
// trust file say about plugins is read again before the next run or call, if one of the files has
// changed. A run keeps the plugins that it began with, so that no run is judged by two versions:
// earlier plugins are closed when the last run that holds them has ended. Settings that other parts
// keep in memory need a restart, and the log says so.

// Callable are the installed plugins, made callable when they are first needed. If the lock or the
// trust file can't be read, each call returns that error.
func (p *Plugins) Callable() (*CallablePlugins, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.newest()
}

// newest are the plugins of new calls. The caller must hold the lock.
func (p *Plugins) newest() (*CallablePlugins, error) {
	if !p.opened {
		p.opened = true
		p.closers.add(func() error { p.retired.Wait(); return nil }) // after they are closed, if a call holds them still
		callable, err := p.open()
		if p.failure = err; err == nil {
			p.callable.Store(callable)
		}
	}
	return p.callable.Load(), p.failure
}

// hold returns the plugins of new calls, which stay open until release is called.
func (p *Plugins) hold() (plugins *CallablePlugins, release func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if plugins, err = p.newest(); err != nil {
		return nil, nil, err
	}
	plugins.users.Add(1)
	return plugins, plugins.users.Done, nil
}

// refresh opens the plugins again if a server's files have changed. If they can't be used, that is
// reported once, and the earlier plugins stay in use.
func (p *Plugins) refresh() {
	if p.config.Server == nil {
		return // a command reads them once
	}
	found, err := p.config.Settings.Refresh()
	if err != nil {
		p.config.warn(sdk.Wrap("the changed settings aren't used, and the earlier ones stay in force", err))
	}
	if len(found.Restart) > 0 {
		p.config.warnf("changed settings that need a restart of the server: %s", strings.Join(found.Restart, ", "))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if found.Generation == p.generation || !p.opened {
		p.generation = found.Generation
		return
	}
	p.generation = found.Generation
	next, err := p.open()
	if err != nil {
		p.config.warn(sdk.Wrap("the changed plugins aren't used, and the earlier ones stay in use", err))
		return
	}
	before := p.callable.Swap(next)
	p.failure = nil
	p.config.info("the plugins were read again: %d", len(next.Set.Plugins()))
	if before != nil {
		p.retired.Go(func() {
			before.users.Wait()
			if err := before.Close(); err != nil {
				p.config.warn(sdk.Wrap("close the earlier plugins", err))
			}
		})
	}
}
