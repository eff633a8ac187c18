package plugin

import "time"

// member is an instance in its pool.
type member struct {
	Instance
	started time.Time
	slots   int
	busy    int           // slots taken
	asked   bool          // whether the host has asked it to end
	gone    chan struct{} // closed once the pool has let go of it
}

// usable reports whether a call may be given to the member.
func (m *member) usable() bool { return m.busy < m.slots && !m.asked && !m.done() }

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
