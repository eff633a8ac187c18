package core

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"sync"
	"time"
)

// Clock gives the time. It is injected, so that tests and replays control it.
type Clock interface {
	Now() time.Time
}

// IDs makes identifiers. It is injected, so that tests and replays control them.
type IDs interface {
	// NewID returns a new UUIDv7 in its canonical form (RFC 9562, 36 bytes).
	// Later ids sort after earlier ones.
	NewID() string
}

// SystemClock is the machine's clock.
type SystemClock struct{}

// Now returns the time with its monotonic reading.
func (SystemClock) Now() time.Time { return time.Now() }

// SystemIDs makes UUIDv7 ids from a clock and the system's randomness. The zero
// value is ready to use. It is safe for concurrent use. Each id is greater than the
// one before, even within one millisecond, because of the 12-bit counter of RFC
// 9562, method 1.
type SystemIDs struct {
	// Clock gives the time in an id. Default SystemClock.
	Clock Clock

	mu      sync.Mutex
	milli   uint64
	counter uint16
}

// NewID implements [IDs].
func (s *SystemIDs) NewID() string {
	now := time.Now
	if s.Clock != nil {
		now = s.Clock.Now
	}
	s.mu.Lock()
	if now := uint64(now().UnixMilli()); now > s.milli {
		s.milli, s.counter = now, 0
	} else if s.counter++; s.counter > 0xfff {
		s.milli, s.counter = s.milli+1, 0
	}
	milli, counter := s.milli, s.counter
	s.mu.Unlock()

	var id [16]byte
	binary.BigEndian.PutUint64(id[:8], milli<<16|0x7000|uint64(counter))
	_, _ = rand.Read(id[8:]) // never fails: crypto/rand aborts the program instead
	id[8] = id[8]&0x3f | 0x80

	var text [36]byte
	hex.Encode(text[0:8], id[0:4])
	hex.Encode(text[9:13], id[4:6])
	hex.Encode(text[14:18], id[6:8])
	hex.Encode(text[19:23], id[8:10])
	hex.Encode(text[24:36], id[10:16])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return string(text[:])
}
