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

// clockStep is how far each reading advances the clock, in nanoseconds, so that a guest that
// polls the clock comes to an end.
const clockStep = 1000

// streams are the state that the host holds for a guest: what WASI gives it.
type streams struct {
	ambient
	stdin          bytes.Reader
	stdout, stderr io.Writer
}

// ambient is the part of [streams] that a snapshot keeps: time and randomness.
type ambient struct {
	elapsed int64 // nanoseconds since the instance began
	random  rand.ChaCha8
}

func newAmbient() ambient {
	return ambient{random: *rand.NewChaCha8([32]byte([]byte("reflectory: the same every time.")))}
}

// now reads a clock and advances it. Clock 0 is the real one; the others begin at 0.
func (s *streams) now(id uint64) int64 {
	s.advance(clockStep)
	if id == 0 {
		return clockStart + s.elapsed
	}
	return s.elapsed
}

// sleep advances the clock by a duration, or to a time.
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

// advance advances the clock, at most to two centuries from its start, short of an overflow.
func (s *ambient) advance(nanos int64) {
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
