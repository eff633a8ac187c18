package wasm

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/abi"
)

func TestALinearMemoryGrowsShrinksAndIsClearedAgain(t *testing.T) {
	const page, most = pageBytes, 64 * pageBytes
	for _, reserved := range []bool{true, false} {
		m := &linear{max: most}
		if reserved {
			m.room, m.reserved = reserve(most)
		}
		m.Reallocate(page)
		buf := m.Reallocate(8 * page)
		copy(buf[7*page:], "old")
		if grown := m.Reallocate(20 * page); len(grown) != 20*page || string(grown[7*page:7*page+3]) != "old" {
			t.Error("growing lost something")
		}
		m.clearFrom(2 * page)
		m.forced = 2 * page
		if small := m.Reallocate(21 * page); len(small) != 2*page || cap(small) != 2*page {
			t.Error("it didn't shrink")
		}
		m.forced = 0
		if again := m.Reallocate(20 * page); !bytes.Equal(again, make([]byte, 20*page)) {
			t.Error("what was given up came back")
		}
		if m.Reallocate(most+page) != nil {
			t.Error("it grew beyond its limit")
		}
		m.Free()
	}
}

func TestAnImageIsShownAsItWas(t *testing.T) {
	m := &linear{max: 64 * pageBytes}
	if m.room, m.reserved = reserve(m.max); !m.reserved {
		return // pages are compared here: the other tests cover that
	}
	defer m.Free()
	memory := m.Reallocate(8 * pageBytes)
	memory[5], memory[7*pageBytes] = 1, 2
	first, _ := newImage(memory)
	memory[6] = 3
	second, kept := newImage(memory[:6*pageBytes])
	if copied := make([]byte, 8*pageBytes); first == nil || !first.read(copied) || copied[5] != 1 || copied[6] != 0 {
		t.Error("an image can't be read")
	}
	if first == nil || second == nil || kept != framePage {
		t.Fatalf("%v %v %d", first, second, kept)
	}
	for range 2 {
		for _, tt := range []struct {
			image       *image
			size        uint64
			six, beyond byte
		}{{first, 8 * pageBytes, 0, 2}, {first, 8 * pageBytes, 0, 2}, {second, 6 * pageBytes, 3, 0}} {
			memory = m.Reallocate(20 * pageBytes)
			for i := range memory {
				memory[i] = 0xff
			}
			if !m.show(tt.image) {
				t.Fatal("it can't be shown")
			}
			m.size = tt.size
			memory = m.Reallocate(20 * pageBytes)
			if memory[5] != 1 || memory[6] != tt.six || memory[7*pageBytes] != tt.beyond || !isZero(memory[19*pageBytes:19*pageBytes+framePage]) {
				t.Errorf("%v: %d %d %d", tt.image.size, memory[5], memory[6], memory[7*pageBytes])
			}
		}
	}
}

func TestSnapshotsAreBounded(t *testing.T) {
	c := newSnapshots()
	big := &snapshot{own: maxSnapshotBytes / 2}
	for _, digest := range []string{"a", "b", "c"} {
		c.put(snapshotKey{digest: digest}, big)
	}
	if c.get(snapshotKey{digest: "a"}) != nil || c.get(snapshotKey{digest: "b"}) == nil {
		t.Error("not the least recently used one went")
	}
	for n := range 2 * maxSnapshots {
		c.put(snapshotKey{digest: string(rune('A' + n))}, &snapshot{})
	}
	if len(c.entries) > maxSnapshots || c.recent.Len() != len(c.entries) || c.bytes > maxSnapshotBytes {
		t.Errorf("%d entries, %d bytes", len(c.entries), c.bytes)
	}
}

func TestTheClockMovesAndNeverOverflows(t *testing.T) {
	s := streams{ambient: newAmbient()}
	first := s.now(0)
	if second := s.now(0); first != clockStart+clockStep || second != first+clockStep {
		t.Errorf("%d, %d", first, second)
	}
	s.sleep(uint64(clockStart)+uint64(s.elapsed)+5, true, 0)
	if s.elapsed != 2*clockStep+5 {
		t.Errorf("%d after sleeping to an instant", s.elapsed)
	}
	for range 5 {
		s.sleep(math.MaxUint64, false, 1)
		if s.elapsed < 0 || s.now(0) < clockStart {
			t.Fatal("it overflowed")
		}
	}
}

func TestAKernelsBlocksAreClearedAndBounded(t *testing.T) {
	k := newKernel(1 << 10)
	k.begin([]byte("input"), nil, false)
	a := k.put([]byte("secret!!"))
	k.free(a)
	if b := k.alloc(8); b != a || k.load(b, 8) != 0 {
		t.Errorf("block %d after %d holds %x", b, a, k.load(b, 8))
	}
	if k.alloc(0) != 0 || k.load(math.MaxUint64, 8) != 0 || k.loadInput(3, 8) != 0 || k.loadInput(0, 1) != 'i' || k.blocks[a+1] != 0 {
		t.Error("it reads what isn't there")
	}
	k.store(math.MaxUint64-3, 1, 8)
	k.free(12345)
	defer func() {
		if stop, ok := recover().(stopped); !ok || sdk.ReasonOf(stop.reason) != "guest_memory_exhausted" {
			t.Error("it has no bound")
		}
	}()
	for range 1000 {
		k.alloc(100)
	}
}

// FuzzReply reads replies of guests: each is refused, or usable.
func FuzzReply(f *testing.F) {
	f.Add([]byte(`{"results":[{"response":{"verdict":{"valid":true,"score":0.5,"children":{"a":{}}},"metadata":{"a":"b"}}}]}`))
	f.Add([]byte(`{"results":[{"error":{"code":"x","reason":"y","details":[1]}}]}`))
	f.Add([]byte(`{"error":{}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		results, keep, err := decodeAll(b, 1, 7, refuseVerdict,
			func(r *abi.Evaluated) *map[string]string { return &r.Metadata })
		if err != nil {
			return
		}
		r := results[0]
		if keep != (r.Err == nil) || (r.Response == nil) == (r.Err == nil) {
			t.Fatalf("%+v %t", r, keep)
		}
		if r.Response != nil {
			if s := r.Response.Verdict.Score; !(s >= 0 && s <= 1) || r.Response.Metadata[MetadataFuel] != "7" {
				t.Errorf("%+v", r.Response)
			}
			if _, err := json.Marshal(r.Response); err != nil {
				t.Error(err)
			}
		}
	})
}
