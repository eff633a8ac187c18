package memory_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/gate/verdict"
)

// ended is a world in which the gate retained, purged and promoted a memory.
func ended(t *testing.T, s core.Store) *world {
	t.Helper()
	next := ""
	w := living(t, s, gateFunc(func(c *verdict.GateCase) (*verdict.GateDecision, error) { return decides(next, .9)(c) }), deferred)
	for _, next = range []string{verdict.NextRetain, verdict.NextPurge, verdict.NextPromote, verdict.NextPromote} {
		m := w.pending(t, core.ObserveRequest{Content: next})
		if _, err := w.Gate.Revalidate(t.Context(), m.ID, revalidate); err != nil {
			t.Fatal(err)
		}
	}
	list := w.knowledge(t)
	if err := w.Knowledge.Supersede(t.Context(), list[0].ID, list[1].ID); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestCheckIsCleanAfterTheGate(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		if list := ended(t, s).problems(t); len(list) != 0 {
			t.Errorf("problems: %+v", list)
		}
	})
}

// TestCheckFindsWhatALifeMisses removes each key of a memory's life in turn.
func TestCheckFindsWhatALifeMisses(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	w := ended(t, openPebble(t))
	whole := dump(t, w.store)
	looked := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(whole)) {
		prefix, _, _ := strings.Cut(key, "/")
		switch prefix {
		case "memory-session", "gate-decision", "gate-decision-memory", "promotion", "knowledge", "knowledge-namespace":
		default:
			continue
		}
		looked[prefix] = true
		change(t, w.store, func(tx core.Tx) error { return tx.Delete([]byte(key)) })
		list := w.problems(t)
		if len(list) == 0 {
			t.Errorf("without %q nothing is found", key)
		}
		if prefix == "gate-decision-memory" || prefix == "knowledge-namespace" {
			w.rebuilt(t, whole, "without "+key, rebuildable(list))
			change(t, w.store, func(tx core.Tx) error { return tx.Put([]byte(key+"9"), nil) })
			w.rebuilt(t, whole, "with "+key+"9", w.problems(t))
		}
		change(t, w.store, func(tx core.Tx) error { return tx.Put([]byte(key), []byte(whole[key])) })
	}
	if len(looked) != 6 {
		t.Errorf("looked at %v only", looked)
	}
}

// rebuildable are the problems that a rebuild fixes: what a missing index hides
// shows as another.
func rebuildable(list []core.Problem) (found []core.Problem) {
	for _, p := range list {
		if p.Rebuildable {
			found = append(found, p)
		}
	}
	return found
}

func TestCheckFindsAnEditedLife(t *testing.T) {
	cases := []struct{ name, prefix, from, to, says string }{
		{"decision", "gate-decision/", `"confidence":0.9`, `"confidence":0.8`, "isn't what its event says"},
		{"decision that isn't JSON", "gate-decision/", `{`, `[`, "can't be decoded"},
		{"promotion of another", "promotion/", `"decision":"`, `"decision":"x`, "or doesn't match"},
		{"knowledge of another", "knowledge/", `"promoted_from":"`, `"promoted_from":"x`, "there is no promotion"},
		{"superseded by nothing", "knowledge/", `"superseded_by":"`, `"superseded_by":"x`, "the entry that superseded it is missing"},
		{"promoted without a record", "memory/", `"state":"cooling"`, `"state":"promoted"`, "the record of its promotion says otherwise"},
		{"sessions", "memory/", `"sessions":1`, `"sessions":2`, "it counts 2 sessions"},
		{"misses", "memory/", `"miss_streak":0`, `"miss_streak":1`, "the record isn't what its newest event says"},
		{"q", "memory/", `"q_value":0.`, `"q_value":1.`, "the record isn't what its newest event says"},
		{"utility", "memory/", `"utility_score":0.`, `"utility_score":1.`, "the record isn't what its newest event says"},
		{"failures", "memory/", `"failure_count":3`, `"failure_count":0`, "the record isn't what its newest event says"},
		{"the gate's last look", "memory/", `"gated":true,"gated_at":3`, `"gated":true,"gated_at":2`, "the record isn't what its newest event says"},
		{"revalidation", "memory/", `"revalidation_score":0.9`, `"revalidation_score":0.5`, "the record isn't what its newest event says"},
		{"turns", "memory/", `"turn":2}]`, `"turn":1}]`, "the record isn't what its newest event says"},
	}
	w := ended(t, openPebble(t)) // each edit is taken back
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			key, value := w.having(t, c.prefix, c.from)
			edited := strings.Replace(value, c.from, c.to, 1)
			change(t, w.store, func(tx core.Tx) error { return tx.Put([]byte(key), []byte(edited)) })
			list := w.problems(t)
			change(t, w.store, func(tx core.Tx) error { return tx.Put([]byte(key), []byte(value)) })
			for _, p := range list {
				if strings.Contains(p.Message, c.says) {
					return
				}
			}
			t.Errorf("problems %+v, want %q", list, c.says)
		})
	}
	if list := w.problems(t); len(list) != 0 {
		t.Errorf("problems that no edit has made: %+v", list)
	}
}

// having returns the first pair of a prefix with a text in its value.
func (w *world) having(t *testing.T, prefix, text string) (key, value string) {
	t.Helper()
	for k, v := range dump(t, w.store) {
		if strings.HasPrefix(k, prefix) && strings.Contains(v, text) && (key == "" || k < key) {
			key, value = k, v
		}
	}
	if key == "" {
		t.Fatalf("no %s has %s", prefix, text)
	}
	return key, value
}
