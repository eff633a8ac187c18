package pebble

import (
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// scheduler lets Pebble compact only once the store is open. Pebble itself starts
// while it opens, and if opening fails then, as on a full disk, the compaction
// meets what was closed under it and ends the program.
//
// One compaction runs at a time, which is Pebble's default: so its usual
// scheduler, which looks ten times a second whether there may be more, isn't
// needed behind this.
type scheduler struct {
	*pebble.ConcurrencyLimitScheduler
	opened atomic.Bool

	mu sync.Mutex
	// failures counts the compactions that failed since one succeeded, and cause is
	// why the last did.
	failures int
	cause    error
}

// maxFailures is how often compactions may fail in a row, as when a read fails once,
// before they count as stuck. Pebble repeats them without a pause.
const maxFailures = 3

func newScheduler() *scheduler {
	return &scheduler{ConcurrencyLimitScheduler: pebble.NewConcurrencyLimitSchedulerWithNoPeriodicGrantingForTest()}
}

// TrySchedule implements pebble.CompactionScheduler.
func (s *scheduler) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	if !s.opened.Load() {
		return false, nil
	}
	return s.ConcurrencyLimitScheduler.TrySchedule()
}

// open lets compactions run, and starts the one that waits, if one does: giving a
// turn back passes it on.
func (s *scheduler) open() {
	s.opened.Store(true)
	if granted, turn := s.TrySchedule(); granted {
		turn.Done()
	}
}

// ended notes how a compaction ended.
func (s *scheduler) ended(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cause = err; err == nil {
		s.failures = 0
	} else {
		s.failures++
	}
}

// stuck is why compactions fail again and again, as on a damaged file; nil if they
// don't.
func (s *scheduler) stuck() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failures < maxFailures {
		return nil
	}
	return ioError("merge its files", s.cause)
}
