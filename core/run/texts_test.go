package run_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/core/store"
)

const (
	note     = `{"id":"m","namespace":"a","agent_id":"","kind":"observation","title":"a secret title","content":"secret <b>","tags":["secret tag"],"metadata":{"k":"a secret"},"state":"open","version":1`
	recalled = `{"session":"s","turn":1,"memories":[` + note + `,"rank":0,"score":0.5,"why":{}},{"id":"n","namespace":"a","kind":"observation","title":"","content":"secret too","state":"open","rank":1}]}`
	observed = note + `}`
)

// purgedKey marks a memory as purged, in these tests.
func purgedKey(id string) []byte { return []byte("memory-purged/" + id) }

func isPurged(r core.Reader, id string) (bool, error) {
	_, found, err := r.Get(purgedKey(id))
	return found, err
}

// newBenchOfMemories is a bench whose run recalled two memories and observed one.
func newBenchOfMemories(t *testing.T) *bench {
	b := newBench(t)
	b.runs.Purged = isPurged
	recorder := b.runs.Recorder(b.run)
	for i, result := range []string{recalled, observed} {
		b.must(recorder.RecordVisit(b.ctx, &core.Visit{Number: i + 1, Node: "n", Next: "n", Result: json.RawMessage(result)}))
	}
	return b
}

// purge purges a memory, and returns the runs that were given it.
func (b *bench) purge(id string) (runs []string) {
	b.t.Helper()
	b.must(b.store.Update(b.ctx, func(tx core.Tx) (err error) {
		if runs, err = (run.Memories{}).Forget(tx, id); err != nil {
			return err
		}
		return tx.Put(purgedKey(id), []byte("{}"))
	}))
	return runs
}

func (b *bench) problems() (all []string) {
	b.t.Helper()
	parts := []core.Checker{journal.Checker{}, run.Checker{Purged: isPurged}}
	_, err := store.Check(b.ctx, b.store, parts, func(p core.Problem) { all = append(all, p.Key+": "+p.Message) })
	b.must(err)
	return all
}

// holds reports whether any value of the store has a text.
func (b *bench) holds(text string) (found bool) {
	b.must(b.store.View(b.ctx, func(r core.Reader) error {
		return r.Scan(nil, nil, func(_, value []byte) (bool, error) {
			found = found || strings.Contains(string(value), text)
			return true, nil
		})
	}))
	return found
}

func TestMemories_ArePutBackUntilTheyArePurged(t *testing.T) {
	b := newBenchOfMemories(t)
	want := []string{recalled, observed}
	b.wantResults(want)
	if runs := b.purge("n"); !slices.Equal(runs, []string{runID}) {
		t.Errorf("n was given to %v", runs)
	}
	want[0] = strings.Replace(strings.Replace(recalled, `"title":""`, `"title":"[purged]"`, 1), "secret too", "[purged]", 1)
	b.wantResults(want)
	if runs := b.purge("m"); !slices.Equal(runs, []string{runID}) {
		t.Errorf("m was given to %v", runs)
	}
	for _, text := range []string{"a secret title", "secret <b>", "secret tag", "a secret", "secret too"} {
		if b.holds(text) {
			t.Errorf("the store holds %q", text)
		}
	}
	if all := b.problems(); len(all) > 0 {
		t.Error(all)
	}

	// A recall that is recorded after the purge leaves nothing either, nor does the run's end.
	recorder := b.runs.Recorder(b.run)
	b.must(recorder.RecordVisit(b.ctx, &core.Visit{Number: 3, Node: "n", Result: json.RawMessage(observed)}))
	b.must(recorder.RecordEnd(b.ctx, &core.Run{Status: core.StatusPassed, Result: json.RawMessage(observed)}, nil))
	if b.holds("secret") || b.holds(core.Digest([]byte(observed))) {
		t.Error("a visit after the purge has the texts, or a digest from which they can be guessed")
	}
	if all := b.problems(); len(all) > 0 {
		t.Error(all)
	}
}

func (b *bench) wantResults(want []string) {
	b.t.Helper()
	visits, err := b.runs.Visits(b.ctx, runID)
	b.must(err)
	var got []string
	for _, v := range visits {
		got = append(got, string(v.Result))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		b.t.Errorf("results (-want +got):\n%s", diff)
	}
}

func TestMemories_DamageIsFound(t *testing.T) {
	const first = "run-memory/m/" + runID + "/\x00\x00\x00\x01"
	edit := func(key string, change func(value string) string) func(core.Tx) error {
		return func(tx core.Tx) error {
			value, found, err := tx.Get([]byte(key))
			if err != nil || !found {
				t.Fatalf("%s is there: %v, %v", key, found, err)
			}
			return tx.Put([]byte(key), []byte(change(string(value))))
		}
	}
	visit := "visit/" + runID + "/\x00\x00\x00\x01"
	for name, c := range map[string]struct {
		change func(core.Tx) error
		want   string
	}{
		"edited": {edit(first, func(v string) string { return strings.Replace(v, "a secret title", "another title.", 1) }),
			"the texts of the memory don't match the visit"},
		"gone": {func(tx core.Tx) error { return tx.Delete([]byte(first)) }, "the texts of the memory are gone, though it wasn't purged"},
		"kept": {func(tx core.Tx) error { return tx.Put(purgedKey("m"), nil) }, "its memory was purged, but the texts are still there"},
		"stray": {func(tx core.Tx) error { return tx.Put([]byte("run-memory/x/"+runID+"/\x00\x00\x00\x01"), []byte("{}")) },
			"no visit holds this memory"},
		"no key": {func(tx core.Tx) error { return tx.Put([]byte("run-memory/x"), []byte("{}")) }, "no visit holds this memory"},
		"another score": {edit(visit, func(v string) string { return strings.Replace(v, `"score":0.5`, `"score":0.6`, 1) }),
			"the visit doesn't match its event"},
		"another digest": {edit(visit, func(v string) string { return strings.Replace(v, `"digest":"sha256:`, `"digest":"sha255:`, 1) }),
			"the visit doesn't match its event"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBenchOfMemories(t)
			b.must(b.store.Update(context.Background(), c.change))
			if all := b.problems(); !slices.ContainsFunc(all, func(p string) bool { return strings.HasSuffix(p, c.want) }) {
				t.Errorf("not found: %v", all)
			}
		})
	}
}
