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

// TestEachFlagOfAMemoryIsItsField gives every flag of observe and reflect.
func TestEachFlagOfAMemoryIsItsField(t *testing.T) {
	w := newWorld(t)
	common := []string{
		"--namespace", "team/b", "--title", "T", "--content", "C", "--kind", "procedural", "--priority", "7", "--confidence", "0.8",
		"--tag", "x", "--tag", "y", "--metadata", `{"ticket":17}`, "--idempotency-key", "k", "--agent", "ada", "--json",
	}
	get := func(id string) (m map[string]any) {
		t.Helper()
		out, _ := w.ok("memory", "get", id, "--json")
		if err := json.Unmarshal([]byte(out), &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	want := map[string]string{
		"namespace": `"team/b"`, "content": `"C"`, "kind": `"procedural"`, "priority": "7", "confidence": "0.8", "tags": `["x","y"]`,
		"agent_id": `"ada"`, "title": `"T"`,
	}
	check := func(what string, m map[string]any) {
		t.Helper()
		for field, value := range want {
			if got, _ := json.Marshal(m[field]); string(got) != value {
				t.Errorf("%s has %s %s, want %s", what, field, got, value)
			}
		}
		if metadata, _ := m["metadata"].(map[string]any); metadata["ticket"] != 17.0 {
			t.Errorf("%s has metadata %v", what, m["metadata"])
		}
	}
	for _, id := range []string{"made-a", "made-b"} { // the second time with the same key
		out, _ := w.ok(append([]string{"memory", "observe", "--importance", "0.9", "--id", id}, common...)...)
		var m struct {
			ID         string
			Importance float64
		}
		if err := json.Unmarshal([]byte(out), &m); err != nil || m.ID != "made-a" || m.Importance != .9 {
			t.Fatalf("%v: %s", err, out)
		}
	}
	check("observe", get("made-a"))

	w.ok("memory", "observe", "--namespace", "team/a", "--id", "source-1", "--content", "x")
	common[3], want["title"] = "R", `"R"`
	reflect := append([]string{"memory", "reflect", "--source", "source-1", "--source", "made-a", "--depth", "1"}, common...)
	var ids [2]string
	for i := range ids {
		out, _ := w.ok(reflect...)
		var r struct {
			ID         string
			ReflectsOn []string `json:"reflects_on"`
		}
		if err := json.Unmarshal([]byte(out), &r); err != nil || strings.Join(r.ReflectsOn, " ") != "source-1 made-a" {
			t.Fatalf("%v: %s", err, out)
		}
		ids[i] = r.ID
	}
	if ids[0] != ids[1] {
		t.Errorf("with the same key: %v", ids)
	}
	check("reflect", get(ids[0]))
	reflect[7] = "2"
	reflect[len(reflect)-4] = "another-key"
	code, out, _ := w.run(t.Context(), reflect...)
	if code != exitFailure || !strings.Contains(out, `"code": "depth_mismatch"`) {
		t.Errorf("exit %d: %s", code, out)
	}
}

// TestEachFilterSelects gives every filter of recall and list.
func TestEachFilterSelects(t *testing.T) {
	h := newHost(t)
	for _, line := range []string{
		"--id plain-01", "--id kind-001 --kind semantic", "--id tags-001 --tag x --tag y", "--id tags-002 --tag x",
		"--id agent-01 --agent robot", "--id below-01 --namespace n/below", "--id beside-1 --namespace n2",
	} {
		if !strings.Contains(line, "--namespace") {
			line += " --namespace n"
		}
		h.line(exitPassed, "", "memory observe --content word "+line)
	}
	h.line(exitPassed, "", "memory recall --namespace n --session s --turn 1 --by robot word")
	h.line(exitPassed, "", "memory feedback --session s --turn 1 --outcome success --used agent-01")
	const all = "agent-01 kind-001 plain-01 tags-001 tags-002"
	for filter, want := range map[string]string{
		"": all, "--subtree": sortedWords(all + " below-01"), "--kind semantic": "kind-001", "--kind semantic --kind observation": all,
		"--tag x": "tags-001 tags-002", "--tag x --tag y": "tags-001", "--by robot": "agent-01", "--state active": "agent-01",
		"--state active --state open": all, "--limit 1 --tag y": "tags-001", "--tag z": "",
	} {
		for _, command := range []string{"memory list", "memory recall word --limit 10"} {
			out, _ := h.line(exitPassed, "", command+" --namespace n --json "+filter)
			var found struct{ Memories []struct{ ID string } }
			if err := json.Unmarshal([]byte(out), &found); err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, m := range found.Memories {
				ids = append(ids, m.ID)
			}
			if got := sortedWords(strings.Join(ids, " ")); got != want {
				t.Errorf("%s %s: %q, want %q", command, filter, got, want)
			}
		}
	}
	for limit, want := range map[string]int{"--limit 2": 2, "": 5, "--min-score 1.5": 0, "--limit 100": 5} {
		out, _ := h.line(exitPassed, "", "memory recall word --namespace n --json "+limit)
		if got := strings.Count(out, `"rank"`); got != want {
			t.Errorf("%q recalls %d, want %d", limit, got, want)
		}
	}
	out, _ := h.line(exitFailure, "", "memory recall word --namespace n --state archived --json")
	wantIn(t, out, `"code": "states_invalid"`)
}

// TestWhoActsIsInEveryEvent has another agent do each thing.
func TestWhoActsIsInEveryEvent(t *testing.T) {
	h := newHost(t)
	seedMemory(t, "data", "old-steps", 3)
	for _, c := range []struct{ agent, stdin, line, stream, event string }{
		{"a1", "", "memory observe --namespace n --id fact-0001 --content x", "namespace/n", "agent.memory.observed"},
		{"a2", "", "memory reflect --source fact-0001 --title t --content c", "namespace/n", "agent.memory.reflected"},
		{"a3", "", "memory link fact-0001 related_to old-steps", "namespace/n", "agent.memory.linked"},
		{"a4", "", "memory recall --namespace n --session mine --turn 1 x", "", ""},
		{"a5", "", "memory feedback --session mine --turn 1 --outcome success", "namespace/n", "agent.memory.evolution.applied"},
		{"a6", "", "governance set n max_reflection_depth=2", "namespace/n", "agent.governance.changed"},
		{"a7", failures, "evidence tool --file -", "namespace/team/a", "agent.evidence.tool_recorded"},
		{"a8", pathOfOldSteps, "evidence dag --file -", "evidence/deploy", "agent.evidence.dag_recorded"},
		{"a9", "", "gate run old-steps", "namespace/team/a", "agent.memory.revalidate.started"},
	} {
		h.line(exitPassed, c.stdin, c.line+" --agent "+c.agent)
		if c.stream == "" {
			continue
		}
		out, _ := h.line(exitPassed, "", "audit show --json "+c.stream)
		var shown struct {
			Entries []struct {
				Type string
				Data struct {
					Agent string `json:"agent_id"`
				}
			}
		}
		if err := json.Unmarshal([]byte(out), &shown); err != nil {
			t.Fatal(err)
		}
		found := false
		for _, e := range shown.Entries {
			found = found || e.Type == c.event && e.Data.Agent == c.agent
		}
		if !found {
			t.Errorf("%s: no %s names %s in %s", c.line, c.event, c.agent, out)
		}
	}
}

// TestReflectionsAreLiftedAsItIsSet looks at the factor of a reflection of depth 1.
func TestReflectionsAreLiftedAsItIsSet(t *testing.T) {
	h := newHost(t)
	h.line(exitPassed, "", "memory observe --namespace n --id fact-0001 --content word")
	h.line(exitPassed, "", "memory reflect --source fact-0001 --title lesson --content word")
	for boost, want := range map[string]string{"": "1.26", "1": "1", "1.0": "1", "2": "2.1"} {
		h.env["REFLECTORY_RECALL_DEPTH_BOOST"] = boost
		out, _ := h.line(exitPassed, "", "memory recall --namespace n word --json")
		if !strings.Contains(out, `"depth_boost": `+want+"\n") {
			t.Errorf("a boost of %q shows %s", boost, out)
		}
	}
	for _, boost := range []string{"0", "-1", "11", "much", "NaN"} {
		h.env["REFLECTORY_RECALL_DEPTH_BOOST"] = boost
		_, errs := h.line(exitUsage, "", "memory recall --namespace n word")
		wantIn(t, errs, "recall_depth_boost", "environment REFLECTORY_RECALL_DEPTH_BOOST", "hint: ")
	}
}
