package gate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate"
)

// furnished has evidence of each kind.
func furnished(d *desk) {
	d.Helper()
	d.Memories = homes{"m": "a", "m.": "a", "m2": "b"}
	for i, id := range []string{"m", "m.", "m2", "m"} {
		o := tool(int64(i), i%2 == 0, i == 3, fmt.Sprint("log:", i))
		o.MemoryID = id
		d.tools(o)
	}
	d.dag(line("v", map[string][]string{"m": {"a"}, "m.": {"b"}}))
	d.dag(line("w", map[string][]string{"m": {"b"}}))
}

func problemsOf(d *desk) (list []core.Problem) {
	d.Helper()
	d.view(func(r core.Reader) error {
		return gate.Evidence{}.Check(d.Context(), r, func(p core.Problem) { list = append(list, p) })
	})
	return list
}

// pairs is all that is stored.
func pairs(d *desk) map[string]string {
	d.Helper()
	all := map[string]string{}
	d.view(func(r core.Reader) error {
		return r.Scan([]byte("\x00"), nil, func(key, value []byte) (bool, error) {
			all[string(key)] = string(value)
			return true, nil
		})
	})
	return all
}

func TestEvidenceIsFoundWhole(t *testing.T) {
	onEngines(t, func(t *testing.T, d *desk) {
		furnished(d)
		if got := problemsOf(d); got != nil {
			t.Errorf("%+v", got)
		}
		before := pairs(d)
		if err := (gate.Evidence{}).Rebuild(t.Context(), d.store); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, pairs(d)); diff != "" {
			t.Errorf("rebuilding changed what was right:\n%s", diff)
		}
	})
}

func del(d *desk, key []byte) {
	d.Helper()
	if err := d.store.Update(d.Context(), func(tx core.Tx) error { return tx.Delete(key) }); err != nil {
		d.Fatal(err)
	}
}

func TestWhatIsWrongWithEvidenceIsFoundAndFixed(t *testing.T) {
	first := tool(0, true, false, "log:0")
	cases := []struct {
		name    string
		damage  func(*desk)
		key     string
		message string
		rebuilt bool
	}{
		{"a memory missing in the index", func(d *desk) { del(d, gate.IndexKey("m", "w")) }, "evidence-dag-index/m/w", "the index lacks evidence-dag/w", true},
		{"a stray memory in the index", func(d *desk) { put(d, gate.IndexKey("m2", "w"), "") }, "evidence-dag-index/m2/w", "the index has an entry that follows from no record", true},
		{"a stray workflow in the index", func(d *desk) { put(d, gate.IndexKey("m", "x"), "") }, "evidence-dag-index/m/x", "the index has an entry that follows from no record", true},
		{"a stray tally", func(d *desk) { put(d, gate.TallyKey("x"), `{"outcomes":1}`) }, "evidence-tally/x", "it isn't the sum of the memory's outcomes", true},
		{"a missing tally", func(d *desk) { del(d, gate.TallyKey("m")) }, "evidence-tally/m", "it isn't the sum of the memory's outcomes", true},
		{"a wrong tally", func(d *desk) { put(d, gate.TallyKey("m"), `{"outcomes":2,"failures":2}`) }, "evidence-tally/m", "it isn't the sum of the memory's outcomes", true},
		{"a tally that can't be read", func(d *desk) { put(d, gate.TallyKey("m"), "?") }, "evidence-tally/m", "it isn't the sum of the memory's outcomes", true},
		{"an outcome that can't be read", func(d *desk) { put(d, gate.ToolKey(&first), "?") }, "evidence-tool/m/s/", "record evidence-tool/m/s/", false},
		{"an outcome's key of another form", func(d *desk) { put(d, []byte("evidence-tool/x"), "{}") }, "evidence-tool/x", "record evidence-tool/x: the key isn't an outcome's key", false},
		{"a changed graph", func(d *desk) { put(d, gate.DAGKey("x"), `{"digest":"sha256:0","graph":{"nodes":[]}}`) }, "evidence-dag/x", "the digest isn't the graph's", false},
		{"another graph", func(d *desk) {
			put(d, gate.DAGKey("w"), strings.Replace(pairs(d)[string(gate.DAGKey("w"))], `"at":"2`, `"at":"1`, 1))
		}, "evidence-dag/w", "the graph doesn't match its event", false},
		{"no graph", func(d *desk) { del(d, gate.DAGKey("w")); del(d, gate.IndexKey("m", "w")) }, "evidence-dag/w", "the graph is gone", false},
		{"another outcome", func(d *desk) {
			put(d, gate.ToolKey(&first), strings.Replace(pairs(d)[string(gate.ToolKey(&first))], `"tool":"`, `"tool":"x`, 1))
		}, "evidence-tool/m/s/", "the outcome doesn't match its events", false},
		{"a graph that can't be read", func(d *desk) { put(d, gate.DAGKey("x"), "?") }, "evidence-dag/x", "record evidence-dag/x: it can't be decoded", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			onEngines(t, func(t *testing.T, d *desk) {
				furnished(d)
				before := pairs(d)
				c.damage(d)
				got := problemsOf(d)
				if len(got) == 0 || !startsWith(got[0].Key, c.key) || !startsWith(got[0].Message, c.message) || got[0].Rebuildable != c.rebuilt || got[0].Part != "evidence" {
					t.Errorf("%+v", got)
				}
				if err := (gate.Evidence{}).Rebuild(t.Context(), d.store); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(before, pairs(d)); c.rebuilt && diff != "" {
					t.Errorf("rebuilt:\n%s", diff)
				}
				if again := problemsOf(d); !c.rebuilt && len(again) == 0 {
					t.Errorf("a problem that can't be rebuilt went: %+v", again)
				}
			})
		})
	}
}

