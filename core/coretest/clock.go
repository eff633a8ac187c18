package coretest

import (
	"fmt"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core"
)

// Epoch is where a [Clock]'s time begins, the same as in testing/synctest.
func Epoch() time.Time { return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) }

// Clock is a [core.Clock] that stands until it is moved. The zero value stands
// at [Epoch]. It is safe for concurrent use.
type Clock struct {
	mu     sync.Mutex
	passed time.Duration
}

var _ core.Clock = (*Clock)(nil)

// Now implements [core.Clock].
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Epoch().Add(c.passed)
}

// Advance moves the time on.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passed += d
}

// IDs is a [core.IDs] that counts: 00000000-0000-7000-8000-000000000001, …2, and
// so on. The zero value is ready. It is safe for concurrent use.
type IDs struct {
	mu   sync.Mutex
	last uint64
}

var _ core.IDs = (*IDs)(nil)

// NewID implements [core.IDs].
func (i *IDs) NewID() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.last++
	return fmt.Sprintf("00000000-0000-7000-8000-%012x", i.last)
}
