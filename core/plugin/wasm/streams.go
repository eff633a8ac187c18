package wasm

import (
	"bytes"
	"io"
	"math"
	"math/rand/v2"
	"time"
)

// clockStart is what a guest's real clock shows at first: an instant that is
// after any compiler's build, and the same everywhere.
var clockStart = time.Date(2022, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()

// clockStep is how far a reading moves the clock, in nanoseconds: a guest that
// waits by looking at it gets on.
const clockStep = 1000

// streams are the host's side of a guest's state: what WASI hands out.
type streams struct {
	worldly
	stdin          bytes.Reader
	stdout, stderr io.Writer
}

// worldly is the part of [streams] that a snapshot keeps.
type worldly struct {
	elapsed int64 // nanoseconds since the instance began
	random  rand.ChaCha8
}

func newWorldly() worldly {
	return worldly{random: *rand.NewChaCha8([32]byte([]byte("reflectory: the same every time.")))}
}

// now reads a clock and moves it. Clock 0 is the real one; the others begin at 0.
func (s *streams) now(id uint64) int64 {
	s.advance(clockStep)
	if id == 0 {
		return clockStart + s.elapsed
	}
	return s.elapsed
}

// sleep moves the clock by a time, or to one.
func (s *streams) sleep(nanos uint64, absolute bool, clock uint64) {
	d := int64(min(nanos, math.MaxInt64))
	if absolute {
		d -= s.elapsed
		if clock == 0 {
			d -= clockStart
		}
	}
	s.advance(max(d, 0))
}

// advance stops short of overflow, two centuries on.
func (s *worldly) advance(nanos int64) {
	s.elapsed = min(s.elapsed+min(nanos, 1<<61), 1<<62)
}

// limitedBuffer takes what a command prints, and no more than a reply may be.
type limitedBuffer struct {
	bytes.Buffer
	limit int
	over  bool
}

// Write takes as much as there is room for. The rest is a short write.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	room := b.limit - b.Len()
	if len(p) > room {
		b.over = true
		p = p[:room]
	}
	return b.Buffer.Write(p)
}
