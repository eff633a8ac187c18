package plugin

import (
	"context"
	"time"

	"github.com/reflectory/reflectory/sdk"
)

// InstanceWithHealth is an [Instance] that can be asked whether it would answer
// a call, which it finds out by preparing and running something real.
type InstanceWithHealth interface {
	Instance
	// Healthy returns nil if the instance would answer, and otherwise the error.
	Healthy(ctx context.Context) error
}

// The health of an idle instance is checked every healthEvery, half of the life that counts as
// stable, so that a hanging instance is found before a call meets it. It has healthTimeout to
// answer, which is long for a process that does nothing.
const (
	healthEvery   = stableAfter / 2
	healthTimeout = 5 * time.Second
)

// healthy asks an instance for its health, if the instance supports it.
func healthy(ctx context.Context, i Instance) error {
	if asked, ok := i.(InstanceWithHealth); ok {
		return asked.Healthy(ctx)
	}
	return nil
}

// attend waits for a member's end. An idle member that doesn't answer is ended, which
// counts as its own exit.
func (p *pool) attend(m *member) {
	var health, idle <-chan time.Time // nil if there is nothing to ask
	if _, ok := m.Instance.(InstanceWithHealth); ok {
		ticker := time.NewTicker(healthEvery)
		defer ticker.Stop()
		health = ticker.C
	}
	measured, ok := m.Instance.(InstanceWithProcessor)
	if ok {
		ticker := time.NewTicker(idleEvery)
		defer ticker.Stop()
		idle = ticker.C
	}
	var use idleUse
	for {
		select {
		case <-m.Done():
			return
		case <-health:
			p.checkHealth(m)
		case <-idle:
			p.checkIdle(m, measured, &use)
		}
	}
}

func (p *pool) checkHealth(m *member) {
	if !p.setChecked(m, true) {
		return // its calls have deadlines
	}
	defer p.setChecked(m, false)
	ctx, cancel := context.WithTimeout(p.open, healthTimeout)
	defer cancel()
	err := healthy(ctx, m.Instance)
	if err == nil || p.open.Err() != nil || m.done() {
		return
	}
	m.Kill(sdk.Errorf(sdk.Unavailable, "plugin_unhealthy", "plugin %q did not pass a health check (limit %s): %w", p.plugin.Name, healthTimeout, err).
		WithHint("nothing was lost: it is started again; its log may say what it lacks"))
}

// setChecked begins or ends the check of a member, which gets no call meanwhile. It begins only
// if the member is idle, and reports that.
func (p *pool) setChecked(m *member, on bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if on && !m.idle() {
		return false
	}
	if m.checked = on; !on {
		p.dispatch()
	}
	return true
}
