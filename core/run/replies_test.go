package run_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/core/store"
)

func newReplies(s core.Store) *run.Replies {
	return &run.Replies{Store: s, Clock: new(coretest.Clock)}
}

func keep(t *testing.T, r *run.Replies, digest, text string, memories ...string) {
	t.Helper()
	reply := &core.Reply{Output: json.RawMessage(`"` + text + `"`)}
	if err := r.KeepReply(t.Context(), digest, reply, memories); err != nil {
		t.Fatal(err)
	}
}

// kept is the cached reply for a digest, "" if there is none.
func kept(t *testing.T, r *run.Replies, digest string, memories ...string) string {
	t.Helper()
	reply, err := r.Reply(t.Context(), digest, memories)
	if err != nil {
		t.Fatal(err)
	}
	if reply == nil {
		return ""
	}
	return string(reply.Output)
}

func checkReplies(t *testing.T, s core.Store) (found []string) {
	t.Helper()
	_, err := store.Check(t.Context(), s, []core.Checker{run.ReplyChecker()}, func(p core.Problem) {
		if !p.Rebuildable {
			t.Errorf("can't be rebuilt: %+v", p)
		}
		found = append(found, p.Key)
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func forget(t *testing.T, r *run.Replies, memory string) {
	t.Helper()
	change(t, r.Store, func(tx core.Tx) error { _, err := r.Forget(tx, memory); return err })
}

func TestReplies_LeaveWithAnyOfTheirMemories(t *testing.T) {
	s := empty(t)
	r := newReplies(s)
	keep(t, r, "d1", "one", "m1", "m2")
	keep(t, r, "d2", "two", "m2")
	keep(t, r, "d3", "three")
	if got := kept(t, r, "d3", "m3"); got != `"three"` { // the same words, of another memory
		t.Errorf("got %s", got)
	}
	forget(t, r, "m1")
	forget(t, r, "m3")
	var got []string
	for _, digest := range []string{"d1", "d2", "d3"} {
		got = append(got, kept(t, r, digest))
	}
	if diff := cmp.Diff([]string{"", `"two"`, ""}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if found := checkReplies(t, s); found != nil {
		t.Errorf("problems at %q", found)
	}
	forget(t, r, "m2")
	if empty, err := isEmpty(t, s); err != nil || !empty {
		t.Errorf("something is left: %v", err)
	}
}

func isEmpty(t *testing.T, s core.Store) (empty bool, err error) {
	err = s.View(t.Context(), func(r core.Reader) (err error) {
		empty, err = store.Empty(r)
		return err
	})
	return empty, err
}

func TestReplies_AreNotKeptOfWhatWasPurgedMeanwhile(t *testing.T) {
	r := newReplies(empty(t))
	r.Purged = func(_ core.Reader, id string) (bool, error) { return id == "gone", nil }
	keep(t, r, "d1", "one", "gone")
	keep(t, r, "d2", "two", "here")
	if kept(t, r, "d1") != "" || kept(t, r, "d2") == "" {
		t.Error("a reply that was given a purged memory is kept, or the other isn't")
	}
}

func TestReplies_TheOldestGoFirst(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	s := empty(t)
	var clock coretest.Clock
	r := &run.Replies{Store: s, Clock: &clock}
	large := strings.Repeat("x", 1<<20-100)
	for i := range 66 { // of about 1 MiB, where 64 fit
		keep(t, r, fmt.Sprintf("d%02d", i), large)
		clock.Advance(time.Second)
	}
	if kept(t, r, "d00") != "" || kept(t, r, "d01") != "" || kept(t, r, "d02") == "" || kept(t, r, "d65") == "" {
		t.Error("not the newest 64 MiB are kept")
	}
	keep(t, r, "d99", large+large)
	if kept(t, r, "d99") != "" {
		t.Error("a reply of 2 MiB is kept")
	}
	if found := checkReplies(t, s); found != nil {
		t.Errorf("problems at %q", found)
	}
}

func TestReplies_ARepairDropsWhatDoesNotAgree(t *testing.T) {
	for name, breaks := range map[string]func(tx core.Tx) error{
		"a reply that is none":     func(tx core.Tx) error { return tx.Put(run.ReplyKey("d1"), []byte(`{}`)) },
		"a reply out of the index": func(tx core.Tx) error { return tx.Delete(run.ReplyMemoryKey("m1", "d1")) },
		"a stray of the times":     func(tx core.Tx) error { return tx.Put(run.ReplyTimeKey(1, "d9"), []byte("7")) },
		"a wrong size": func(tx core.Tx) error {
			return tx.Put(run.ReplyTimeKey(uint64(coretest.Epoch().UnixNano()), "d1"), []byte("7"))
		},
		"a stray of the memories": func(tx core.Tx) error { return tx.Put(run.ReplyMemoryKey("m9", "d1"), nil) },
	} {
		t.Run(name, func(t *testing.T) {
			s := empty(t)
			r := newReplies(s)
			keep(t, r, "d1", "one", "m1")
			change(t, s, breaks)
			if checkReplies(t, s) == nil {
				t.Error("a check finds nothing")
			}
			if err := store.Rebuild(t.Context(), s, []core.Checker{run.ReplyChecker()}); err != nil {
				t.Fatal(err)
			}
			if found := checkReplies(t, s); found != nil {
				t.Errorf("after the repair: %q", found)
			}
		})
	}
}
