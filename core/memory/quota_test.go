package memory_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

// TestQuota_IsASum: a limit of a namespace bounds what it holds with everything below it. Each step
// is a change of the settings "namespace field=value", or a namespace in which a memory of 10
// bytes is stored; "!" follows one that is refused, and the level that decides.
func TestQuota_IsASum(t *testing.T) {
	for _, c := range []struct{ name, steps string }{
		{"children count towards the parent", "team:max_memories=3 team/a team/b team/c team/d!team"},
		{"the parent itself counts", "team:max_memories=2 team team/a team!team team/a!team"},
		{"depth doesn't matter", "team:max_memories=2 team/a/b/c team/d/e/f team/g/h/i!team"},
		{"bytes too", "team:max_bytes=25 team/a team/b team/c!team"},
		{"a locked limit", "team:max_bytes=25 team:locked team/a team/b team/c!team"},
		{"a child's higher limit doesn't lift the parent's", "team:max_memories=2 team/a:max_memories=9 team/a team/a team/a!team"},
		{"a child's lower limit holds too", "team:max_memories=3 team/a:max_memories=1 team/a team/a!team/a team/b team/b team/b!team"},
		{"a grandchild counts for both", "team:max_memories=9 team/a:max_memories=2 team/a/x team/a/y team/a/z!team/a team/b"},
		{"names that only begin alike don't count", "team:max_memories=1 team-a teams team.x team team!team"},
		{"what was there before counts", "team/a team/b/c team:max_memories=3 team team/d!team"},
		{"a limit below what is there", "team/a team/b team/c team:max_memories=2 team/a!team"},
		{"a raised limit", "team:max_memories=1 team/a team/b!team team:max_memories=2 team/b team/c!team"},
		{"a limit that is set again", "team:max_memories=1 team/a team:max_memories=0 team/b team/c team:max_memories=4 team/d team/e!team"},
		{"for all: each tenant by itself", "*:max_memories=2 team/a team/b team/c!* other/a other/b other/c!*"},
		{"for all, and more for one", "*:max_memories=1 team:max_memories=2 team/a team/b team/c!team other/a other/b!*"},
		{"for all, locked", "*:max_memories=1 *:locked team/a team/b!*"},
		{"for users: each user", "users:max_memories=2 users/ana users/ana/x users/ana/y!users users/bob/x users/bob users/bob!users"},
		{"two limits", "team:max_memories=3 team:max_bytes=25 team/a team/b team/c!team"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGoverned(t, mem.Open(), nil)
			for i, step := range strings.Fields(c.steps) {
				if namespace, field, is := strings.Cut(step, ":"); is {
					if field == "locked" {
						g.set(t, namespace, "locked=limits")
					} else {
						g.set(t, namespace, "limits."+field)
					}
					continue
				}
				namespace, level, refused := strings.Cut(step, "!")
				_, err := g.Observe(t.Context(), &core.ObserveRequest{Namespace: namespace, Title: "title", Content: fmt.Sprintf("%05d", i)})
				if !refused && err != nil || refused && (sdk.ReasonOf(err) != "namespace_full" || sdk.AsError(err).Details["decided_by"] != level) {
					t.Fatalf("step %d, %s: %v %v", i, step, err, sdk.AsError(err))
				}
			}
			if list := g.problems(t); len(list) != 0 {
				t.Errorf("problems: %+v", list)
			}
		})
	}
}

// TestQuota_FollowsPurges: what is erased makes room, and what a repair deletes is made again.
func TestQuota_FollowsPurges(t *testing.T) {
	g := newGoverned(t, openPebble(t), nil)
	g.set(t, "team", "limits.max_memories=2")
	observe := func(namespace string) (string, error) {
		m, err := g.Observe(t.Context(), &core.ObserveRequest{Namespace: namespace, Content: "a fact of " + namespace})
		if err != nil {
			return "", err
		}
		return m.ID, nil
	}
	first, err := observe("team/a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = observe("team/b"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err = observe("team/c"); sdk.ReasonOf(err) != "namespace_full" {
			t.Fatal(err)
		}
		if err := g.Rebuild(t.Context(), g.store); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := g.Gate.Erase(core.WithCaller(t.Context(), core.Operator("")), first, memory.EraseRequest{Reason: "test"}); err != nil {
		t.Fatal(err)
	}
	if _, err = observe("team/c/d"); err != nil {
		t.Error("an erased memory still counts:", err)
	}
	if _, err = observe("team"); sdk.ReasonOf(err) != "namespace_full" {
		t.Error(err)
	}
}

// TestQuota_IsExactUnderConcurrency on both kinds of embedded stores.
func TestQuota_IsExactUnderConcurrency(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		g := newGoverned(t, s, func(o *memory.Options) { o.Subscribers = nil }) // the world's takes no calls at once
		g.set(t, "team", "limits.max_memories=20")
		var stored, refused atomic.Int64
		var all sync.WaitGroup
		for w := range 6 {
			all.Go(func() {
				for n := range 8 {
					_, err := g.Observe(t.Context(), &core.ObserveRequest{Namespace: fmt.Sprintf("team/%d", w), Content: fmt.Sprint("fact ", n)})
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
		if stored.Load() != 20 || refused.Load() != 28 {
			t.Errorf("%d were stored and %d refused, of 48 with a limit of 20", stored.Load(), refused.Load())
		}
		if list := g.problems(t); len(list) != 0 {
			t.Errorf("problems: %+v", list)
		}
	})
}

// TestQuota_Check finds sums that were edited, and a repair ends that.
func TestQuota_Check(t *testing.T) {
	for _, edit := range []struct{ name, from, to, says string }{
		{"memories", `"memories":2`, `"memories":1`, "it counts 1 memories"},
		{"bytes", `"bytes":2`, `"bytes":3`, "in team and below"},
		{"namespace", `"team"`, `"team/c"`, "in team/c and below"},
		{"no JSON", `{"team"`, `["team"`, "can't be read"},
	} {
		t.Run(edit.name, func(t *testing.T) {
			g := newGoverned(t, mem.Open(), nil)
			g.set(t, "team", "limits.max_memories=2")
			for _, namespace := range []string{"team/a", "team/b"} {
				g.observe(t, core.ObserveRequest{Namespace: namespace, Title: "title", Content: "12345"})
			}
			const key = "memory-sum/team"
			value := dump(t, g.store)[key]
			edited := strings.Replace(value, edit.from, edit.to, 1)
			if edited == value {
				t.Fatalf("%s is %q", key, value)
			}
			change(t, g.store, func(tx core.Tx) error { return tx.Put([]byte(key), []byte(edited)) })
			list := g.problems(t)
			if len(list) != 1 || !list[0].Rebuildable || !strings.Contains(list[0].Message, edit.says) {
				t.Errorf("problems %+v, want %q", list, edit.says)
			}
			if err := g.Rebuild(t.Context(), g.store); err != nil || len(g.problems(t)) != 0 {
				t.Errorf("after a repair: %v, %+v", err, g.problems(t))
			}
		})
	}
}
