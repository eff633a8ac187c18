package pebble

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/memory"
)

// cloning is a store that has a crash after each commit of any caller.
type cloning struct {
	core.Store
	fs     memDisk
	mu     sync.Mutex
	clones []*vfs.MemFS
}

func (c *cloning) Update(ctx context.Context, fn func(core.Tx) error) error {
	err := c.Store.Update(ctx, fn)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clones = append(c.clones, c.fs.CrashClone(vfs.CrashCloneCfg{}))
	return err
}

// TestCrashAtEveryCommitOfTheIndex crashes at every commit of programs that observe, use and erase
// memories and keep their index. After each crash, what is kept finds what is found without it.
func TestCrashAtEveryCommitOfTheIndex(t *testing.T) {
	coretest.Long(t)
	if coretest.Plain(t) {
		return
	}
	fs := newMemDisk()
	s := &cloning{Store: openTest(t, Options{Dir: "db", MemTableBytes: 64 << 10}, fs), fs: fs}
	ids := &coretest.IDs{}
	for program := range 4 {
		w := indexWorld(t, s, ids, 1)
		recallAll(t, w)
		var last string
		for i := range 6 {
			m, err := w.Observe(t.Context(), &core.ObserveRequest{Namespace: "ns", Content: fmt.Sprintf("the pumps of dock%d run on day %d", i, program)})
			if err != nil {
				t.Fatal(err)
			}
			last = m.ID
			if i%2 == 0 {
				recallAll(t, w)
			}
		}
		if _, err := w.Gate.Erase(t.Context(), last, memory.EraseRequest{Reason: "because"}); err != nil {
			t.Fatal(err)
		}
		recallAll(t, w)
		w.Close()
	}
	restored := 0
	for i, fs := range s.clones {
		clone, err := open(t.Context(), Options{Dir: "db"}, fs)
		if err != nil {
			t.Fatal(err)
		}
		if err := soundMemories(t.Context(), clone); err != nil {
			t.Errorf("after commit %d: %v", i, err)
		}
		w := indexWorld(t, clone, &coretest.IDs{}, 0)
		with := recallAll(t, w)
		if p, _ := w.Warmth(); p.Restored > 0 {
			restored++
		}
		for _, prefix := range []string{"memory-index/", "memory-index-words/", "memory-index-docs/"} {
			if err := core.UpdateEach(t.Context(), clone, prefix, func(tx core.Tx, key string) error { return tx.Delete([]byte(key)) }); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(recallAll(t, indexWorld(t, clone, &coretest.IDs{}, 0)), with); diff != "" {
			t.Errorf("after commit %d (-without what is kept +with it):\n%s", i, diff)
		}
		if err := clone.Close(); err != nil {
			t.Error(err)
		}
	}
	if restored < len(s.clones)/2 {
		t.Errorf("what was kept was of use after %d of %d commits", restored, len(s.clones))
	}
}

// indexWorld are memories that keep their index from so many memories on.
func indexWorld(t *testing.T, s core.Store, ids core.IDs, keptFrom int) *memoryWorld {
	t.Helper()
	w, err := newMemoryWorld(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.log.Discard)
	w.options.IndexKeptFrom, w.options.IDs = keptFrom, ids
	if w.Memories, err = memory.New(w.options); err != nil {
		t.Fatal(err)
	}
	return w
}

// recallAll recalls with several queries.
func recallAll(t *testing.T, w *memoryWorld) string {
	t.Helper()
	var b strings.Builder
	for _, query := range []string{"pumps", "dock3", "day 2 of dock5", "dokc4"} {
		r := &core.RecallRequest{Query: query, Limit: 50}
		r.Namespace = "ns"
		result, err := w.Recall(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range result.Memories {
			fmt.Fprintln(&b, query, m.ID, m.Content, m.Score)
		}
	}
	return b.String()
}
