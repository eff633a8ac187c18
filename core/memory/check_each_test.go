package memory_test

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
)

// damage is done to a store behind the repository's back.
type damage func(t *testing.T, w *world)

// edited replaces a part of the first record of a prefix that has it; without a part
// it takes the record's place.
func edited(prefix, from, to string) damage {
	return func(t *testing.T, w *world) {
		key, value := w.having(t, prefix, from)
		now := to
		if from != "" {
			now = strings.Replace(value, from, to, 1)
		}
		change(t, w.store, func(tx core.Tx) error { return tx.Put([]byte(key), []byte(now)) })
	}
}

// dropped deletes the first record of a prefix that has a part.
func dropped(prefix, part string) damage {
	return func(t *testing.T, w *world) {
		key, _ := w.having(t, prefix, part)
		change(t, w.store, func(tx core.Tx) error { return tx.Delete([]byte(key)) })
	}
}

// beside adds a record of another prefix to the first one of a prefix, with a suffix
// of its key; without a value it has that record's.
func beside(prefix, other, suffix, value string) damage {
	return func(t *testing.T, w *world) {
		key, same := w.having(t, prefix, "")
		change(t, w.store, func(tx core.Tx) error {
			return tx.Put([]byte(other+strings.TrimPrefix(key, prefix)+suffix), []byte(cmp.Or(value, same)))
		})
	}
}

// forgotten deletes what is noted of the history of a prefix's first record whose id
// begins like that.
func forgotten(prefix, id string) damage {
	return func(t *testing.T, w *world) {
		first, _ := w.having(t, prefix+id, "")
		history := "memory-history/" + strings.TrimPrefix(first, prefix) + "/"
		rest := dump(t, w.store)
		maps.DeleteFunc(rest, func(key, _ string) bool { return strings.HasPrefix(key, history) })
		w.put(t, rest)
	}
}

