package run_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	corerun "github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// problems checks a store.
func problems(t *testing.T, s core.Store) (list []core.Problem) {
	t.Helper()
	count, err := store.Check(t.Context(), s, parts(), func(p core.Problem) { list = append(list, p) })
	if err != nil || count != len(list) {
		t.Fatalf("%d problems, %d told, error %v", count, len(list), err)
	}
	return list
}

func TestCheckFindsWhatDoesNotHold(t *testing.T) {
	type tamper func(core.Tx, []string) error
	drop := func(key func(ids []string) []byte) tamper {
		return func(tx core.Tx, ids []string) error { return tx.Delete(key(ids)) }
	}
	edit := func(key func(ids []string) []byte, from, to string) tamper {
		return func(tx core.Tx, ids []string) error {
			value, _, err := tx.Get(key(ids))
			if err != nil || !strings.Contains(string(value), from) {
				return fmt.Errorf("%s lacks %s: %v", value, from, err)
			}
			return tx.Put(key(ids), []byte(strings.Replace(string(value), from, to, 1)))
		}
	}
	run := func(ids []string) []byte { return corerun.RunKey(ids[0]) }
	attempt := func(ids []string) []byte { return corerun.AttemptKey(ids[0], 1, 1) }
	cases := []struct {
		name   string
		tamper tamper
		key    string
		says   string
	}{
		{"another workflow", edit(run, `"workflow":"`, `"workflow":"x`), "run/", "doesn't match its events"},
		{"another holder", edit(run, `"epoch":1`, `"epoch":2`), "run/", "doesn't match its events"},
		{"another exhausted loop", edit(run, `"score":`, `"exhausted_loops":["x"],"score":`), "run/", "doesn't match its events"},
		{"another time", edit(run, `"updated_at":"2`, `"updated_at":"1`), "run/", "doesn't match its events"},
		{"another verdict", edit(attempt, `"valid":`, `"valid":true,"x":`), "attempt/", "doesn't match its events"},
		{"another score", edit(attempt, `"score":`, `"score":7,"x":`), "attempt/", "doesn't match its events"},
		{"another node", edit(attempt, `"node":"`, `"node":"x`), "attempt/", "it says that it is attempt"},
		{"a score above 1", edit(run, `"score":`, `"score":1`), "run/", "out of its bounds"},
		{"fewer iterations than none", edit(run, `"iterations":`, `"iterations":-1`), "run/", "out of its bounds"},
		{"fewer tokens than none", edit(run, `"usage":{"tokens_in":`, `"usage":{"tokens_in":-1`), "run/", "out of its bounds"},
		{"fewer uses than none", edit(run, `"epoch":`, `"used":-1,"epoch":`), "run/", "out of its bounds"},
		{"another way", edit(func(ids []string) []byte { return corerun.VisitKey(ids[0], 1) }, `"number":1`, `"number":1,"next":"x"`), "visit/", "doesn't match its event"},
		{"nothing", func(core.Tx, []string) error { return nil }, "", ""},
		{"no content", drop(func(ids []string) []byte { return corerun.ContentKey(ids[0]) }), "run-content/" + runID[:35] + "1", "it is missing"},
		{"no index", drop(func(ids []string) []byte { return corerun.TimeKey(coretest.Epoch(), ids[1]) }), "run-time/", "the index lacks"},
		{"an attempt is gone", drop(func(ids []string) []byte { return corerun.AttemptKey(ids[0], 1, 2) }), "attempt/", "it says that it is attempt 3"},
		{"the newest attempt is gone", drop(func(ids []string) []byte { return corerun.AttemptKey(ids[1], 1, 2) }), "attempt/", "the open visit has 1 attempts, but the run says 2"},
		{"a visit is gone", drop(func(ids []string) []byte { return corerun.VisitKey(ids[0], 1) }), "visit/", "0 are stored"},
		{"no run, but all else", drop(func(ids []string) []byte { return corerun.RunKey(ids[2]) }), "run-content/", "a run that doesn't exist"},
		{"no JSON", func(tx core.Tx, ids []string) error { return tx.Put(corerun.RunKey(ids[0]), []byte("{")) }, "run/", "can't be decoded"},
		{"a strange id", func(tx core.Tx, _ []string) error { return tx.Put([]byte("run/a b"), []byte("{}")) }, "run/a b", "its key isn't the key of a run"},
		{"an event was edited", func(tx core.Tx, ids []string) error {
			return tx.Put([]byte("event/run/"+ids[2]+"\x00\x00\x00\x00\x00\x00\x00\x00\x01"), []byte(`{"seq":1}`))
		}, "event/run/", "edited"},
		{"no events", func(tx core.Tx, ids []string) error {
			_ = tx.Delete([]byte("event-head/run/" + ids[2]))
			return tx.Delete([]byte("event/run/" + ids[2] + "\x00\x00\x00\x00\x00\x00\x00\x00\x01"))
		}, "run/", "the run has no events"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			onEngines(t, func(t *testing.T, s core.Store) {
				ids := someRuns(t, s)
				change(t, s, func(tx core.Tx) error { return c.tamper(tx, ids) })
				found := problems(t, s)
				if c.says == "" {
					if len(found) > 0 {
						t.Errorf("found %v", found)
					}
					return
				}
				for _, p := range found {
					if strings.HasPrefix(p.Key, c.key) && strings.Contains(p.Message, c.says) {
						return
					}
				}
				t.Errorf("found %+v, want %s: %s", found, c.key, c.says)
			})
		})
	}
}

func TestRebuildFixesTheIndex(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		ids := someRuns(t, s)
		before := dump(t, s)
		change(t, s, func(tx core.Tx) error {
			for _, stray := range [][]byte{corerun.TimeKey(coretest.Epoch(), "nobody"), corerun.TimeKey(coretest.Epoch().AddDate(1, 0, 0), ids[0])} {
				if err := tx.Put(stray, nil); err != nil {
					return err
				}
			}
			return tx.Delete(corerun.TimeKey(coretest.Epoch(), ids[1]))
		})
		found := problems(t, s)
		if len(found) != 3 {
			t.Errorf("found %v", found)
		}
		for _, p := range found {
			if !p.Rebuildable {
				t.Errorf("not rebuildable: %+v", p)
			}
		}
		for range 2 {
			if err := store.Rebuild(t.Context(), s, parts()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, dump(t, s)); diff != "" {
				t.Errorf("(-before +after):\n%s", diff)
			}
		}
	})
}

func TestRebuild_LeavesDamagedRunsOutOfLists(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		ids := someRuns(t, s)
		change(t, s, func(tx core.Tx) error { return tx.Put(corerun.RunKey(ids[1]), []byte("{")) })
		runs := corerun.NewRepository(s, new(coretest.Clock))
		if _, _, err := runs.List(t.Context(), corerun.ListFilter{}); sdk.ReasonOf(err) != "record_corrupt" {
			t.Errorf("before: %v", err)
		}
		if err := store.Rebuild(t.Context(), s, parts()); err != nil {
			t.Fatal(err)
		}
		list, _, err := runs.List(t.Context(), corerun.ListFilter{})
		if err != nil || len(list) != len(ids)-1 {
			t.Errorf("%d runs, %v", len(list), err)
		}
		if found := problems(t, s); len(found) != 1 || found[0].Key != "run/"+ids[1] {
			t.Errorf("found %v", found)
		}
	})
}
