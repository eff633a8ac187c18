package memory_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/memory/turn"
	"github.com/reflectory/reflectory/sdk"
)

// billingNotes are memories about one subject, and others that make common words common.
func (w *world) billingNotes(t *testing.T) (port, retry, colour string) {
	t.Helper()
	for _, filler := range strings.Split("The release train leaves on Tuesday after the review|Deploy notes belong in the wiki of the team|"+
		"Ask the duty engineer before a deploy on Friday|The staging cluster is rebuilt every night|Logs of the gateway rotate each hour|"+
		"The database of the gateway is backed up at noon|Reviewers look at the change before it is merged|A failed build is fixed before new work begins", "|") {
		w.observe(t, core.ObserveRequest{Content: filler})
	}
	port = w.observe(t, core.ObserveRequest{Content: "The replica of the billing database listens on port 6433, not on the usual one"}).ID
	retry = w.observe(t, core.ObserveRequest{Content: "When the billing import stalls, raise max_batch_rows and drain the spool first"}).ID
	colour = w.observe(t, core.ObserveRequest{Content: "The billing dashboard shows overdue invoices in amber"}).ID
	return port, retry, colour
}

func TestFeedback_AReplyShowsWhatWasUsed(t *testing.T) {
	for name, c := range map[string]struct {
		reply string
		want  []string // of port, retry and colour
	}{
		"a number":                        {"psql -h replica -p 6433", []string{"port"}},
		"an identifier in another style":  {"I set MaxBatchRows to 500.", []string{"retry"}},
		"an identifier as it is":          {"sed -i s/max_batch_rows=.*/max_batch_rows=900/ import.conf", []string{"retry"}},
		"the words":                       {"I drained the spool before I started it again.", []string{"retry"}},
		"other forms of the words":        {"Draining its spool helped with the stalled run.", []string{"retry"}},
		"two of them":                     {"Connected to 6433, then changed max_batch_rows.", []string{"port", "retry"}},
		"words of the question":           {"The billing import is what you asked about.", nil},
		"words that several have":         {"Billing is a database.", nil},
		"nothing of it":                   {"I don't know. Let me ask someone else about this.", nil},
		"a common word":                   {"It is the usual thing to look first.", nil},
		"nothing but marks":               {"{}[]...!?", nil},
		"another number":                  {"psql -p 5432", nil},
		"a part of a number":              {"psql -p 64330", nil},
		"the name of a colour":            {"Overdue invoices are amber on it.", []string{"colour"}},
		"a long reply that has one of it": {strings.Repeat("This line says nothing that matters here. ", 500) + "port 6433", []string{"port"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := living(t, empty(t), nil, nil)
			port, retry, colour := w.billingNotes(t)
			names := map[string]string{port: "port", retry: "retry", colour: "colour"}
			w.recallTurn(t, "What about the billing import?", port, retry, colour)
			result, err := w.Feedback(t.Context(), &core.FeedbackRequest{Session: "s", Turn: 1, Outcome: core.OutcomeSuccess, Reply: c.reply})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, item := range result.Items {
				if item.Used != (item.Inferred > 0) || item.Used != item.Assumed || item.Used && (item.Inferred < .5 || item.Inferred > 1) {
					t.Errorf("item %+v", item)
				}
				if item.Used {
					got = append(got, names[item.ID])
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("used (-want +got):\n%s", diff)
			}
		})
	}
}

// An identifier is rare also where there are too few memories to show it.
func TestFeedback_AReplyShowsAUseInASmallNamespace(t *testing.T) {
	w := living(t, empty(t), nil, nil)
	port := w.observe(t, core.ObserveRequest{Content: "The replica of the billing database listens on port 6433"}).ID
	w.observe(t, core.ObserveRequest{Content: "Billing invoices are sent on Mondays"})
	w.recallTurn(t, "billing database port", port)
	result, err := w.Feedback(t.Context(), &core.FeedbackRequest{Session: "s", Turn: 1, Outcome: core.OutcomeSuccess, Reply: "psql -p 6433"})
	if err != nil || !hasUse(result, port, true) {
		t.Errorf("%+v, %v", result, err)
	}
}

// recallTurn begins turn 1 of session s with a query that offers these memories.
func (w *world) recallTurn(t *testing.T, query string, ids ...string) {
	t.Helper()
	result, err := w.Recall(t.Context(), &core.RecallRequest{Session: "s", Query: query, RecallFilter: core.RecallFilter{Namespace: "ns"}, Limit: 20})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, m := range result.Memories {
		found[m.ID] = true
	}
	for _, id := range ids {
		if !found[id] {
			t.Fatalf("the recall doesn't offer %s", id)
		}
	}
}

// An inferred use earns half the credit of a named one in q, counts in the window, and is none of the
// named uses that a promotion needs.
func TestFeedback_AnInferredUseEarnsHalf(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, nil, nil)
		port, retry, _ := w.billingNotes(t)
		w.recallTurn(t, "What about the billing import?", port, retry)
		request := &core.FeedbackRequest{Session: "s", Turn: 1, Outcome: core.OutcomeSuccess, Reply: "port 6433"}
		if _, err := w.Feedback(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		got := w.get(t, port).Signals
		if got.Q <= .5 || got.Q > .6 || got.Successes != 1 || got.Assumed != 1 || got.Named() != 0 || got.NamedSessions() != 0 || !strings.HasPrefix(string(got.Window), "s") {
			t.Errorf("signals %+v", got)
		}
		if got := w.get(t, retry).Signals; got.MissStreak != 1 || got.Q != .5 {
			t.Errorf("signals of the other one %+v", got)
		}
		// A better source keeps the uses, and a named one takes their place.
		request = &core.FeedbackRequest{Session: "s", Turn: 1, Outcome: core.OutcomeFailure, Source: "tool"}
		if result, err := w.Feedback(t.Context(), request); err != nil || !hasUse(result, port, true) {
			t.Errorf("%+v, %v", result, err)
		}
		request = &core.FeedbackRequest{Session: "s", Turn: 1, Outcome: core.OutcomeSuccess, Source: "user", Used: []string{retry}, Reply: "port 6433"}
		if result, err := w.Feedback(t.Context(), request); err != nil || !hasUse(result, retry, false) || hasUse(result, port, true) {
			t.Errorf("%+v, %v", result, err)
		}
		if got := w.get(t, retry).Signals; got.Named() != 1 {
			t.Errorf("signals of the named one %+v", got)
		}
		wantJournalWhole(t, s)
	})
}