// TestCheckNamesEachDisagreement looks for the one problem that each damage is,
// whatever else follows from it.
func TestCheckNamesEachDisagreement(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	const event = "event/namespace/ns\x00"
	records := []disagreement{
		{"a vector is gone", dropped("memory-vector/a", ""), "memory/a", "its vector is missing"},
		{"no history", forgotten("memory/", "a"), "memory/a", "it has no event"},
		{"a history of another form", beside("memory/a", "memory-history/a", "/x", "-"), "memory-history/a", "the key has no sequence number"},
		{"no event of the making", dropped(event, `"memory_id":"a"`), "memory-history/a/", "the event that created it is gone"},
		{"an event that can't be decoded", edited(event, `"memory_id":"a"`, `"memory_id":1`), "memory/a", "can't be decoded"},
		{"no link to a source", dropped("link/", `"relation":"reflects_on","to":"a"`), "link/", "the link to its source is missing"},
		{"a vector without its memory", dropped("memory/a", ""), "memory-vector/a", "its memory is missing"},
		{"a link to nothing", dropped("memory/x", ""), "link/a/related_to/x", "a memory that the link names is missing"},
		{"a link from nothing", dropped("memory/a", ""), "link/a/related_to/x", "a memory that the link names is missing"},
		{"what waits can't be decoded", edited("pending/", "{", "["), "pending/", "can't be decoded"},
		{"a state that no event tells", edited("memory/a", `"state":"open"`, `"state":"active"`), "memory/a", "it is active, but its events say open"},
	}
	outcomes := []disagreement{
		{"a tombstone that can't be decoded", edited("memory-purged/", "", "["), "memory-purged/", "can't be decoded"},
		{"a purged memory is there", beside("memory-purged/", "memory/", "", "{}"), "memory/", "it was purged but still exists"},
		{"a purged vector is there", beside("memory-purged/", "memory-vector/", "", "-"), "memory-vector/", "it was purged but still exists"},
		{"a purge without a history", forgotten("memory-purged/", ""), "memory-purged/", "its last event isn't its purge"},
		{"a purge without its event", edited(event, `"agent.memory.purged"`, `"agent.memory.promoted"`), "memory-purged/", "its last event isn't its purge"},
		{"a purge that wasn't decided", edited("gate-decision/", `"next_action":"purge"`, `"next_action":"retain"`), "memory-purged/", "isn't to purge it"},
		{"a user of what was purged", beside("memory-purged/", "memory-session/", "/s", "-"), "memory-session/", "recorded as users of a purged memory"},
		{"a purged memory's history of another form", beside("memory-purged/", "memory-history/", "/x", "-"), "memory-history/", "the key has no sequence number"},
		{"a decision twice", beside("gate-decision/", "gate-decision/", "9", ""), "gate-decision/", "its own id is"},
		{"a decision without its event", edited(event, `"agent.memory.revalidate.decision"`, `"agent.memory.swept"`), "gate-decision/", "the decision has no event"},
		{"a promotion that can't be decoded", edited("promotion/", "{", "["), "promotion/", "the promotion can't be decoded"},
		{"a promotion without its knowledge", dropped("knowledge/", ""), "promotion/", "its knowledge "},
		{"a promotion that was decided otherwise", edited("gate-decision/", `"next_action":"promote"`, `"next_action":"retain"`), "promotion/", "its decision "},
		{"a promotion without its memory", dropped("memory/", `"state":"promoted"`), "promotion/", "its memory is missing"},
		{"knowledge that can't be decoded", edited("knowledge/", "{", "["), "knowledge/", "it can't be decoded"},
		{"knowledge twice", beside("knowledge/", "knowledge/", "9", ""), "knowledge/", "its own id is"},
		{"knowledge without its promotion", dropped("promotion/", ""), "knowledge/", "there is no promotion that made it"},
		{"knowledge without its event", edited(event, `"agent.memory.promoted"`, `"agent.memory.purged"`), "knowledge/", "the entry has no event"},
		{"another content", edited("knowledge/", `"content":"`, `"content":"x`), "knowledge/", "its content or pattern isn't what its event says"},
		{"another pattern", edited("knowledge/", `"reusable_pattern_summary":"`, `"reusable_pattern_summary":"x`), "knowledge/", "its content or pattern isn't what its event says"},
		{"another decision", edited("knowledge/", `"decision_id":"`, `"decision_id":"x`), "knowledge/", "its event names decision"},
		{"another title", edited("knowledge/", `"title":"`, `"title":"x`), "knowledge/", "its title isn't the title of the memory"},
	}
	t.Run("records", func(t *testing.T) { eachNamed(t, full(t, openPebble(t)), records) })
	t.Run("outcomes", func(t *testing.T) { eachNamed(t, ended(t, openPebble(t)), outcomes) })
}

// disagreement is a damage, and what the check must say of it at which key.
type disagreement struct {
	name      string
	done      damage
	key, says string
}

// eachNamed does each damage to a store in turn, and undoes it.
func eachNamed(t *testing.T, w *world, cases []disagreement) {
	whole := dump(t, w.store)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			defer w.put(t, whole)
			c.done(t, w)
			list := w.problems(t)
			if !slices.ContainsFunc(list, func(p core.Problem) bool {
				return strings.HasPrefix(p.Key, c.key) && strings.Contains(p.Message, c.says)
			}) {
				t.Errorf("problems %+v, want %s: %s", list, c.key, c.says)
			}
		})
	}
}

// put makes a store what it was.
func (w *world) put(t *testing.T, whole map[string]string) {
	t.Helper()
	now := dump(t, w.store)
	change(t, w.store, func(tx core.Tx) error {
		for key := range now {
			if _, there := whole[key]; !there {
				if err := tx.Delete([]byte(key)); err != nil {
					return err
				}
			}
		}
		for key, value := range whole {
			if err := tx.Put([]byte(key), []byte(value)); err != nil {
				return err
			}
		}
		return nil
	})
}
