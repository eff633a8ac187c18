package workflow_test

import (
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/workflow/action"
)

func memoryWorkflow(action, with string) string {
	return "nodes:\n  - name: a\n    action: " + action + "\n    with: " + with + "\n"
}

func TestMemoryActionsLoad(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"observe", memoryWorkflow("memory.observe", `{content: "{{ state.x }}", title: T, importance: 0.9, tags: [a]}`),
			`{"content":"seen","importance":0.9,"tags":["a"],"title":"T"}`},
		{"observe elsewhere", memoryWorkflow("memory.observe", `{content: c, namespace: other}`),
			`{"content":"c","namespace":"other"}`},
		{"reflect, where its sources are", memoryWorkflow("memory.reflect", `{source_ids: ["1", "2"], content: c}`),
			`{"content":"c","source_ids":["1","2"]}`},
		{"recall", memoryWorkflow("memory.recall", `{query: "{{ state.x }}", limit: 3, subtree: true}`),
			`{"limit":3,"query":"seen","subtree":true}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p, err := load(c.text)
			if err != nil {
				t.Fatal(err)
			}
			spec, ok := p.Nodes[0].Action.(*action.MemorySpec)
			if !ok {
				t.Fatalf("the action is %T", p.Nodes[0].Action)
			}
			if got := render(t, spec.Request, action.Variables{State: []byte(`{"x":"seen"}`)}); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestMemoryActionsRefuse(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"no content", memoryWorkflow("memory.observe", "{title: T}"), `needs the key "content"`},
		{"no query", memoryWorkflow("memory.recall", "{limit: 1}"), `needs the key "query"`},
		{"no sources", memoryWorkflow("memory.reflect", "{content: c}"), `needs the key "source_ids"`},
		{"a key of another verb", memoryWorkflow("memory.recall", "{query: q, importance: 1}"), `has no key "importance"`},
		{"a misspelt key", memoryWorkflow("memory.observe", "{contents: q}"), `did you mean "content"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if _, err := load(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}
