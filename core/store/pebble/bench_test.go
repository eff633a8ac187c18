//go:build linux

package pebble

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/reflectory/reflectory/core"
)

// recordBytes and indexBytes are the sizes of a typical memory and an index key.
const recordBytes, eventBytes = 600, 300

// putRecord writes what one memory takes: a record, three indices and an event.
func putRecord(tx core.Tx, n uint64) error {
	number := binary.BigEndian.AppendUint64(nil, n)
	for _, w := range []struct {
		prefix string
		size   int
	}{{"record/", recordBytes}, {"by-space/", 0}, {"by-kind/", 0}, {"by-time/", 0}, {"event/", eventBytes}} {
		if err := tx.Put(append([]byte(w.prefix), number...), make([]byte, w.size)); err != nil {
			return err
		}
	}
	return nil
}

// rawFile appends and syncs the same bytes without a store.
type rawFile struct {
	*os.File
	data []byte
}

func (f rawFile) commit(int) error {
	if _, err := f.Write(f.data); err != nil {
		return err
	}
	return syscall.Fdatasync(int(f.Fd()))
}

// BenchmarkCommit reports a synced commit's median against a raw fdatasync of
// the same bytes, interleaved (target: 1.6), and how many times the commits per
// second grow from 1 writer to 64 (target: 20).
func BenchmarkCommit(b *testing.B) {
	s := openTest(b, Options{Dir: b.TempDir()}, vfs.Default)
	f, err := os.Create(filepath.Join(b.TempDir(), "raw"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	raw := rawFile{f, make([]byte, recordBytes+eventBytes+5*16)}
	var n atomic.Uint64
	commit := func(int) error {
		return s.Update(b.Context(), func(tx core.Tx) error { return putRecord(tx, n.Add(1)) })
	}
	const round = 100
	var one, base, crowd []time.Duration
	for b.Loop() {
		one = append(one, measure(b, 1, round, commit)...)
		base = append(base, measure(b, 1, round, raw.commit)...)
		start := time.Now()
		measure(b, 64, round, commit)
		crowd = append(crowd, time.Since(start)/(64*round))
	}
	b.ReportMetric(float64(median(one).Nanoseconds()), "commit-p50-ns")
	b.ReportMetric(float64(median(base).Nanoseconds()), "raw-p50-ns")
	b.ReportMetric(float64(median(one))/float64(median(base)), "x-raw")
	b.ReportMetric(float64(median(one))/float64(median(crowd)), "x-at-64-writers")
}

// measure makes each of some writers call fn n times with its number, and returns each
// duration.
func measure(b testing.TB, writers, n int, fn func(writer int) error) []time.Duration {
	took := make([]time.Duration, writers*n)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range n {
				start := time.Now()
				if err := fn(w); err != nil {
					b.Error(err)
					return
				}
				took[w*n+i] = time.Since(start)
			}
		})
	}
	all.Wait()
	return took
}

func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2]
}

func BenchmarkGet(b *testing.B) {
	s := openTest(b, Options{Dir: b.TempDir()}, vfs.Default)
	const records = 10000
	for i := uint64(0); i < records; i += 100 {
		err := s.Update(b.Context(), func(tx core.Tx) error {
			for j := range uint64(100) {
				if err := putRecord(tx, i+j); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := s.db.Flush(); err != nil {
		b.Fatal(err)
	}
	var n uint64
	for b.Loop() {
		n = (n + 7919) % records
		key := binary.BigEndian.AppendUint64([]byte("record/"), n)
		err := s.View(b.Context(), func(r core.Reader) error {
			if _, found, err := r.Get(key); !found || err != nil {
				b.Errorf("record %d: found %v, error %v", n, found, err)
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	o := Options{Dir: b.TempDir()}
	for b.Loop() {
		s, err := Open(b.Context(), o)
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
