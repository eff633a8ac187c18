package plugin

import (
	"path"
	"time"

	"github.com/reflectory/reflectory/sdk"
)

// start brings one instance up after a delay.
func (p *pool) start(delay time.Duration) {
	instance, err := p.bringUp(delay)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.starting--
	switch {
	case p.open.Err() != nil:
		if instance != nil {
			p.tasks.Go(func() { instance.Kill(errClosed()) })
		}
	case err != nil:
		p.startFailed(err)
	default:
		p.manifest = instance.Manifest()
		p.share.Resize(p.places())
		p.starts++
		p.report(InstanceStarted)
		m := &member{Instance: instance, started: time.Now(), slots: p.slots(), gone: make(chan struct{})}
		p.members = append(p.members, m)
		p.tasks.Go(func() { p.watch(m) })
		p.dispatch()
	}
}

func (p *pool) bringUp(delay time.Duration) (Instance, error) {
	if err := p.backOff(delay); err != nil {
		return nil, err
	}
	instance, err := p.options.Driver.Start(p.open, p.plugin)
	if err != nil {
		return nil, err
	}
	if err := p.checkManifest(instance.Manifest()); err != nil {
		err = sdk.Wrap("start plugin "+p.plugin.Name, err)
		instance.Kill(err)
		return nil, err
	}
	return instance, nil
}

// backOff waits before a plugin that crashed is started again. The first start doesn't
// wait: under the race detector, timers of a synctest bubble that are due at once can
// crash it when several goroutines look at theirs together (golang/go#78156).
func (p *pool) backOff(delay time.Duration) error {
	if pause(p.open, delay) != nil {
		return errClosed()
	}
	return nil
}

// checkManifest refuses a plugin whose manifest isn't the installed plugin's, since
// what is granted and logged depends on the name.
func (p *pool) checkManifest(m *sdk.Manifest) error {
	if err := m.Validate(); err != nil {
		return err
	}
	if m.Name != path.Base(p.plugin.Name) { // it needn't know its publisher
		return sdk.Errorf(sdk.Invalid, "manifest_invalid", "it says that it is plugin %q", m.Name).
			WithHint("name it so in its plugin.yaml")
	}
	return nil
}

// startFailed counts a failed start as an unrequested exit. If nothing else can serve
// the call that has waited longest, that call ends with the start's error; the other
// calls wait for the next start.
func (p *pool) startFailed(err error) {
	now := time.Now()
	p.exits++
	p.report(InstanceExited)
	p.ends.Add(1)
	p.breaker.exited(now, 0, err, p.options.Random())
	alone := len(p.members)+p.starting == 0
	if alone && len(p.queue) > 0 && p.breaker.state(now) == BreakerClosed {
		p.grantNext(grant{err: retryable(err)})
	}
	p.dispatch()
}
