//go:build bench

package pebble

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/governance"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/memory/embed"
)

// slowSync is how long a sync takes at least on a slow disk: the usual 1 ms of a
// disk that is reached over a network.
const slowSync = time.Millisecond

// slowFS is a file system on a slow disk.
type slowFS struct{ vfs.FS }

// slowFile is a file on a slow disk.
type slowFile struct{ vfs.File }

// Create implements vfs.FS.
func (fs slowFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return slow(fs.FS.Create(name, category))
}

// ReuseForWrite implements vfs.FS.
func (fs slowFS) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return slow(fs.FS.ReuseForWrite(from, to, category))
}

func slow(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return slowFile{f}, nil
}

// Sync implements vfs.File.
func (f slowFile) Sync() error { return slowly(f.File.Sync) }

// SyncData implements vfs.File.
func (f slowFile) SyncData() error { return slowly(f.File.SyncData) }

func slowly(sync func() error) error {
	start := time.Now()
	err := sync()
	time.Sleep(slowSync - time.Since(start))
	return err
}

// slowFigures measures how many commits share a sync where syncs take their time:
// on the machine's own disk, which may be fast, the processor bounds them instead.
func slowFigures(t *testing.T) {
	s := openTest(t, Options{Dir: t.TempDir()}, slowFS{vfs.Default})
	var n atomic.Uint64
	growth(t, "commits", func(int) error {
		return s.Update(t.Context(), func(tx core.Tx) error { return putRecord(tx, n.Add(1)) })
	})
	content := strings.Repeat("what was learned ", 12)
	for _, kind := range []struct {
		name  string
		embed core.Embedder
		space func(writer int) string
	}{
		{"observes", nil, func(w int) string { return fmt.Sprint("writer/", w) }},
		{"observes with a vector", embed.Hashed{}, func(w int) string { return fmt.Sprint("writer/", w) }},
		{"observes with a vector in one namespace", embed.Hashed{}, func(int) string { return "all" }},
	} {
		s := openTest(t, Options{Dir: t.TempDir()}, slowFS{vfs.Default})
		m, err := memory.New(memory.Options{Store: s, Embedder: kind.embed, Governor: governance.New(&journal.Writer{Store: s})})
		if err != nil {
			t.Fatal(err)
		}
		growth(t, kind.name, func(writer int) error {
			_, err := m.Observe(t.Context(), &core.ObserveRequest{Namespace: kind.space(writer), Title: "a lesson", Content: content})
			return err
		})
	}
}

// growth measures how many more commits 64 writers make than one.
func growth(t *testing.T, name string, commit func(writer int) error) {
	const slowCalls = 30
	var one, rate, used coretest.Samples
	for round := range rounds + 1 {
		a := measure(t, 1, slowCalls, commit)
		start, before := time.Now(), coretest.ProcessorTime()
		measure(t, 64, slowCalls, commit)
		if round > 0 { // the first warms up
			one = append(one, a...)
			rate = append(rate, time.Since(start)/(64*slowCalls))
			used = append(used, (coretest.ProcessorTime()-before)/(64*slowCalls))
		}
	}
	coretest.Figure{
		Name: name + " at 64 writers over 1, syncs of 1 ms", Value: one.Micros(0.5) / rate.Micros(0.5), Unit: "×", Target: 20, AtLeast: true,
		Note: fmt.Sprintf("%.0f (p10 %.0f) over %.0f a second (p10 %.0f), each %.0f µs of processor time",
			1e6/rate.Micros(0.5), 1e6/rate.Micros(0.9), 1e6/one.Micros(0.5), 1e6/one.Micros(0.9), used.Micros(0.5)),
	}.Print(os.Stdout)
}
