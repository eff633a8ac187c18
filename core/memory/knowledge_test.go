package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// promoted returns a memory that became knowledge, and the entry.
func (w *world) promoted(t *testing.T, r core.ObserveRequest) (*core.Memory, *core.Knowledge) {
	t.Helper()
	m := w.pending(t, r)
	if m.State == core.StateRevalidatePending {
		if _, err := w.Gate.Revalidate(t.Context(), m.ID, revalidate); err != nil {
			t.Fatal(err)
		}
	}
	m = w.get(t, m.ID)
	k, err := w.Knowledge.Get(t.Context(), m.PromotedTo)
	if err != nil {
		t.Fatal(err)
	}
	return m, k
}

// knowledge lists the entries of namespace ns.
func (w *world) knowledge(t *testing.T) []*core.Knowledge {
	t.Helper()
	list, _, err := w.Knowledge.List(t.Context(), memory.KnowledgeFilter{Namespace: "ns", Superseded: true})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestPromotionIsOneCommit(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, decides(verdict.NextPromote, .9), deferred)
		content := strings.Repeat("ä", 400)
		m := w.pending(t, core.ObserveRequest{Title: "a title", Content: content})
		before := len(w.entries)
		d, err := w.Gate.Revalidate(t.Context(), m.ID, revalidate)
		if err != nil {
			t.Fatal(err)
		}
		m = w.get(t, m.ID)
		k, err := w.Knowledge.Get(t.Context(), m.PromotedTo)
		if err != nil || m.State != core.StatePromoted {
			t.Fatalf("it is %s, %v", m.State, err)
		}
		summary := "a title\n" + strings.Repeat("ä", 280)
		want := &core.Knowledge{
			ID: m.PromotedTo, Namespace: "ns", Title: "a title", Content: content, Summary: summary,
			PromotedFrom: m.ID, DecisionID: d.ID, CreatedAt: w.clock.Now(),
		}
		if diff := cmp.Diff(want, k); diff != "" {
			t.Errorf("knowledge:\n%s", diff)
		}
		p, err := w.Knowledge.Promotion(t.Context(), m.ID)
		if err != nil || *p != (memory.Promotion{MemoryID: m.ID, KnowledgeID: k.ID, Decision: d.ID, Summary: summary}) {
			t.Errorf("record %+v, %v", p, err)
		}
		w.wantEvents(t, before, "revalidate.started", "revalidate.decision", "promoted", "lifecycle.transition")
		w.wantTransition(t, before+3, "revalidate_pending", "promoted", `"cause":"gate"`)
	})
}

// TestPromotionIsIdempotent brings a promoted memory back before the gate, as no
// transition does: it keeps its entry.
func TestPromotionIsIdempotent(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, decides(verdict.NextPromote, .9), deferred)
		m, k := w.promoted(t, core.ObserveRequest{Content: "c"})
		m.State, m.PromotedTo = core.StateRevalidatePending, ""
		if err := w.Put(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Gate.Revalidate(t.Context(), m.ID, revalidate); err != nil {
			t.Fatal(err)
		}
		list, _, err := w.Knowledge.List(t.Context(), memory.KnowledgeFilter{Namespace: "ns"})
		if err != nil || len(list) != 1 || w.get(t, m.ID).PromotedTo != k.ID {
			t.Errorf("knowledge %+v, %v; want the first entry alone", list, err)
		}
	})
}

// summarizer is a [memory.Summarizer] made of a function.
type summarizer func(*core.Memory) (string, error)

func (s summarizer) Summarize(_ context.Context, m *core.Memory) (string, error) { return s(m) }

