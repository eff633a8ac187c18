package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/cmd/host/internal/connect"
	"github.com/reflectory/reflectory/core/coretest"
)

// The client keeps what a hook gave in its conversation, so a memory under test is left out of a whole
// conversation; and what its start showed isn't left out of it.
func TestHook_LeavesOutOfAConversation(t *testing.T) {
	coretest.Long(t)
	w := newPlainWorld(t)
	words := []string{"amaranth", "bergamot", "celandine"}
	w.ok("governance", "set", "default", "experiment=on")
	var used []string
	for _, word := range words {
		out, _ := w.ok("memory", "observe", "--content", "A failed upload: retry it with "+word, "--json")
		var m struct{ ID string }
		if err := json.Unmarshal([]byte(out), &m); err != nil {
			t.Fatal(err)
		}
		used = append(used, "--used", m.ID)
	}
	for i := range 3 {
		session := fmt.Sprint("warm", i)
		w.ok("memory", "recall", "an upload failed, retry it?", "--session", session)
		w.ok(append([]string{"memory", "feedback", "--session", session, "--turn", "1", "--outcome", "success", "--source", "tool"}, used...)...)
	}
	a := newCodingAgent(w, connect.ClaudeCode)
	missing := func(text string) (list []string) {
		for _, word := range words {
			if !strings.Contains(text, word) {
				list = append(list, word)
			}
		}
		return list
	}
	left := 0
	for i := range 8 {
		a.common["session_id"] = fmt.Sprint("talk", i)
		first := missing(a.fires("UserPromptSubmit", map[string]any{"prompt": "an upload failed, retry it?"}))
		second := missing(a.fires("UserPromptSubmit", map[string]any{"prompt": "Do I retry a failed upload?"}))
		if fmt.Sprint(first) != fmt.Sprint(second) || len(first) > 1 {
			t.Errorf("conversation %d leaves out %q and then %q", i, first, second)
		}
		left += len(first)
	}
	if left < 2 {
		t.Errorf("%d of 8 conversations leave something out", left)
	}
	for i := range 6 {
		a.common["session_id"] = fmt.Sprint("started", i)
		a.fires("SessionStart", map[string]any{"source": "startup"})
		if out := missing(a.fires("UserPromptSubmit", map[string]any{"prompt": "an upload failed, retry it?"})); len(out) > 0 {
			t.Errorf("a conversation that began with it leaves out %q", out)
		}
	}
}
