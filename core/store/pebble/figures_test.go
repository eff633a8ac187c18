//go:build bench

package pebble

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
)

const (
	rounds = 11  // turns of each, interleaved
	calls  = 100 // commits a turn and writer

	// manyRecords is the size of the store that open and get are measured on.
	manyRecords = 1_000_000
	manyBytes   = 200
)

// TestFigures measures commits against a bare fdatasync of the same bytes, and
// opening and reading a store of a million records.
func TestFigures(t *testing.T) {
	commitFigures(t)
	aloneFigures(t)
	slowFigures(t)
	sizeFigures(t)
}

func commitFigures(t *testing.T) {
	s := openTest(t, Options{Dir: t.TempDir()}, vfs.Default)
	f, err := os.Create(filepath.Join(t.TempDir(), "raw"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	raw := rawFile{f, make([]byte, recordBytes+eventBytes+5*16)}
	var n atomic.Uint64
	commit := func(int) error {
		return s.Update(t.Context(), func(tx core.Tx) error { return putRecord(tx, n.Add(1)) })
	}
	var one, base, rate coretest.Samples
	for round := range rounds + 1 {
		a, b := measure(t, 1, calls, commit), measure(t, 1, calls, raw.commit)
		start := time.Now()
		measure(t, 64, calls, commit)
		if round > 0 { // the first warms up
			one, base = append(one, a...), append(base, b...)
			rate = append(rate, time.Since(start)/(64*calls))
		}
	}
	coretest.Ratio("synced commit (record, 3 indices, event) over fdatasync", one, base, 1.6).Print(os.Stdout)
	coretest.Figure{
		Name: "commits at 64 writers over 1 writer", Value: one.Micros(0.5) / rate.Micros(0.5), Unit: "×",
		Target: coretest.SharedSyncs(base), AtLeast: true,
		Note: fmt.Sprintf("%.0f over %.0f commits/s", 1e6/rate.Micros(0.5), 1e6/one.Micros(0.5)),
	}.Print(os.Stdout)
}

// aloneFigures tells our part in what 64 writers take. Where the disk is fast, the
// processor bounds them, which merges files meanwhile.
func aloneFigures(t *testing.T) {
	s := openTest(t, Options{Dir: t.TempDir()}, vfs.Default)
	db := openTest(t, Options{Dir: t.TempDir()}, vfs.Default).db
	var n atomic.Uint64
	commit := func(int) error {
		return s.Update(t.Context(), func(tx core.Tx) error { return putRecord(tx, n.Add(1)) })
	}
	alone := func(int) error { return pebbleAlone(db, n.Add(1)) }
	var ours, theirs coretest.Samples
	for round := range rounds + 1 {
		start := time.Now()
		measure(t, 64, calls, commit)
		middle := time.Now()
		measure(t, 64, calls, alone)
		if round > 0 {
			ours = append(ours, middle.Sub(start)/(64*calls))
			theirs = append(theirs, time.Since(middle)/(64*calls))
		}
	}
	coretest.Ratio("commits at 64 writers over Pebble's alone", ours, theirs, 0).Print(os.Stdout)
}

// pebbleAlone writes what putRecord does, without a transaction.
func pebbleAlone(db *pebble.DB, n uint64) error {
	b := db.NewBatch()
	if err := putRecord(batchTx{batch: b}, n); err != nil {
		return err
	}
	return b.Commit(pebble.Sync)
}

// batchTx is a batch as putRecord takes it, which only puts.
type batchTx struct {
	core.Tx
	batch *pebble.Batch
}

// Put implements [core.Tx].
func (b batchTx) Put(key, value []byte) error { return b.batch.Set(key, value, nil) }

func sizeFigures(t *testing.T) {
	o := Options{Dir: t.TempDir(), Durability: Relaxed}
	fill(t, o)
	var opened coretest.Samples
	for range rounds {
		start := time.Now()
		s, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		opened = append(opened, time.Since(start))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	coretest.Figure{
		Name: "open with a million records", Value: opened.Micros(0.5) / 1e3, Unit: "ms", Target: 50,
		Note: fmt.Sprintf("p10 %.1f ms", opened.Micros(0.1)/1e3),
	}.Print(os.Stdout)
	got := reads(t, openTest(t, o, vfs.Default))
	coretest.Figure{
		Name: "get of a million records", Value: got.Micros(0.5), Unit: "µs", Target: 25,
		Note: fmt.Sprintf("p10 %.1f, p90 %.1f µs, each in a View of its own, at random", got.Micros(0.1), got.Micros(0.9)),
	}.Print(os.Stdout)
}

// fill writes manyRecords records.
func fill(t *testing.T, o Options) {
	s := openTest(t, o, vfs.Default)
	random := rand.NewChaCha8([32]byte{1})
	value := make([]byte, manyBytes)
	for from := 0; from < manyRecords; from += 1000 {
		err := s.Update(t.Context(), func(tx core.Tx) error {
			for i := from; i < from+1000; i++ {
				_, _ = random.Read(value[:manyBytes/2]) // half of it compresses
				if err := tx.Put(manyKey(i), value); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func manyKey(i int) []byte { return binary.BigEndian.AppendUint64([]byte("record/"), uint64(i)) }

// reads gets records at random, and returns how long each took.
func reads(t *testing.T, s *Store) (took coretest.Samples) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		key := manyKey(random.IntN(manyRecords))
		start := time.Now()
		err := s.View(t.Context(), func(r core.Reader) error {
			_, found, err := r.Get(key)
			if !found {
				t.Errorf("%x is missing", key)
			}
			return err
		})
		took = append(took, time.Since(start))
		if err != nil {
			t.Fatal(err)
		}
	}
	return took[len(took)/10:] // the first fill the cache
}
