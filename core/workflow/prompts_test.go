package workflow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/sdk"
)

// prompting answers snapshots with blocks, and reports a prompt in every other node.
type prompting struct{ blocks string }

func (p prompting) Act(_ context.Context, req *action.Request) (any, error) {
	if _, is := req.Action.(*action.SnapshotSpec); is {
		return json.RawMessage(`{"session_id": "s", "turn_id": 1, "blocks_used": [` + p.blocks + `]}`), nil
	}
	prompt := core.Prompt{Plugin: "p", Messages: []core.PromptMessage{{Text: "Hello", Bytes: 5, Digest: "d"}}, Memories: req.Memories}
	prompt.Withhold(req.Withhold)
	req.Prompt(prompt)
	return &action.CallResult{Output: json.RawMessage(`1`)}, nil
}

// visits collects finished visits.
type visits struct{ list []core.Visit }

func (v *visits) Attempts(int, string) core.AttemptRecorder { return nil }

func (v *visits) RecordVisit(_ context.Context, visit *core.Visit) error {
	v.list = append(v.list, *visit)
	return nil
}

func (v *visits) RecordEnd(context.Context, *core.Run, *core.Visit) error { return nil }

// TestRun_RecordsPrompts of nodes, and withholds what a purge couldn't remove, or what the
// workflow doesn't want.
func TestRun_RecordsPrompts(t *testing.T) {
	const secret = `{"block_id": "a", "payload_digest": "hmac-sha256:d", "payload": "x"`
	for name, c := range map[string]struct{ settings, blocks, want string }{
		"as it is":               {"", "", "before:Hello() after:Hello()"},
		"prompts":                {"settings: {record: prompts}\n", "", "before:Hello() after:Hello()"},
		"digests":                {"settings: {record: digests}\n", "", "before:(digests) after:(digests)"},
		"a memory":               {"", secret + `, "memory_id": "m"}`, "before:Hello() after:Hello()m"},
		"a session":              {"", secret + `}`, "before:Hello() after:(session)"},
		"a session and digests":  {"settings: {record: digests}\n", secret + `}`, "before:(digests) after:(session)"},
		"a session among others": {"", `{"block_id": "b", "memory_id": "m"}, {"block_id": "c", "payload_digest": "sha256:d"}, ` + secret + `}`, "before:Hello() after:(session)m"},
		"a plain text":           {"", `{"block_id": "a", "payload_digest": "sha256:d", "payload": "x"}`, "before:Hello() after:Hello()"},
	} {
		plan, err := load(c.settings + `nodes:
- {name: before, action: lua.run, with: {code: return 1}}
- {name: told, action: inject.snapshot, with: {query: q}}
- {name: after, action: lua.run, with: {code: return 1}}
`)
		if err != nil {
			t.Fatal(err)
		}
		record := &visits{}
		run := &core.Run{ID: "r", State: json.RawMessage(`{}`)}
		if err := (&workflow.Runner{Actions: prompting{c.blocks}, Recorder: record}).Run(t.Context(), plan, run, core.Progress{}); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range record.list {
			for _, p := range v.Prompts {
				got = append(got, fmt.Sprintf("%s:%s(%s)%s", v.Node, p.Messages[0].Text, p.Withheld, strings.Join(p.Memories, ",")))
				if (p.Messages[0].Digest == "") != (p.Withheld == core.PromptSession) {
					t.Errorf("%s: %+v", name, p)
				}
			}
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %s, want %s", name, text, c.want)
		}
	}
	if _, err := load("settings: {record: everything}\nnodes: [{name: a, action: lua.run, with: {code: return 1}}]"); err == nil || !strings.Contains(err.Error(), "record must be one of prompts, digests") {
		t.Errorf("an unknown word: %v", err)
	}
}

// failingActions report a prompt, and fail in one node.
type failingActions struct{ node string }

func (f failingActions) Act(_ context.Context, req *action.Request) (any, error) {
	req.Prompt(core.Prompt{Plugin: "p", Messages: []core.PromptMessage{{Text: "Ask in " + req.Node}}})
	if req.Node == f.node {
		return nil, sdk.Errorf(sdk.Invalid, "llm_reply_cut", "cut")
	}
	return &action.CallResult{Output: json.RawMessage(`1`)}, nil
}

// ends collects the visits in which runs ended.
type ends struct {
	visits
	open *core.Visit
}

func (e *ends) RecordEnd(_ context.Context, _ *core.Run, open *core.Visit) error {
	e.open = open
	return nil
}

// TestRun_RecordsThePromptsOfTheCallThatEndsIt: that is when somebody looks.
func TestRun_RecordsThePromptsOfTheCallThatEndsIt(t *testing.T) {
	plan, err := load(`nodes:
- {name: a, action: lua.run, with: {code: return 1}}
- name: b
  action: lua.run
  with: {code: return 1}
  goto: [{to: end, when: "state.b.output > 'x'"}]
- {name: c, action: lua.run, with: {code: return 1}}
`)
	if err != nil {
		t.Fatal(err)
	}
	for node, number := range map[string]int{"a": 1, "b": 2} {
		record := &ends{}
		run := &core.Run{ID: "r", State: json.RawMessage(`{}`)}
		if err := (&workflow.Runner{Actions: failingActions{node}, Recorder: record}).Run(t.Context(), plan, run, core.Progress{}); sdk.ReasonOf(err) != "llm_reply_cut" {
			t.Fatalf("%s: %v", node, err)
		}
		if o := record.open; o == nil || o.Number != number || o.Node != node || o.Result != nil || len(o.Prompts) != 1 || o.Prompts[0].Messages[0].Text != "Ask in "+node {
			t.Errorf("%s: ended in %+v", node, o)
		}
	}
}
