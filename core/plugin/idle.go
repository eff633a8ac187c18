package plugin

import (
	"time"

	"github.com/reflectory/reflectory/sdk"
)

// InstanceWithProcessor is an [Instance] whose processor time is known. A WASM module has none: it
// runs only during its calls, and fuel bounds these.
type InstanceWithProcessor interface {
	Instance
	// ProcessorTime is how long the instance has used processors since its start, with all
	// of its processes.
	ProcessorTime() (time.Duration, error)
}

// An instance without a call has nothing to do. It may finish what a call left, such as a garbage
// collection, which takes less than a second; the limits leave ten times that.
const (
	// idleEvery is how often the processor time of an idle instance is read, as often as its
	// memory and files. Only the time between two readings without a call in between counts.
	idleEvery = time.Second
	// idleSpan is how much of such time is looked at together.
	idleSpan = 10 * time.Second
	// idleShare is the share of one processor that an idle instance may use in such a span.
	idleShare = 0.25
	// idleSpans is how many spans in a row may be over it: with the last, the instance is
	// replaced. The breaker doesn't count that, since the next start waits for a call anyway.
	idleSpans = 3
)

// idleUse sums up what a member uses while it has no call.
type idleUse struct {
	known bool // the fields of the last reading are set
	calls int
	at    time.Time
	used  time.Duration

	idle, burnt time.Duration // the sums of the span under way
	over        int           // spans in a row
}

// checkIdle reads a member's processor time, and replaces a member that uses too much of it while
// it is idle.
func (p *pool) checkIdle(m *member, i InstanceWithProcessor, u *idleUse) {
	p.mu.Lock()
	calls, idle := m.calls, m.busy == 0 && !m.checked && !m.ending()
	p.mu.Unlock()
	was := *u
	if u.known = false; !idle {
		return // what it uses now is used for its calls
	}
	used, err := i.ProcessorTime()
	if err != nil {
		return // it has just ended, or the system doesn't say
	}
	u.known, u.calls, u.at, u.used = true, calls, time.Now(), used
	if !was.known || was.calls != calls {
		return
	}
	u.idle += u.at.Sub(was.at)
	u.burnt += max(0, used-was.used) // less is left once a process of several has ended
	if u.idle < idleSpan {
		return
	}
	share := u.burnt.Seconds() / u.idle.Seconds()
	u.idle, u.burnt = 0, 0
	if share <= idleShare {
		u.over = 0
		return
	}
	u.over++
	p.idleBusy(m, share, u)
}

// idleBusy reports a member that used a processor without a call, and replaces it in the end.
func (p *pool) idleBusy(m *member, share float64, u *idleUse) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.ending() {
		return
	}
	reason := sdk.Errorf(sdk.Exhausted, "plugin_idle_busy", "an instance of plugin %q used %.0f %% of a processor for %s without a call (limit %.0f %%), for the %d. time in a row (limit %d)",
		p.plugin.Name, share*100, idleSpan, idleShare*100, u.over, idleSpans).
		WithHint("have it work only during its calls; remove the plugin if you don't know what it does")
	p.idlers++
	p.report(InstanceIdleBusy)
	if u.over < idleSpans {
		p.breaker.cause = reason
		p.warn(reason, u.at)
		return
	}
	p.retire(m, reason, u.at)
}
