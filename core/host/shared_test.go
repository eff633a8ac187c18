package host_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/store/storetest"
	"github.com/reflectory/reflectory/sdk"
)

// offClock is a clock that is wrong by so much.
type offClock time.Duration

func (c offClock) Now() time.Time { return time.Now().Add(time.Duration(c)) }

// openShared opens a host with a data folder of its own on a database. The clocks of two hosts
// are an hour apart, which changes nothing.
func openShared(ctx context.Context, t *testing.T, url string) *host.Host {
	t.Helper()
	off := offClock(time.Duration(opened.Add(1)%3) * time.Hour)
	dir := t.TempDir()
	settings, err := config.Load(config.Sources{Folder: dir, Flags: map[string]string{"data-dir": dir, "store": url}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(ctx, host.Config{Settings: settings, Clock: off})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

// opened counts hosts that were opened.
var opened atomic.Int64

// What one host observes, another recalls at once, and what one purges, another doesn't
// find any more.
func TestShared_RecallOverHosts(t *testing.T) {
	ctx := core.WithCaller(t.Context(), core.Operator("ada"))
	url := database.Cluster(t).URL(t)
	hosts := []*host.Host{openShared(ctx, t, url), openShared(ctx, t, url), openShared(ctx, t, url)}
	rounds := 20
	if os.Getenv(storetest.StressEnv) == "1" {
		rounds = 1000
	}
	recall := func(h *host.Host, word string) bool {
		t.Helper()
		found, err := h.Memories.Recall(ctx, &core.RecallRequest{Query: word, RecallFilter: core.RecallFilter{Namespace: "team"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range found.Memories {
			if m.Title == word {
				return true
			}
		}
		return false
	}
	missed, stale := 0, 0
	for i := range rounds {
		a, b, word := hosts[i%3], hosts[(i+1)%3], fmt.Sprintf("word%dx", i)
		m, err := a.Memories.Observe(ctx, &core.ObserveRequest{Namespace: "team", Title: word, Content: "This is " + word})
		if err != nil {
			t.Fatal(err)
		}
		if !recall(b, word) {
			missed++
		}
		purged, err := b.Memories.Gate.Erase(ctx, m.ID, memory.EraseRequest{Reason: "a test"})
		if err != nil {
			t.Fatal(err)
		}
		if keeps := strings.Join(purged.GivenTo.RetainedIn, " "); keeps != "wal standby backup" {
			t.Errorf("what was purged is retained in %q", keeps)
		}
		if recall(a, word) {
			stale++
		}
	}
	if missed > 0 || stale > 0 {
		t.Errorf("of %d memories of another host, %d weren't found, and %d were found after their purge", rounds, missed, stale)
	}
	s, err := hosts[0].Databases.Stats(ctx)
	if err != nil || s == nil || s.Commits == 0 || s.Members < s.Commits || s.RoundTrips <= s.Commits || s.DeadRows < 0 {
		t.Errorf("the database's figures are %+v, %v", s, err)
	}
}

// An operation of the data folder's store is refused for a database.
func TestShared_RefusesBackup(t *testing.T) {
	ctx := core.WithCaller(t.Context(), core.Operator("ada"))
	h := openShared(ctx, t, database.Cluster(t).URL(t))
	if _, err := h.Storage.Backup(ctx, t.TempDir(), false); sdk.ReasonOf(err) != "store_not_local" {
		t.Errorf("Backup: %v", err)
	}
	if s := h.Status().Store; s.Database == nil || s.Database.Version == "" || s.Database.Warning == "" || s.Problem != nil {
		t.Errorf("the store's status is %+v, %+v", s, s.Database)
	}
}

// A limit of a namespace holds exactly for all that is below it, whichever hosts write at once.
func TestShared_LimitsHoldExactly(t *testing.T) {
	ctx := core.WithCaller(t.Context(), core.Operator("ada"))
	url := database.Cluster(t).URL(t)
	hosts := []*host.Host{openShared(ctx, t, url), openShared(ctx, t, url), openShared(ctx, t, url)}
	const limit = 10
	if _, err := hosts[0].Governance.Set(ctx, "team", fmt.Sprintf("limits.max_memories=%d", limit)); err != nil {
		t.Fatal(err)
	}
	var stored, refused atomic.Int64
	var all sync.WaitGroup
	for i, h := range hosts {
		all.Go(func() {
			for n := range limit {
				_, err := h.Memories.Observe(ctx, &core.ObserveRequest{Namespace: [...]string{"team", "team/a", "team/b/c"}[(n+i)%3], Content: fmt.Sprintf("fact %d of host %d", n, i)})
				switch {
				case err == nil:
					stored.Add(1)
				case sdk.ReasonOf(err) == "namespace_full":
					refused.Add(1)
				default:
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if stored.Load() != limit || refused.Load() != 2*limit {
		t.Errorf("%d memories were stored and %d refused, of %d with a limit of %d", stored.Load(), refused.Load(), 3*limit, limit)
	}
}
