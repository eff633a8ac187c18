package mcpserver

import (
	"fmt"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
)

// TestTools_GiveNothingThatIsWithheld: no answer of a turn that leaves a memory out has a trace of it.
func TestTools_GiveNothingThatIsWithheld(t *testing.T) {
	w := operationtest.New(t)
	memories := w.UnderTest()
	session := overHTTP(t, newServerOf(t, w), All, core.Operator(operationtest.Agent))
	left := 0
	for i := range 30 {
		name, query := fmt.Sprint("talk", i), "an upload failed, retry it?"
		found := call(t, session, "retrieve", map[string]any{"session": name, "turn": 1, "query": query, "namespace": operationtest.Here})
		again := call(t, session, "retrieve", map[string]any{"session": name, "turn": 1, "query": "retry uploads", "namespace": operationtest.Here})
		prompt := call(t, session, "inject", map[string]any{"session": name, "turn": 1, "query": query, "namespace": operationtest.Here})
		if w.LeftOut(core.Operator(operationtest.Agent), name, 1, memories, found.text, found.structured, again.text, again.structured, prompt.text, prompt.structured) != nil {
			left++
		}
	}
	if left < 5 {
		t.Errorf("%d of 30 turns leave something out", left)
	}
}
