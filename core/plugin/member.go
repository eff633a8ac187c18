package plugin

import (
	"slices"
	"time"
)

// member is an instance in its pool.
type member struct {
	Instance
	started time.Time
	slots   int
	busy    int      // slots taken
	callers []string // the tenants of the calls in its slots
	alone   bool     // the call that it has must be its only one
	kept    *waiter  // unless nil, it takes no more calls until it has room for this one
	asked   bool     // whether the host has asked it to end
	checked bool     // its health is being checked: it takes no calls meanwhile
	calls   int      // counts the calls that it was given
	retired error    // why it gets no more calls, and ends with its last one; or nil
	steps   firstSteps
	gone    chan struct{} // closed once the pool has let go of it

	// Set before gone is closed, if it ended by itself: with one call, or with several.
	culprit, suspicious bool
}

// usable reports whether a call may be given to the member that needs so many slots.
func (m *member) usable(w *waiter, needs int) bool {
	return m.busy+needs <= m.slots && !m.alone && (m.kept == nil || m.kept == w) && !m.checked && !m.ending()
}

// idle reports whether it has no call, and may be given one.
func (m *member) idle() bool { return m.busy == 0 && !m.checked && !m.ending() }

// only reports whether all calls that it has are a tenant's.
func (m *member) only(tenant string) bool {
	return !slices.ContainsFunc(m.callers, func(caller string) bool { return caller != tenant })
}

func (m *member) ending() bool { return m.asked || m.retired != nil || m.done() }

func (m *member) done() bool {
	select {
	case <-m.Done():
		return true
	default:
		return false
	}
}

// settle waits until the pool has noticed the member's end, so that a repeated call meets
// the backoff. The wait is bounded in case the plugin only claimed to be gone.
func (m *member) settle() {
	timer := time.NewTimer(cancelGrace)
	defer timer.Stop()
	select {
	case <-m.gone:
	case <-timer.C:
	}
}