func TestASummarizerSaysThePattern(t *testing.T) {
	cases := []struct {
		name    string
		gives   string
		err     error
		want    string
		failure string
	}{
		{"a pattern", " retry with backoff\n", nil, "retry with backoff", ""},
		{"too much", strings.Repeat("ä", 5000), nil, strings.Repeat("ä", 4000), ""},
		{"not UTF-8", "a\xffb", nil, "a�b", ""},
		{"nothing", " ", nil, "t\nc", ""},
		{"an error", "", sdk.Errorf(sdk.Unavailable, "model_gone", "gone"), "t\nc", "model_gone"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := living(t, openPebble(t), decides(verdict.NextPromote, .9), func(o *memory.Options) {
				o.DeferGate = true
				o.Summarizer = summarizer(func(*core.Memory) (string, error) { return c.gives, c.err })
			})
			_, k := w.promoted(t, core.ObserveRequest{Title: "t", Content: "c"})
			if k.Summary != c.want {
				t.Errorf("summary %.40q, want %.40q", k.Summary, c.want)
			}
			for _, e := range w.entries {
				var event struct {
					Failure string `json:"summary_failure"`
				}
				if err := json.Unmarshal(e.Data, &event); err != nil || e.Type == "agent.memory.promoted" && event.Failure != c.failure {
					t.Errorf("the event tells %s, %v; want failure %q", e.Data, err, c.failure)
				}
			}
		})
	}
	t.Run("not for what isn't promoted", func(t *testing.T) {
		w := living(t, openPebble(t), decides(verdict.NextRetain, .9), func(o *memory.Options) {
			o.Summarizer = summarizer(func(*core.Memory) (string, error) { return "", errors.New("asked in vain") })
		})
		m := w.observe(t, core.ObserveRequest{Content: "c"})
		for turn := range int64(3) {
			w.live(t, "s", turn, m.ID, core.OutcomeFailure)
		}
	})
}

// promotesOrErases is a gate that promotes, and purges what is to be erased.
var promotesOrErases = gateFunc(func(c *verdict.GateCase) (*verdict.GateDecision, error) {
	if c.Erase != "" {
		return decides(verdict.NextPurge, 1)(c)
	}
	return decides(verdict.NextPromote, .9)(c)
})

// TestASummaryIsAskedForOutsideAnyTransaction changes and purges memories of the namespace
// while the model is asked: nothing waits for that, and it is asked once.
func TestASummaryIsAskedForOutsideAnyTransaction(t *testing.T) {
	var w *world
	asked := 0
	w = living(t, openPebble(t), promotesOrErases, func(o *memory.Options) {
		o.DeferGate = true
		o.Summarizer = summarizer(func(m *core.Memory) (string, error) {
			asked++
			w.live(t, "meanwhile", 1, m.ID, core.OutcomeFailure)
			other := w.observe(t, core.ObserveRequest{Content: "meanwhile"})
			_, err := w.Gate.Erase(t.Context(), other.ID, memory.EraseRequest{Reason: "r"}) // held by a reader, if there were one
			return "a pattern", err
		})
	})
	m, k := w.promoted(t, core.ObserveRequest{Content: "c"})
	if asked != 1 || k.Summary != "a pattern" || m.Signals.Failures != 4 {
		t.Errorf("asked %d times, summary %q, %d failures", asked, k.Summary, m.Signals.Failures)
	}
}

// TestWhatIsErasedWhileItIsSummarizedIsNotPromoted makes the transaction decide on what is
// there then.
func TestWhatIsErasedWhileItIsSummarizedIsNotPromoted(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		var w *world
		w = living(t, s, promotesOrErases, func(o *memory.Options) {
			o.DeferGate = true
			o.Summarizer = summarizer(func(m *core.Memory) (string, error) {
				_, err := w.Gate.Erase(t.Context(), m.ID, memory.EraseRequest{Reason: "r"})
				return "secret", err
			})
		})
		m := w.pending(t, core.ObserveRequest{Content: "c"})
		_, err := w.Gate.Revalidate(t.Context(), m.ID, revalidate)
		wantReason(t, err, sdk.NotFound, "memory_purged")
		if list := w.knowledge(t); len(list) != 0 || len(w.problems(t)) != 0 {
			t.Errorf("knowledge %+v, problems %+v", list, w.problems(t))
		}
	})
}