func startsWith(text, prefix string) bool {
	return len(text) >= len(prefix) && text[:len(prefix)] == prefix
}

// TestDerivedKeysAreMadeAgain is what an import does, which has only the others.
func TestDerivedKeysAreMadeAgain(t *testing.T) {
	onEngines(t, func(t *testing.T, d *desk) {
		furnished(d)
		for turn := range int64(30) { // more than a tally's references
			d.tools(tool(turn, false, false, ""))
		}
		before := pairs(d)
		for key := range before {
			for _, prefix := range (gate.Evidence{}).Derived() {
				if startsWith(key, prefix) {
					del(d, []byte(key))
				}
			}
		}
		if len(pairs(d)) != len(before)-6 {
			t.Fatalf("%d of %d keys are left", len(pairs(d)), len(before))
		}
		if err := (gate.Evidence{}).Rebuild(t.Context(), d.store); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, pairs(d)); diff != "" {
			t.Error(diff)
		}
	})
}

// TestManyStrayKeysAreDeleted crosses the bound of a transaction.
func TestManyStrayKeysAreDeleted(t *testing.T) {
	d := newPebble(t)
	furnished(d)
	before := pairs(d)
	err := d.store.Update(t.Context(), func(tx core.Tx) error {
		for i := range 2500 {
			if err := tx.Put(gate.IndexKey(fmt.Sprint("m", i), "w"), nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := (gate.Evidence{}).Rebuild(t.Context(), d.store); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, pairs(d)); diff != "" {
		t.Error(diff)
	}
}

func TestACheckEndsWhenItIsCancelled(t *testing.T) {
	d := newMem(t)
	furnished(d)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d.view(func(r core.Reader) error {
		if err := (gate.Evidence{}).Check(ctx, r, func(core.Problem) {}); !errors.Is(err, context.Canceled) {
			t.Errorf("Check: %v", err)
		}
		return nil
	})
	if err := (gate.Evidence{}).Rebuild(ctx, d.store); !errors.Is(err, context.Canceled) {
		t.Errorf("Rebuild: %v", err)
	}
}
