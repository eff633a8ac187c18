package httpapi

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/inject"
)

// TestAnswers_HaveNothingThatIsWithheld: neither a recall nor a prompt has a trace of a memory that its turn
// leaves out. In a conversation, whose later turns see earlier prompts, none of its prompts has.
func TestAnswers_HaveNothingThatIsWithheld(t *testing.T) {
	s := newSite(t)
	memories := s.UnderTest()
	left := map[bool]int{}
	for i := range 24 {
		name, keeps, given := fmt.Sprint("talk", i), i%2 == 1, ""
		for turn := range int64(3) {
			query := []string{"an upload failed, retry it?", "hello", "Retry a failed upload?"}[turn]
			if !keeps {
				given = s.call("operator", "memory_recall", &core.RecallRequest{
					Session: name, Turn: turn + 1, Query: query, RecallFilter: core.RecallFilter{Namespace: operationtest.Here},
				}).body
			}
			var built struct {
				Prompt string
				Blocks json.RawMessage `json:"blocks_used"`
			}
			s.Must(json.Unmarshal([]byte(s.call("operator", "snapshot_build", &inject.BuildRequest{
				Namespace: operationtest.Here, Session: name, Turn: turn + 1, Query: query, InHistory: keeps,
			}).body), &built))
			given += built.Prompt + string(built.Blocks)
			if s.LeftOut(core.Operator(operationtest.Agent), name, turn+1, memories, given) != nil {
				left[keeps]++
			}
		}
	}
	if left[true] < 5 || left[false] < 5 {
		t.Errorf("%v of 36 turns each leave something out", left)
	}
}
