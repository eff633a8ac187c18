//go:build bench

package operation_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/store/pebble"
)

// commits counts a store's commits.
type commits struct {
	core.Store
	done atomic.Int64
}

func (s *commits) Update(ctx context.Context, fn func(core.Tx) error) error {
	err := s.Store.Update(ctx, fn)
	if err == nil {
		s.done.Add(1)
	}
	return err
}

// TestFigures measures what 64 callers at once wait for the answer of reflect, each of which
// makes a job on a disk.
func TestFigures(t *testing.T) {
	const callers, each = 64, 50
	p, err := pebble.Open(t.Context(), pebble.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() }) // after the host
	s := &commits{Store: p}
	w := operationtest.NewOn(t, s)
	var mu sync.Mutex
	var took coretest.Samples
	var work sync.WaitGroup
	before := s.done.Load()
	for caller := range callers {
		work.Go(func() {
			for n := range each {
				in := &operation.ReflectionEnqueue{UserID: fmt.Sprintf("user-%d-%d", caller, n), Force: true}
				began := time.Now()
				out, err := operation.Do(w.Ctx, operation.Call{Host: w.Host}, "reflection_enqueue", in)
				if answer, is := out.(*operation.ReflectionEnqueued); err != nil || !is || answer.Status != "queued" {
					t.Error(err, out)
					return
				}
				mu.Lock()
				took = append(took, time.Since(began))
				mu.Unlock()
			}
		})
	}
	work.Wait()
	coretest.Figure{Name: "reflect, 64 callers, p99", Value: took.Micros(0.99) / 1000, Unit: "ms", Target: 20}.Print(os.Stdout)
	coretest.Figure{Name: "… p50", Value: took.Micros(0.5) / 1000, Unit: "ms"}.Print(os.Stdout)
	coretest.Figure{Name: "… its commits a call, with the host's own records", Value: float64(s.done.Load()-before) / (callers * each), Unit: "", Target: 1.05}.Print(os.Stdout)
}
