package inject_test

import (
	"context"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/sdk"
)

// checkSnapshots is a session whose turn 1 says what may repeat the memory m1. It is a source too.
type told struct {
	text, secret string
	// changes are how many builds find another text when they are stored.
	changes int
}

func (s *told) Blocks(context.Context, *inject.Turn) ([]inject.Draft, error) {
	d := draft("hint", inject.Reflection, 1, s.text)
	d.Salt = inject.Turns{Window: 1, From: 1, To: 1}.Salt(s.secret)
	return []inject.Draft{d}, nil
}

func (s *told) Secret(core.Reader, string, int64, []int64) (string, error) {
	if s.changes > 0 {
		s.changes--
		s.text, s.secret = "purged since", s.secret+"x"
	}
	return s.secret, nil
}

func (s *told) Repeating(_ core.Reader, memory string) ([]inject.SessionTurn, error) {
	if memory != "m1" {
		return nil, nil
	}
	return []inject.SessionTurn{{Session: "s", Window: 1, Turn: 1}, {Session: "z", Window: 1, Turn: 1}}, nil
}

func newTold(t *testing.T) (*world, *told) {
	w, s := newWorld(t), &told{text: "The harbour closes.", secret: "secret"}
	w.Sources, w.Repository.Sessions = []inject.Source{s}, s
	return w, s
}

// TestSession_ItsTextsAreGoneWithTheMemory: only a purge may remove them, and only of a memory that
// they may repeat.
func TestSession_ItsTextsAreGoneWithTheMemory(t *testing.T) {
	w, _ := newTold(t)
	built := w.build(inject.BuildRequest{Session: "s", Turn: 2})
	key := "snapshot-session/s/" + built.BlocksUsed[0].PayloadDigest
	value := w.contents()[key]
	for _, wrong := range []string{"", "x", `{"purged":"m1"}`, `{"purged":"m1","x":1}`, strings.Replace(value, "1/1/1", "1/2/2", 1)} {
		w.put(key, wrong)
		if len(w.problems()) == 0 {
			t.Errorf("%q isn't found", wrong)
		}
	}
	err := w.store.Update(t.Context(), func(tx core.Tx) error { return tx.Delete([]byte(key)) })
	if err != nil || len(w.problems()) == 0 {
		t.Errorf("that it is gone isn't found, or %v", err)
	}
	w.put(key, value)

	if w.forget("m2"); w.contents()[key] != value {
		t.Error("the purge of another memory removes it")
	}
	w.forget("m1")
	for key, value := range w.contents() {
		if strings.Contains(value, "harbour") || strings.Contains(value, "secret") {
			t.Errorf("%s holds %s", key, value)
		}
	}
	if shown, err := w.Repository.Get(t.Context(), built.SnapshotID); err != nil || shown.Prompt() != inject.PurgedPayload {
		t.Errorf("it is shown as %+v, %v", shown, err)
	}
	if r, err := w.Repository.Replay(t.Context(), built.SnapshotID); err != nil || !r.Same || len(r.Purged) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if found := w.problems(); len(found) > 0 {
		t.Errorf("%+v", found)
	}
}

// TestSession_TextsThatChangeMeanwhileAreNotStored: a purge between the reading of the texts and
// their storing leaves nothing of them.
func TestSession_TextsThatChangeMeanwhileAreNotStored(t *testing.T) {
	w, s := newTold(t)
	s.changes = 1
	if built := w.build(inject.BuildRequest{Session: "s", Turn: 2}); built.Prompt != "purged since" {
		t.Errorf("the prompt is %q", built.Prompt)
	}
	for key, value := range w.contents() {
		if strings.Contains(value, "harbour") {
			t.Errorf("%s holds %s", key, value)
		}
	}
	recalls := 0
	w.Recaller = recaller(func(context.Context, *core.RecallRequest) (*core.RecallResult, error) {
		recalls++
		return &core.RecallResult{Turn: 4}, nil
	})
	s.changes = 3
	if built := w.build(inject.BuildRequest{Session: "s", Query: "when?"}); built.TurnID != 4 || recalls != 1 {
		t.Errorf("turn %d began with %d recalls", built.TurnID, recalls)
	}
	s.changes = 1000
	_, err := w.Build(t.Context(), &inject.BuildRequest{Namespace: "team/a", Session: "s", Turn: 3}, inject.FromCaller)
	if sdk.ReasonOf(err) != "session_changed" || sdk.CodeOf(err) != sdk.Conflict {
		t.Errorf("a session that never rests is %v", err)
	}
}

// recaller recalls by a function.
type recaller func(context.Context, *core.RecallRequest) (*core.RecallResult, error)

func (f recaller) Recall(ctx context.Context, r *core.RecallRequest) (*core.RecallResult, error) {
	return f(ctx, r)
}
