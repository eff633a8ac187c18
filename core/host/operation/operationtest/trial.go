package operationtest

import (
	"fmt"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/memory"
)

// UnderTest makes memories about uploads that are put to the test Here. The last word of each is in no other text.
func (w *World) UnderTest() (memories []*core.Memory) {
	w.T.Helper()
	_, err := w.Host.Governance.Set(w.Ctx, Here, "experiment=on")
	w.Must(err)
	for _, word := range []string{"amaranth", "bergamot", "celandine"} {
		m, err := w.Host.Memories.Observe(w.Ctx, &core.ObserveRequest{Namespace: Here, Content: "A failed upload: retry it with " + word})
		w.Must(err)
		memories = append(memories, m)
	}
	for i := range 3 { // they are used, together
		r := &core.FeedbackRequest{Session: fmt.Sprint("warm", i), Turn: 1, Outcome: core.OutcomeSuccess, Source: "tool"}
		Try[operation.Recalled](w, "memory_recall", &core.RecallRequest{Session: r.Session, Query: "an upload failed, retry it?", RecallFilter: core.RecallFilter{Namespace: Here}})
		for _, m := range memories {
			r.Used = append(r.Used, m.ID)
		}
		_, err := w.Host.Memories.Feedback(w.Ctx, r)
		w.Must(err)
	}
	w.decide(memories)
	return memories
}

// decide has the gate decide on the memories that wait for it.
func (w *World) decide(memories []*core.Memory) {
	w.T.Helper()
	for _, m := range memories {
		now, err := w.Host.Memories.Get(w.Ctx, m.ID)
		w.Must(err)
		if now.State == core.StateRevalidatePending {
			_, err = w.Host.Memories.Gate.Revalidate(w.Ctx, m.ID, memory.RevalidateRequest{})
			w.Must(err)
		}
	}
}

// Tried makes memories that are found together, of which one helps, and turns that show it: Here, with experiment on.
func (w *World) Tried(turns int) (helps, rides *core.Memory) {
	w.T.Helper()
	memories := w.UnderTest()
	for i := range turns {
		r := &core.FeedbackRequest{Session: fmt.Sprint("tried", i), Turn: 1, Outcome: core.OutcomeFailure, Source: "tool"}
		found := Try[operation.Recalled](w, "memory_recall", &core.RecallRequest{Session: r.Session, Query: "an upload failed, retry it?", RecallFilter: core.RecallFilter{Namespace: Here}})
		for _, m := range found.Memories {
			if r.Used = append(r.Used, m.ID); m.ID == memories[0].ID {
				r.Outcome = core.OutcomeSuccess
			}
		}
		_, err := w.Host.Memories.Feedback(w.Ctx, r)
		w.Must(err)
		w.decide(memories)
	}
	return memories[0], memories[1]
}

// LeftOut finds which of the memories a caller's turn withheld, of which what it was given must have no
// trace; nil if it withheld none.
func (w *World) LeftOut(by core.Caller, session string, turn int64, memories []*core.Memory, given ...string) *core.Memory {
	w.T.Helper()
	_, turns, _, err := w.Host.Memories.Sessions.Get(core.WithCaller(w.T.Context(), by), &memory.TurnFilter{Session: session, After: turn - 1, Limit: 1})
	w.Must(err)
	for _, m := range memories {
		if len(turns[0].Withheld) == 0 || turns[0].Withheld[0] != m.ID {
			continue
		}
		word := m.Content[strings.LastIndex(m.Content, " ")+1:]
		for _, text := range given {
			for _, trace := range []string{m.ID, word} {
				if strings.Contains(text, trace) {
					w.T.Errorf("turn %d of %s leaves out %s, and is given %q:\n%s", turn, session, m.ID, trace, text)
				}
			}
		}
		return m
	}
	return nil
}