// hasUse is whether a feedback has a use that was inferred, or wasn't.
func hasUse(result *core.FeedbackResult, id string, inferred bool) bool {
	for _, item := range result.Items {
		if item.ID == id {
			return item.Used && item.Inferred > 0 == inferred
		}
	}
	return false
}

func TestFeedback_RepliesAreBounded(t *testing.T) {
	w := living(t, empty(t), nil, nil)
	m := w.observe(t, core.ObserveRequest{Content: "a fact"})
	w.offer(t, "s", 1, m.ID)
	_, err := w.Feedback(t.Context(), &core.FeedbackRequest{Session: "s", Turn: 1, Outcome: core.OutcomeSuccess, Reply: strings.Repeat("a", turn.MaxReplyBytes+1)})
	wantReason(t, err, sdk.Invalid, "reply_invalid")
	if _, err := w.Feedback(t.Context(), &core.FeedbackRequest{Session: "s", Turn: 9, Outcome: core.OutcomeSuccess, Reply: "text"}); sdk.ReasonOf(err) != "turn_not_found" {
		t.Errorf("%v", err)
	}
	if _, err := w.Feedback(t.Context(), &core.FeedbackRequest{Session: "s", Turn: 1, Outcome: core.OutcomeSuccess, Reply: "\xff\x00 a"}); err != nil {
		t.Errorf("%v", err)
	}
}

// What wasn't in the turn's prompt can't have been used.
func TestFeedback_AReplyShowsNothingThatWasLeftOut(t *testing.T) {
	var injected []string
	w := living(t, empty(t), nil, func(o *memory.Options) { o.Injection = promptOf{&injected} })
	port, retry, _ := w.billingNotes(t)
	injected = []string{retry}
	w.recallTurn(t, "What about the billing import?", port, retry)
	result, err := w.Feedback(t.Context(), &core.FeedbackRequest{Session: "s", Turn: 1, Outcome: core.OutcomeSuccess, Reply: "port 6433 and max_batch_rows"})
	if err != nil || hasUse(result, port, true) || !hasUse(result, retry, true) {
		t.Errorf("%+v, %v", result, err)
	}
}

// promptOf is a turn's prompt that has some memories.
type promptOf struct{ ids *[]string }

func (p promptOf) Injected(core.Reader, core.TurnRef) (*memory.Injected, error) {
	return &memory.Injected{MemoryIDs: *p.ids}, nil
}
