package pebble

import "sync"

// maxFailures is how often compactions may fail in a row, as when a read fails once,
// before they count as stuck. Pebble repeats them without a pause.
const maxFailures = 3

// compactions records how Pebble's compactions end.
type compactions struct {
	mu sync.Mutex
	// failures counts the compactions that failed since the last success, and cause is
	// the last error.
	failures int
	cause    error
}

// ended records the result of a compaction.
func (c *compactions) ended(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause = err; err == nil {
		c.failures = 0
	} else {
		c.failures++
	}
}

// stuck is why compactions fail repeatedly, for example because of a damaged file; nil if
// they don't.
func (c *compactions) stuck() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failures < maxFailures {
		return nil
	}
	return ioError("merge its files", c.cause)
}
