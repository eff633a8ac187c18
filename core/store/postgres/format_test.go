package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/postgres"
	"github.com/reflectory/reflectory/core/store/storetest"
	"github.com/reflectory/reflectory/sdk"
)

// A host of the next format migrates under the writes of one of the present format, which
// from then on writes nothing, and says why. Nothing that it acknowledged is lost.
func TestFormat_MigrationStopsOlderHosts(t *testing.T) {
	const keys = store.PartKeys + 10
	o := postgres.Options{URL: shared.Cluster(t).URL(t)}
	old := open(t, o)
	storetest.FillOldFormat(t, old, keys)
	var acknowledged atomic.Int64
	var refused error
	var writer sync.WaitGroup
	writer.Go(func() {
		for n := int64(0); refused == nil; n++ {
			refused = old.Update(context.Background(), func(tx core.Tx) error {
				return errors.Join(tx.Put([]byte("count"), fmt.Appendf(nil, "%d", n+1)), tx.Put(fmt.Appendf(nil, "entry/%06d", n), nil))
			})
			if refused == nil {
				acknowledged.Add(1)
			}
		}
	})
	for acknowledged.Load() < 5 {
		runtime.Gosched()
	}
	next, err := postgres.OpenWith(t.Context(), o, storetest.NextFormat())
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	writer.Wait()
	if sdk.ReasonOf(refused) != "store_format_newer" || sdk.ReasonOf(old.Newer()) != "store_format_newer" {
		t.Errorf("the older host: %v; %v", refused, old.Newer())
	}
	storetest.CheckNextFormat(t, next, keys)
	err = next.Update(t.Context(), func(tx core.Tx) error {
		entries := int64(0)
		err := core.ScanPrefix(tx, []byte("entry/"), func(_, _ []byte) (bool, error) { entries++; return true, nil })
		count, _, errCount := tx.Get([]byte("count"))
		if entries != acknowledged.Load() || string(count) != fmt.Sprint(entries) {
			t.Errorf("%d entries and a count of %s, acknowledged are %d", entries, count, acknowledged.Load())
		}
		return errors.Join(err, errCount, tx.Put([]byte("count"), []byte("0")))
	})
	if err != nil {
		t.Errorf("the newer host: %v", err)
	}
	if _, err := postgres.Open(t.Context(), o); sdk.ReasonOf(err) != "store_format_newer" {
		t.Errorf("an older host that opens: %v", err)
	}
}