func TestKnowledgeIsListedTheNewestFirst(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, decides(verdict.NextPromote, .9), deferred)
		var all []string
		for i := range 5 {
			w.clock.Advance(time.Second)
			_, k := w.promoted(t, core.ObserveRequest{Content: fmt.Sprint(i)})
			all = append([]string{k.ID}, all...)
		}
		w.promoted(t, core.ObserveRequest{Namespace: "ns/sub", Content: "elsewhere"})
		var got []string
		f := memory.KnowledgeFilter{Namespace: "ns", Limit: 2}
		for pages := 1; ; pages++ {
			list, next, err := w.Knowledge.List(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range list {
				got = append(got, k.ID)
			}
			if next == "" {
				if pages != 3 {
					t.Errorf("%d pages", pages)
				}
				break
			}
			f.After = next
		}
		if diff := cmp.Diff(all, got); diff != "" {
			t.Errorf("listed:\n%s", diff)
		}
		_, _, err := w.Knowledge.List(t.Context(), memory.KnowledgeFilter{Namespace: "a//b", Limit: 1001})
		if sdk.ReasonOf(err) != "several_problems" {
			t.Errorf("a bad filter: %v", err)
		}
		_, err = w.Knowledge.Get(t.Context(), "nothing")
		wantReason(t, err, sdk.NotFound, "knowledge_not_found")
		for prefix, want := range map[string]string{
			all[0]: "", all[0][:35]: "id_ambiguous", "11111111": "knowledge_not_found", all[0][:7]: "knowledge_not_found", "a/b": "knowledge_not_found",
		} {
			if k, err := w.Knowledge.Find(t.Context(), prefix); sdk.ReasonOf(err) != want || err == nil && k.ID != all[0] {
				t.Errorf("%q finds %+v, %v, want %q", prefix, k, err, want)
			}
		}
		_, err = w.Knowledge.Promotion(t.Context(), "nothing")
		wantReason(t, err, sdk.NotFound, "promotion_not_found")
	})
}

func TestAnEntryTakesThePlaceOfAnother(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, decides(verdict.NextPromote, .9), deferred)
		_, a := w.promoted(t, core.ObserveRequest{Content: "a"})
		_, b := w.promoted(t, core.ObserveRequest{Content: "b"})
		_, c := w.promoted(t, core.ObserveRequest{Content: "c"})
		_, far := w.promoted(t, core.ObserveRequest{Content: "far", Namespace: "far"})
		by := func(id, by string) error { return w.Knowledge.Supersede(t.Context(), id, by) }
		wantReason(t, by(a.ID, a.ID), sdk.Invalid, "by_invalid")
		wantReason(t, by(a.ID, "nothing"), sdk.NotFound, "knowledge_not_found")
		wantReason(t, by(a.ID, far.ID), sdk.Invalid, "namespace_differs")
		for range 2 { // the second time changes nothing
			if err := by(a.ID, b.ID); err != nil {
				t.Fatal(err)
			}
		}
		wantReason(t, by(a.ID, c.ID), sdk.Conflict, "superseded")
		wantReason(t, by(b.ID, a.ID), sdk.Conflict, "superseded")
		old, err := w.Knowledge.Get(t.Context(), a.ID)
		if err != nil || old.SupersededBy != b.ID || old.Content != "a" || w.events("agent.knowledge.superseded") != 1 {
			t.Errorf("the old entry is %+v, %v", old, err)
		}
		for superseded, want := range map[bool]int{false: 2, true: 3} {
			list, _, err := w.Knowledge.List(t.Context(), memory.KnowledgeFilter{Namespace: "ns", Superseded: superseded})
			if err != nil || len(list) != want {
				t.Errorf("superseded %v lists %d, %v, want %d", superseded, len(list), err, want)
			}
		}
	})
}
