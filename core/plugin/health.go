package plugin

import (
	"context"
	"time"

	"github.com/reflectory/reflectory/sdk"
)

// InstanceWithHealth is an [Instance] that can be asked whether it would answer
// a call.
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
	if _, ok := m.Instance.(InstanceWithHealth); !ok {
		<-m.Done()
		return
	}
	ticker := time.NewTicker(healthEvery)
	defer ticker.Stop()
	for {
		select {
		case <-m.Done():
			return
		case <-ticker.C:
			p.checkHealth(m)
		}
	}
}

func (p *pool) checkHealth(m *member) {
	if !p.isIdle(m) {
		return // its calls have deadlines
	}
	ctx, cancel := context.WithTimeout(p.open, healthTimeout)
	defer cancel()
	err := healthy(ctx, m.Instance)
	if err == nil || p.open.Err() != nil || !p.isIdle(m) {
		return
	}
	m.Kill(sdk.Errorf(sdk.Unavailable, "plugin_unhealthy", "plugin %q did not answer a health check within %s: %w", p.plugin.Name, healthTimeout, err).
		WithHint("nothing was lost: it is started again; its log may say why it hung"))
}

func (p *pool) isIdle(m *member) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return m.busy == 0 && !m.asked
}
