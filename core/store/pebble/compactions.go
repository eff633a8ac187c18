package pebble

import "sync"

// maxFailures is how often compactions may fail in a row, as when a read fails once,
// before they count as stuck. Pebble repeats them without a pause.
const maxFailures = 3

// compactions notes how Pebble's compactions end.
type compactions struct {
	mu sync.Mutex
	// failures counts those that failed since one succeeded, and cause is why the last
	// did.
	failures int
	cause    error
}

// ended notes how a compaction ended.
func (c *compactions) ended(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause = err; err == nil {
		c.failures = 0
	} else {
		c.failures++
	}
}

// stuck is why compactions fail again and again, as on a damaged file; nil if they
// don't.
func (c *compactions) stuck() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failures < maxFailures {
		return nil
	}
	return ioError("merge its files", c.cause)
}
