package journal

import (
	"maps"
	"sync"
)

// LogTo returns a subscriber that logs each entry by a function in the manner of
// hclog: a message, then names and values in turn.
func LogTo(log func(message string, args ...any)) Subscriber {
	return func(stream string, e Entry) {
		log(e.Type, "stream", stream, "seq", e.Seq, "at", e.At, "data", string(e.Data))
	}
}

// Counters count entries by their type. The zero value is ready. It is safe for
// concurrent use.
type Counters struct {
	mu     sync.Mutex
	counts map[string]int64
}

// Subscribe is the counters' [Subscriber].
func (c *Counters) Subscribe(_ string, e Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = map[string]int64{}
	}
	c.counts[e.Type]++
}

// Counts returns the entries so far, by type.
func (c *Counters) Counts() map[string]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.counts)
}
