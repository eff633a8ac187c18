package operation_test

import (
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/core/memory"
)

// TestPurge_TakesItsTurnsTextsOutOfSnapshots purges a memory that some turns of a session repeat in
// their summaries and hints: no key has these texts any more, and the snapshots of later turns show
// that they are gone, while what other turns said stays.
func TestPurge_TakesItsTurnsTextsOutOfSnapshots(t *testing.T) {
	w := newWorld(t)
	observed(w, "m", here)
	me := subject("me")
	long := strings.Repeat(" and more", 80)
	said := func(session, text, hint string) {
		turn := prompted(w, me, inject.BuildRequest{Namespace: here, Session: session, Query: "harbour"}).TurnID
		_, err := w.Do(me, "memory_feedback", &core.FeedbackRequest{Session: session, Turn: turn, Outcome: core.OutcomeSuccess, Summary: text + long, NextTurnHint: hint})
		w.Must(err)
	}
	stable := &inject.PolicyRequest{Policy: inject.Policy{Ordering: inject.StablePrefix}, MaxChars: new(2500)}
	for range 9 {
		said("s", "It QUOTES the memory.", "QUOTES too.")
	}
	folded := prompted(w, me, inject.BuildRequest{Namespace: here, Session: "s", Query: "harbour", Policy: stable})
	for _, id := range []string{"hint", "earlier_turns", "recent_turns"} {
		if u := used(folded, id); u == nil || !strings.Contains(u.Payload, "QUOTES") {
			t.Fatalf("%s is %+v", id, u)
		}
	}
	if len(folded.TruncatedBlocks) == 0 || folded.Prefix.Chars == 0 {
		t.Fatalf("nothing was cut, or is in the prefix: %+v", folded)
	}
	prompted(w, me, inject.BuildRequest{Namespace: here, Session: "apart", Turn: 1}) // recalls nothing
	_, err := w.Do(me, "memory_feedback", &core.FeedbackRequest{Session: "apart", Turn: 1, Outcome: core.OutcomeSuccess, Summary: "It stays."})
	w.Must(err)
	apart := prompted(w, me, inject.BuildRequest{Namespace: here, Session: "apart", Turn: 2})
	call := operation.Call{Host: w.Host, IdempotencyKey: "once"}
	request := &inject.BuildRequest{Namespace: here, Session: "s", Turn: 12} // recalls nothing, so it has no memory
	first, err := operation.Do(core.WithCaller(w.Ctx, me), call, "snapshot_build", w.Again(request))
	w.Must(err)
	if again, err := operation.Do(core.WithCaller(w.Ctx, me), call, "snapshot_build", w.Again(request)); err != nil || again.(*inject.Built).Prompt != first.(*inject.Built).Prompt {
		t.Errorf("the same call again gives %+v, %v", again, err)
	}
	_, err = w.Host.Memories.Gate.Erase(w.Ctx, "m", memory.EraseRequest{Reason: "it is wrong"})
	w.Must(err)

	for key, value := range contents(t, w.Config.Store, "") {
		if strings.Contains(value, "QUOTES") {
			t.Errorf("%q has %s", key, value)
		}
	}
	shown := try[inject.Snapshot](w, "snapshot_get", &operation.SnapshotGet{ID: folded.SnapshotID})
	for _, u := range shown.BlocksUsed {
		if strings.HasPrefix(u.Source, "session/") && u.Payload != inject.PurgedPayload {
			t.Errorf("%s is shown as %q", u.BlockID, u.Payload)
		}
	}
	replayed := try[inject.Replay](w, "snapshot_replay", &operation.SnapshotReplay{ID: folded.SnapshotID})
	if !replayed.Same || !replayed.Verified || len(replayed.Purged) < 3 {
		t.Errorf("replayed it is %+v", replayed)
	}
	other := try[inject.Snapshot](w, "snapshot_get", &operation.SnapshotGet{ID: apart.SnapshotID})
	if u := used(&inject.Built{Snapshot: other}, "recent_turns"); u == nil || !strings.Contains(u.Payload, "It stays.") {
		t.Errorf("another session's is %+v", u)
	}
	sound(w)
}
