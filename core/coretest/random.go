package coretest

import (
	"encoding/binary"
	"sync"
)

// Random is a source of bytes that counts: each read gives the next number, so that
// what is made of it is the same each time. The zero value is ready. It is safe for
// concurrent use.
type Random struct {
	mu sync.Mutex
	n  uint64
}

// Read fills p. It never fails.
func (r *Random) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	clear(p)
	if len(p) >= 8 {
		binary.BigEndian.PutUint64(p[len(p)-8:], r.n)
	}
	return len(p), nil
}
