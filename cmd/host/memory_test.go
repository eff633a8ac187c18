package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

// reflected runs a reflection on a source and decodes what it prints.
func (w *world) reflected(source, title string, more ...string) (code int, result map[string]any) {
	w.t.Helper()
	args := append([]string{"memory", "reflect", "--source", source, "--title", title, "--content", "x", "--json"}, more...)
	code, out, errs := w.run(w.t.Context(), args...)
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		w.t.Fatalf("exit %d: %v: %s%s", code, err, out, errs)
	}
	return code, result
}

func keysOf(object map[string]any) string {
	return strings.Join(slices.Sorted(maps.Keys(object)), " ")
}

// The shapes and exit codes of the issue: a reflection, a refusal, and one that
// waits for an approval.
func TestWhatReflectPrints(t *testing.T) {
	w := newWorld(t)
	w.ok("memory", "observe", "--namespace", "team/a", "--id", "fact-1", "--content", "A fact.")
	w.ok("governance", "set", "team", "max_reflection_depth=1")

	code, first := w.reflected("fact-1", "First")
	if code != exitPassed || keysOf(first) != "id namespace reflection_depth reflects_on" ||
		first["reflection_depth"] != 1.0 || first["namespace"] != "team/a" || len(first["reflects_on"].([]any)) != 1 {
		t.Fatalf("exit %d: %v", code, first)
	}

	id := first["id"].(string)
	code, refused := w.reflected(id, "Second")
	failure, _ := refused["error"].(map[string]any)
	details, _ := failure["details"].(map[string]any)
	if code != exitDenied || keysOf(refused) != "error" || failure["code"] != "depth_exceeded" || keysOf(details) != "attempted cap decided_by namespace" {
		t.Fatalf("exit %d: %v", code, refused)
	}
	if details["attempted"] != 2.0 || details["cap"] != 1.0 || details["decided_by"] != "team" || details["namespace"] != "team/a" {
		t.Errorf("details are %v", details)
	}
	const line = "reflection depth 2 would exceed namespace max_reflection_depth 1 (namespace='team/a')"
	if failure["message"] != line {
		t.Errorf("message is %q", failure["message"])
	}
	code, _, errs := w.run(t.Context(), "memory", "reflect", "--source", id, "--title", "Second", "--content", "x")
	if code != exitDenied || !strings.HasPrefix(errs, "error: "+line+"\nhint: ") {
		t.Errorf("exit %d: %s", code, errs)
	}

	w.ok("governance", "set", "team", "max_reflection_depth=3", "require_approval_above_depth=1")
	code, waits := w.reflected(id, "Second")
	pending, _ := waits["pending_id"].(string)
	if code != exitPassed || waits["status"] != "pending" || waits["id"] != nil {
		t.Fatalf("exit %d: %v", code, waits)
	}
	out, _ := w.ok("memory", "approve", pending, "--json")
	var approved map[string]any
	if err := json.Unmarshal([]byte(out), &approved); err != nil || approved["reflection_depth"] != 2.0 {
		t.Errorf("%v: %s", err, out)
	}
}

// A limit of a namespace's settings refuses as the depth cap does: exit 4, with
// the level that set it.
func TestALimitOfANamespaceRefuses(t *testing.T) {
	w := newWorld(t)
	w.ok("governance", "set", "team", "limits.max_memories=3")
	w.ok("governance", "set", "*", "limits.max_links_per_memory=1")
	w.ok("memory", "observe", "--namespace", "team/a", "--id", "fact-one", "--content", "A fact.")
	w.ok("memory", "observe", "--namespace", "team/a", "--id", "fact-two", "--content", "Another fact.")
	w.ok("memory", "observe", "--namespace", "team/a", "--id", "fact-three", "--content", "A third fact.")
	w.ok("memory", "link", "fact-one", "related_to", "fact-two")
	lines := w.file("more.jsonl", `{"content": "A fourth fact."}`)
	cases := []struct {
		name string
		args []string
		code string
		want map[string]any
		hint string
	}{
		{"observe", []string{"memory", "observe", "--namespace", "team/a", "--content", "x"}, "namespace_full",
			map[string]any{"namespace": "team/a", "limit": "max_memories", "most": 3.0, "got": 4.0, "decided_by": "team"}, "governance set team limits.max_memories="},
		{"observe a file", []string{"memory", "observe", "--namespace", "team/a", "--file", lines}, "namespace_full",
			map[string]any{"namespace": "team/a", "limit": "max_memories", "most": 3.0, "got": 4.0, "decided_by": "team"}, "governance set team limits.max_memories="},
		{"reflect", []string{"memory", "reflect", "--source", "fact-one", "--title", "t", "--content", "x"}, "namespace_full",
			map[string]any{"namespace": "team/a", "limit": "max_memories", "most": 3.0, "got": 4.0, "decided_by": "team"}, "governance set team limits.max_memories="},
		{"reflect on many", []string{"memory", "reflect", "--source", "fact-one", "--source", "fact-two", "--title", "t", "--content", "x"}, "links_full",
			map[string]any{"namespace": "team/a", "limit": "max_links_per_memory", "most": 1.0, "decided_by": "*"}, "governance set '*' limits.max_links_per_memory="},
		{"link", []string{"memory", "link", "fact-one", "related_to", "fact-three"}, "links_full",
			map[string]any{"namespace": "team/a", "limit": "max_links_per_memory", "most": 1.0, "decided_by": "*"}, "governance set '*' limits.max_links_per_memory="},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			code, out, _ := w.run(t.Context(), append(c.args, "--json")...)
			var said struct {
				Error struct {
					Code, Hint string
					Details    map[string]any
				}
			}
			if err := json.Unmarshal([]byte(out), &said); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if e := said.Error; code != exitDenied || e.Code != c.code || !maps.Equal(e.Details, c.want) || !strings.Contains(e.Hint, c.hint) {
				t.Errorf("exit %d: %+v", code, e)
			}
		})
	}
	w.ok("governance", "set", "team", "limits.max_memories=4")
	w.ok("memory", "observe", "--namespace", "team/a", "--content", "x")
}
