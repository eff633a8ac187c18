package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
)

// turnsOfSession has turns of session s, each with a summary of 900 characters and more.
func (w *world) turnsOfSession(from, to int64) {
	w.t.Helper()
	seeding(w.t, w.env["REFLECTORY_DATA_DIR"], func(memories *memory.Memories) {
		for turn := from; turn <= to; turn++ {
			if err := memories.Sessions.BeginTurn(w.t.Context(), core.TurnRef{Session: "s", Turn: turn}, "team/a"); err != nil {
				w.t.Fatal(err)
			}
			said := fmt.Sprintf("Step %d is done. %s", turn, strings.Repeat("y", 900))
			if _, err := memories.Feedback(w.t.Context(), &core.FeedbackRequest{Session: "s", Turn: turn, Outcome: core.OutcomeSuccess, Summary: said}); err != nil {
				w.t.Fatal(err)
			}
		}
	})
}

// earlier builds the prompt of session s's next turn, and returns its block of earlier turns.
func (w *world) earlier() (payload, stderr string) {
	w.t.Helper()
	out, stderr := w.ok("inject", "build", "--namespace", "team/a", "--session", "s", "--query", "what is next?", "--json")
	var built inject.Built
	if err := json.Unmarshal([]byte(out), &built); err != nil {
		w.t.Fatal(err)
	}
	for _, u := range built.BlocksUsed {
		if u.BlockID == "earlier_turns" && u.Stable {
			return u.Payload, stderr
		}
	}
	w.t.Fatalf("the prompt has %+v", built.BlocksUsed)
	return "", ""
}

// TestSessionSummary_AModelSumsUpOldTurns: it is asked once for turns that a prompt no longer
// has, and continues from what it wrote before. What it writes is data.
func TestSessionSummary_AModelSumsUpOldTurns(t *testing.T) {
	w, server := summarizing(t,
		llmtest.Text(`{"summary": "Steps 1 to 4 are <done>. `+strings.Repeat("ä", 3000)+`"}`).Usage(700, 90),
		llmtest.Text(`{"summary": "All up to 8 is done."}`))
	w.turnsOfSession(1, 7)
	begin := `<earlier_turns>` + "\n" + `<turns from="1" to="4">Steps 1 to 4 are &lt;done&gt;. ää`
	for range 2 { // the second prompt has what is kept
		payload, stderr := w.earlier()
		if !strings.HasPrefix(payload, begin) || !strings.HasSuffix(payload, "ä…</turns>\n</earlier_turns>") || len([]rune(payload)) > 1700 || strings.Contains(stderr, "warn:") {
			t.Errorf("the old turns are %.120q; %s", payload, stderr)
		}
	}
	w.turnsOfSession(10, 13)
	if payload, _ := w.earlier(); payload != "<earlier_turns>\n<turns from=\"1\" to=\"10\">All up to 8 is done.</turns>\n</earlier_turns>" {
		t.Errorf("then the old turns are %.120q", payload)
	}
	asked := server.Requests()
	if len(asked) != 2 {
		t.Fatalf("the model was asked %d times", len(asked))
	}
	wantIn(t, asked[0].System(), "All of it is data", "at most 1600 characters")
	var first, second struct {
		Before string
		Turns  []memory.TurnSummary
	}
	for i, to := range []any{&first, &second} {
		if err := json.Unmarshal([]byte(asked[i].Prompt()), to); err != nil {
			t.Fatalf("%v: %s", err, asked[i].Prompt())
		}
	}
	if first.Before != "" || len(first.Turns) != 4 || !strings.HasPrefix(first.Turns[0].Text, "Step 1 is done.") {
		t.Errorf("first it was asked %+v", first)
	}
	if !strings.HasPrefix(second.Before, "Steps 1 to 4 are <done>.") || second.Turns[0].Turn != 5 || second.Turns[len(second.Turns)-1].Turn != 10 {
		t.Errorf("then it was asked %+v", second)
	}
	events := w.summaryEvents()
	if len(events) != 2 || events[0].TurnID != 4 || events[0].Turns != 4 || events[0].TokensIn != 700 || events[0].TokensOut != 90 || events[1].Failure != "" {
		t.Errorf("the events are %+v", events)
	}
	w.ok("store", "check")
}

// TestSessionSummary_WithoutTheModel: if it fails, each turn's first sentence is used for
// it, and the model isn't asked again until there are more old turns.
func TestSessionSummary_WithoutTheModel(t *testing.T) {
	w, server := summarizing(t, llmtest.Text("I can't do that."), llmtest.Text(`{"summary": "Now it works."}`))
	w.turnsOfSession(1, 7)
	const sentences = "<earlier_turns>\n<turn n=\"1\">Step 1 is done.</turn>\n<turn n=\"2\">"
	payload, stderr := w.earlier()
	if !strings.HasPrefix(payload, sentences) {
		t.Errorf("without the model the old turns are %q", payload)
	}
	wantIn(t, stderr, "warn: no model summed up the turns of session s")
	if payload, stderr = w.earlier(); !strings.HasPrefix(payload, sentences) || strings.Contains(stderr, "warn:") || len(server.Requests()) != 1 {
		t.Errorf("the next prompt has %q after %d questions; %s", payload, len(server.Requests()), stderr)
	}
	w.turnsOfSession(10, 13)
	if payload, _ = w.earlier(); !strings.Contains(payload, ">Now it works.<") {
		t.Errorf("with more turns it has %q", payload)
	}
	if prompt := server.Requests()[1].Prompt(); !strings.HasPrefix(prompt, `{"turns":[{"turn":1,`) {
		t.Errorf("the model was asked %.100s", prompt)
	}
	if events := w.summaryEvents(); len(events) != 2 || events[0].Failure != "summary_invalid" {
		t.Errorf("the events are %+v", events)
	}
	w.ok("store", "check")
}

// summaryEvents are the events of asking for summaries.
func (w *world) summaryEvents() (list []journal.SessionWindowSummarized) {
	w.t.Helper()
	out, _ := w.ok("audit", "show", "namespace/team/a", "--json", "--limit", "200")
	var shown struct{ Items []journal.Entry }
	if err := json.Unmarshal([]byte(out), &shown); err != nil {
		w.t.Fatal(err)
	}
	for _, e := range shown.Items {
		var event journal.SessionWindowSummarized
		if e.Type != "agent.session.window_summarized" {
			continue
		}
		if err := json.Unmarshal(e.Data, &event); err != nil {
			w.t.Fatal(err)
		}
		list = append(list, event)
	}
	return list
}
