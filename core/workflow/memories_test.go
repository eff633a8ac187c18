package workflow_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
)

func TestPlanMemories_GivenAndWrittenAreApart(t *testing.T) {
	plan, err := load(`nodes:
- {name: observe, action: memory.observe, with: {content: x}}
- {name: reflect, action: memory.reflect, with: {content: x, source_ids: [a]}}
- {name: recall, action: memory.recall, with: {query: q}}
- {name: told, action: inject.snapshot, with: {query: q}}
- {name: feedback, action: memory.feedback, with: {outcome: success}}
- {name: call, action: lua.run, with: {code: x}}
- {name: work, action: reflection.loop, with: {generator: {run: x}, evaluator: {run: x}}}
`)
	if err != nil {
		t.Fatal(err)
	}
	visit := func(node, result string) core.Visit {
		return core.Visit{Node: node, Result: json.RawMessage(result), Skipped: result == ""}
	}
	for name, c := range map[string]struct {
		visits         []core.Visit
		given, written string
	}{
		"nothing":                         {nil, "", ""},
		"an observation":                  {[]core.Visit{visit("observe", `{"id":"m1","namespace":"n","content":"x"}`)}, "", "m1"},
		"an observation that was purged":  {[]core.Visit{visit("observe", `{"id":"m1","namespace":"n","content":"[purged]"}`)}, "", "m1"},
		"a reflection":                    {[]core.Visit{visit("reflect", `{"id":"m2","reflects_on":["m1"]}`)}, "", "m2"},
		"a reflection that waits":         {[]core.Visit{visit("reflect", `{"status":"pending","pending_id":"p1"}`)}, "", ""},
		"a recall":                        {[]core.Visit{visit("recall", `{"memories":[{"id":"m3"},{"id":"m4"}]}`)}, "m3 m4", ""},
		"a recall of copies":              {[]core.Visit{visit("recall", `{"memories":[{"id":"m3","same_as":["m5"]}]}`)}, "m3 m5", ""},
		"a recall of nothing":             {[]core.Visit{visit("recall", `{"memories":[]}`)}, "", ""},
		"a snapshot":                      {[]core.Visit{visit("told", `{"id":"s1","blocks_used":[{"block_id":"memory:m6","memory_id":"m6"},{"block_id":"x"}]}`)}, "m6", ""},
		"written, then recalled":          {[]core.Visit{visit("observe", `{"id":"m1"}`), visit("recall", `{"memories":[{"id":"m0"},{"id":"m1"}]}`)}, "m0 m1", "m1"},
		"recalled, then reflected on":     {[]core.Visit{visit("recall", `{"memories":[{"id":"m1"}]}`), visit("reflect", `{"id":"m2","reflects_on":["m1"]}`)}, "m1", "m2"},
		"several visits of a node":        {[]core.Visit{visit("recall", `{"memories":[{"id":"m1"}]}`), visit("recall", `{"memories":[{"id":"m2"},{"id":"m1"}]}`)}, "m1 m2", ""},
		"a skipped node":                  {[]core.Visit{visit("observe", "")}, "", ""},
		"feedback":                        {[]core.Visit{visit("feedback", `{"session":"s","items":[{"id":"m1"}]}`)}, "", ""},
		"a script's own id and memories":  {[]core.Visit{visit("call", `{"id":"m1","memories":[{"id":"m2"}]}`)}, "", ""},
		"a loop's output":                 {[]core.Visit{visit("work", `{"id":"m1","output":{"memories":[{"id":"m2"}]}}`)}, "", ""},
		"a node that the plan hasn't got": {[]core.Visit{visit("gone", `{"id":"m1"}`)}, "", ""},
		"a result that is no object":      {[]core.Visit{visit("recall", `7`)}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			given, written := plan.Memories(c.visits)
			if got := strings.Join(given, " "); got != c.given {
				t.Errorf("given %q, want %q", got, c.given)
			}
			if got := strings.Join(written, " "); got != c.written {
				t.Errorf("written %q, want %q", got, c.written)
			}
		})
	}
}
