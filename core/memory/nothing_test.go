package memory_test

import (
	"math"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// TestRecall_SaysThatNothingIsRelevant, and shows the nearest two.
func TestRecall_SaysThatNothingIsRelevant(t *testing.T) {
	w := living(t, empty(t), nil, hashed)
	for _, text := range []string{
		"Amara painted the kitchen yellow in May", "The invoice importer times out when batch_size is above ten",
		"Piotr keeps bees behind the garage", "The deploy to the staging cluster needs a second approval",
		"Amara is allergic to walnuts", "The nightly backup writes to the second disk", "Piotr sold his red bicycle to a neighbour",
		"The search index is rebuilt each Sunday", "Amara's sister lives in Lisbon",
	} {
		w.observe(t, core.ObserveRequest{Content: text})
	}
	for _, c := range []struct {
		name, query string
		nothing     bool
	}{
		{"a fact", "Which colour did Amara paint the kitchen?", false},
		{"in other words of the same", "Who is allergic to walnuts?", false},
		{"a setting in another style", "What is batchSize of the importer?", false},
		{"a procedure", "Does a deploy to staging need an approval?", false},
		{"with a typo", "Where does Amara's sister live in Lisbn?", false},
		{"a person whom nobody mentions", "Which colour did Bjorn paint his house?", true},
		{"a subject that nobody mentions", "How many moons does Jupiter have?", true},
		{"a place that nobody mentions, with a common word", "Who lives in Reykjavik near the harbour?", true},
		{"an identifier that nobody mentions", "What does retryBackoffMillis do in the scheduler?", true},
		{"a long question on something else", "Could you explain the offside rule to somebody who has never watched football, please?", true},
		{"another language", "Wann fährt der letzte Bus zum Flughafen?", true},
	} {
		least := core.DefaultMinP
		r := w.recall(t, core.RecallRequest{Query: c.query, MinP: &least})
		if r.NothingRelevant != c.nothing || c.nothing && (r.Answerable || len(r.Memories) > 2) || !c.nothing && len(r.Memories) == 0 {
			t.Errorf("%s: nothing relevant %t, answerable %t, %s", c.name, r.NothingRelevant, r.Answerable, titles(r))
		}
		for i, m := range r.Memories {
			if m.P <= 0 || m.P >= 1 || !c.nothing && i == 0 && m.P < least {
				t.Errorf("%s: p is %v of %s", c.name, m.P, m.Title)
			}
		}
		all := w.recall(t, core.RecallRequest{Query: c.query, MinP: new(float64)})
		if all.NothingRelevant != (len(all.Memories) == 0) {
			t.Errorf("%s: with a min_p of 0 nothing is relevant in %s", c.name, titles(all))
		}
	}
	if r := w.recall(t, core.RecallRequest{Query: "Which colour did Amara paint the kitchen yellow?"}); !r.Answerable {
		t.Errorf("not answerable: p is %v", r.Memories[0].P)
	}
	for _, wrong := range []float64{-.1, 1.1, math.NaN()} {
		_, err := w.Recall(t.Context(), &core.RecallRequest{Query: "q", RecallFilter: core.RecallFilter{Namespace: "ns"}, MinP: &wrong})
		wantReason(t, err, sdk.Invalid, "min_p_invalid")
	}
}

// TestRecall_OffersAPromptWhatItShows: where nothing is relevant, a prompt shows none, and none is offered.
func TestRecall_OffersAPromptWhatItShows(t *testing.T) {
	high, low := 1.0, 0.0
	for _, c := range []struct {
		name   string
		least  *float64
		prompt bool
		offers int64
	}{
		{"a caller sees the nearest", &high, false, 1},
		{"a prompt shows none", &high, true, 0},
		{"a prompt shows what is relevant", &low, true, 1},
		{"and so does a caller", &low, false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := living(t, empty(t), nil, hashed)
			m := w.observe(t, core.ObserveRequest{Content: "Amara painted the kitchen yellow in May"})
			r := w.recall(t, core.RecallRequest{Session: "s", Query: "the kitchen", MinP: c.least, ForPrompt: c.prompt})
			w.feedback(t, "s", r.Turn, core.OutcomeSuccess)
			if got := w.get(t, m.ID); got.Signals.RelevantTurns != c.offers || got.AccessCount != c.offers || int64(len(r.Memories)) != c.offers {
				t.Errorf("%d results, %d accesses, signals %+v", len(r.Memories), got.AccessCount, got.Signals)
			}
		})
	}
}
