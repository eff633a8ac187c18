package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/gateway"
)

// TestServe_LeavesOutOfAConversation: what a conversation withholds is in nothing that goes up, neither with a
// question nor in the history that is put back, whatever is asked.
func TestServe_LeavesOutOfAConversation(t *testing.T) {
	w, ann := newWorld(t), caller("ann", "team/**")
	ctx := core.WithCaller(t.Context(), core.Operator("ada"))
	_, err := w.host.Governance.Set(ctx, "team/a", "experiment=on")
	if err != nil {
		t.Fatal(err)
	}
	words := map[string]string{}
	for _, word := range []string{"amaranth", "bergamot", "celandine"} {
		words[w.observe("team/a", "A failed upload: retry it with "+word+".")] = word
	}
	for i := range 3 {
		r := core.RecallRequest{Session: fmt.Sprint("warm", i), Query: "an upload failed, retry it?", RecallFilter: core.RecallFilter{Namespace: "team/a"}}
		found, err := w.host.Memories.Recall(ctx, &r)
		if err != nil {
			t.Fatal(err)
		}
		used := &core.FeedbackRequest{Session: r.Session, Turn: found.Turn, Outcome: core.OutcomeSuccess, Source: "tool"}
		for id := range words {
			used.Used = append(used.Used, id)
		}
		if _, err := w.host.Memories.Feedback(ctx, used); err != nil {
			t.Fatal(err)
		}
	}
	left := 0
	for i := range 12 {
		var history []gateway.Message
		var up []string
		session, withheld := "", ""
		for turn, question := range []string{"an upload failed, retry it?", "Thank you.", "Do I retry a failed upload?", "Which uploads failed?"} {
			history = append(history, user(fmt.Sprintf("%s I am user %d.", question, i)))
			says := says(fmt.Sprint("Well, ", i, turn))
			out := w.serve(ann, modelWith("team/a"), &gateway.Request{Model: "coder", Messages: slices.Clone(history)}, says)
			session = out.Turn.Session
			edits := says.asked[0].Edits
			for _, text := range edits.Context {
				up = append(up, text)
			}
			up = append(up, fmt.Sprint(edits.System))
			history = append(history, assistant(text(fmt.Sprint("Well, ", i, turn))))
		}
		for _, turn := range w.turns(ann, session) {
			for _, id := range turn.Withheld {
				if withheld != "" && withheld != id {
					t.Errorf("a conversation leaves out %s and then %s", withheld, id)
				}
				withheld = id
			}
		}
		if withheld == "" {
			continue
		}
		left++
		for _, text := range up {
			if strings.Contains(text, withheld) || strings.Contains(text, words[withheld]) {
				t.Errorf("conversation %d leaves out %s, and goes up with %q", i, words[withheld], text)
			}
		}
	}
	if left < 3 {
		t.Errorf("%d of 12 conversations leave something out", left)
	}
}
