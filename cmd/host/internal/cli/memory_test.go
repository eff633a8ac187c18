package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store/pebble"
	"github.com/reflectory/reflectory/sdk"
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
	if code != exitPassed || waits["status"] != "pending" || keysOf(waits) != "namespace pending_id status" {
		t.Fatalf("exit %d: %v", code, waits)
	}
	out, _ := w.ok("memory", "approve", pending, "--json")
	var approved map[string]any
	if err := json.Unmarshal([]byte(out), &approved); err != nil || approved["reflection_depth"] != 2.0 {
		t.Errorf("%v: %s", err, out)
	}
}

// A limit in a namespace's settings refuses like the depth limit: exit 4, with
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
		try  string
	}{
		{"observe", []string{"memory", "observe", "--namespace", "team/a", "--content", "x"}, "namespace_full",
			map[string]any{"namespace": "team/a", "limit": "max_memories", "most": 3.0, "got": 4.0, "decided_by": "team"}, `{"verb":"governance set","args":{"namespace":"team","field":"limits.max_memories=…"}}`},
		{"observe a file", []string{"memory", "observe", "--namespace", "team/a", "--file", lines}, "namespace_full",
			map[string]any{"namespace": "team/a", "limit": "max_memories", "most": 3.0, "got": 4.0, "decided_by": "team"}, `{"verb":"governance set","args":{"namespace":"team","field":"limits.max_memories=…"}}`},
		{"reflect", []string{"memory", "reflect", "--source", "fact-one", "--title", "t", "--content", "x"}, "namespace_full",
			map[string]any{"namespace": "team/a", "limit": "max_memories", "most": 3.0, "got": 4.0, "decided_by": "team"}, `{"verb":"governance set","args":{"namespace":"team","field":"limits.max_memories=…"}}`},
		{"reflect on many", []string{"memory", "reflect", "--source", "fact-one", "--source", "fact-two", "--title", "t", "--content", "x"}, "links_full",
			map[string]any{"namespace": "team/a", "limit": "max_links_per_memory", "most": 1.0, "decided_by": "*"}, `{"verb":"governance set","args":{"namespace":"*","field":"limits.max_links_per_memory=…"}}`},
		{"link", []string{"memory", "link", "fact-one", "related_to", "fact-three"}, "links_full",
			map[string]any{"namespace": "team/a", "limit": "max_links_per_memory", "most": 1.0, "decided_by": "*"}, `{"verb":"governance set","args":{"namespace":"*","field":"limits.max_links_per_memory=…"}}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			code, out, _ := w.run(t.Context(), append(c.args, "--json")...)
			var said struct {
				Error struct {
					Code    string
					Details map[string]any
					Try     sdk.Action
				}
			}
			if err := json.Unmarshal([]byte(out), &said); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			e := said.Error
			try, err := json.Marshal(e.Try)
			if err != nil || code != exitDenied || e.Code != c.code || !maps.Equal(e.Details, c.want) || string(try) != c.try {
				t.Errorf("exit %d: %+v, to try %s (%v)", code, e, try, err)
			}
		})
	}
	w.ok("governance", "set", "team", "limits.max_memories=4")
	w.ok("memory", "observe", "--namespace", "team/a", "--content", "x")
}

// TestHowReflectRefuses checks the exit codes with which reflect refuses, and its lines.
func TestHowReflectRefuses(t *testing.T) {
	w := newPlainWorld(t)
	w.line(exitPassed, "", "memory observe --namespace team/a --id fact-1 --title Fact --content x")
	const reflect = "memory reflect --content x "
	cases := []struct {
		name, line string
		exit       int
		code, says string
		details    string // the keys
	}{
		{"no source", reflect + "--title T", exitUsage, "source_ids_invalid", "source_ids cannot be empty", "field"},
		{"a source twice", reflect + "--title T --source fact-1 --source fact-1", exitFailure, "source_ids_invalid", "source_ids[1] repeats source_ids[0] (fact-1)", "field"},
		{"a source that isn't there", reflect + "--title T --source fact-1 --source nowhere-1", exitFailure, "source_not_found", "source_ids[1]: there is no memory nowhere-1", "source_id"},
		{"no title", reflect + "--source fact-1", exitUsage, "title_invalid", "title is blank", "field"},
		{"another depth", reflect + "--title T --source fact-1 --depth 2", exitFailure, "depth_mismatch", "depth is given as 2, but the sources make it 1", "asserted computed"},
		{"a title that is taken", reflect + "--title Fact --source fact-1", exitFailure, "title_taken", `memory fact-1 of namespace team/a already has the title "Fact"`, "memory_id namespace"},
		{"an observation", reflect + "--title T --source fact-1 --kind observation", exitUsage, "kind_invalid", `kind is "observation", not reflection, semantic or procedural`, "field"},
		{"a policy's veto", reflect + "--title T --source fact-1 --namespace vetoed", exitDenied, "policy_veto", "the reflect policy denies the reflection: ", "code policy reason rule"},
	}
	if err := os.MkdirAll("data/policies/reflect", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("data/policies/reflect/a.yaml", []byte("namespace: vetoed\n"+denying("rude")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := w.in(t)
			code, message, details := w.refusal(c.exit, c.line)
			if code != c.code || !strings.HasPrefix(message, c.says) || strings.Contains(message, "\n") || keysOf(details) != c.details {
				t.Errorf("%s: %q, details %v", code, message, details)
			}
		})
	}
	list := w.parsed(exitPassed, "memory list --namespace team --subtree")["items"].([]any)
	events, _ := w.line(exitPassed, "", "audit show namespace/team/a")
	if len(list) != 1 || strings.Contains(events, "reflection.") {
		t.Errorf("refusals left %d memories and the events:\n%s", len(list), events)
	}
}

// TestTheKillSwitchHoldsWhereSettingsCantBeRead: exit 4, with the level and the
// reason, and exit 3 of explain; unset drops what can't be read.
func TestTheKillSwitchHoldsWhereSettingsCantBeRead(t *testing.T) {
	w := newPlainWorld(t)
	w.line(exitPassed, "", "memory observe --namespace team/a --id fact-1 --content x")
	db, err := pebble.Open(t.Context(), pebble.Options{Dir: filepath.Join("data", "store")})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(t.Context(), func(tx core.Tx) error { return tx.Put([]byte("governance/team"), []byte(`{"max_reflection_depth":9`)) })
	if err != nil || db.Close() != nil {
		t.Fatal(err)
	}
	const reflect = "memory reflect --title T --content x --source fact-1"
	code, message, details := w.refusal(exitDenied, reflect)
	if code != "depth_exceeded" || message != "reflection depth 1 would exceed namespace max_reflection_depth 0 (namespace='team/a')" ||
		details["decided_by"] != "team" || details["failure"] != "governance_unreadable" {
		t.Errorf("%s: %q, details %v", code, message, details)
	}
	_, errs := w.line(exitDenied, "", reflect)
	wantIn(t, errs, "hint: the settings of team can't be read")
	events, _ := w.line(exitPassed, "", "audit show namespace/team/a --json")
	wantIn(t, events, "reflection.depth_exceeded", `"failure": "governance_unreadable"`)
	out, _ := w.line(exitNotValid, "", "governance explain team/a")
	wantIn(t, out, "max_reflection_depth", "locked by team", "the stored settings of team can't be read", "or drop the settings: reflectory governance unset team\n")
	if code, _, _ := w.refusal(exitFailure, "governance set team max_reflection_depth=9"); code != "governance_unreadable" {
		t.Errorf("set again: %s", code)
	}
	w.line(exitNotValid, "", "store check")
	w.line(exitPassed, "", "governance unset team")
	w.line(exitPassed, "", reflect)
}

// TestWhatWaitsIsListedApprovedAndRejected, by the beginnings of ids too, and once.
func TestWhatWaitsIsListedApprovedAndRejected(t *testing.T) {
	w := newPlainWorld(t)
	w.env["REFLECTORY_AGENT"] = "ada"
	fact := w.parsed(exitPassed, "memory observe --namespace team/a --content x")["id"].(string)
	w.line(exitPassed, "", "governance set team require_approval_above_depth=0")
	if code, _, _ := w.refusal(exitFailure, "memory get "+fact[:7]); code != "memory_not_found" {
		t.Errorf("7 characters: %s", code)
	}
	const keyed = " --title T --content deep --idempotency-key k --source "
	first := w.parsed(exitPassed, "memory reflect"+keyed+fact[:8])
	again := w.parsed(exitPassed, "memory reflect"+keyed+fact)
	pending, _ := first["pending_id"].(string)
	if pending == "" || again["pending_id"] != pending {
		t.Fatalf("first %v, then %v", first, again)
	}
	list, _ := w.parsed(exitPassed, "memory pending")["items"].([]any)
	if len(list) != 1 || keysOf(list[0].(map[string]any)) != "above agent_id created_at depth id namespace request" {
		t.Errorf("pending: %v", list)
	}
	approved := w.parsed(exitPassed, "memory approve "+pending[:8])
	made := w.parsed(exitPassed, "memory get "+approved["id"].(string))
	metadata, _ := made["metadata"].(map[string]any)
	if keysOf(approved) != "id namespace reflection_depth reflects_on" || keysOf(metadata) != "agent_id reflection_metadata" || metadata["agent_id"] != "ada" ||
		keysOf(metadata["reflection_metadata"].(map[string]any)) != "reflected_on_source_ids reflection_created_at reflection_depth" {
		t.Errorf("approved %v, made %v", approved, made)
	}
	if code, _, _ := w.refusal(exitFailure, "memory approve "+pending); code != "pending_not_found" {
		t.Errorf("approved again: %s", code)
	}
	second := w.parsed(exitPassed, "memory reflect --title U --content deep --source "+fact)
	rejected := w.parsed(exitPassed, "memory reject --reason no "+second["pending_id"].(string))
	if rejected["id"] != second["pending_id"] {
		t.Errorf("rejected %v", rejected)
	}
	if list, _ := w.parsed(exitPassed, "memory pending")["items"].([]any); len(list) != 0 {
		t.Errorf("still pending: %v", list)
	}
	w.line(exitPassed, "", "store check")
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
	w := newPlainWorld(t)
	for i, line := range []string{
		"--id plain-01", "--id kind-001 --kind semantic", "--id tags-001 --tag x --tag y", "--id tags-002 --tag x",
		"--id agent-01 --agent robot", "--id below-01 --namespace n/below", "--id beside-1 --namespace n2",
	} {
		if !strings.Contains(line, "--namespace") {
			line += " --namespace n"
		}
		w.line(exitPassed, "", fmt.Sprintf("memory observe --content word/%d %s", i, line)) // recall shows equal contents once
	}
	w.line(exitPassed, "", "memory recall --namespace n --session s --turn 1 --by robot word")
	w.line(exitPassed, "", "memory feedback --session s --turn 1 --outcome success --used agent-01")
	const all = "agent-01 kind-001 plain-01 tags-001 tags-002"
	for filter, want := range map[string]string{
		"": all, "--subtree": sortedWords(all + " below-01"), "--kind semantic": "kind-001", "--kind semantic --kind observation": all,
		"--tag x": "tags-001 tags-002", "--tag x --tag y": "tags-001", "--by robot": "agent-01", "--state active": "agent-01",
		"--state active --state open": all, "--limit 1 --tag y": "tags-001", "--tag z": "",
	} {
		for _, command := range []string{"memory list", "memory recall word --limit 10"} {
			out, _ := w.line(exitPassed, "", command+" --namespace n --json "+filter)
			var found struct{ Memories, Items []struct{ ID string } }
			if err := json.Unmarshal([]byte(out), &found); err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, m := range append(found.Memories, found.Items...) {
				ids = append(ids, m.ID)
			}
			if got := sortedWords(strings.Join(ids, " ")); got != want {
				t.Errorf("%s %s: %q, want %q", command, filter, got, want)
			}
		}
	}
	for limit, want := range map[string]int{"--limit 2": 2, "": 5, "--min-score 1.5": 0, "--limit 100": 5} {
		out, _ := w.line(exitPassed, "", "memory recall word --namespace n --json "+limit)
		if got := strings.Count(out, `"rank"`); got != want {
			t.Errorf("%q recalls %d, want %d", limit, got, want)
		}
	}
	out, _ := w.line(exitUsage, "", "memory recall word --namespace n --state archived --json")
	wantIn(t, out, `"code": "states_invalid"`)
}

// TestWhoActsIsInEveryEvent has another agent do each thing.
func TestWhoActsIsInEveryEvent(t *testing.T) {
	w := newPlainWorld(t)
	seedMemory(t, "data", "old-steps", 3)
	for _, c := range []struct{ agent, stdin, line, stream, event string }{
		{"a1", "", "memory observe --namespace n --id fact-0001 --content x", "namespace/n", "agent.memory.observed"},
		{"a2", "", "memory reflect --source fact-0001 --title t --content c", "namespace/n", "agent.memory.reflected"},
		{"a3", "", "memory link fact-0001 related_to old-steps", "namespace/n", "agent.memory.linked"},
		{"a4", "", "memory recall --namespace n --session mine --turn 1 x", "", ""},
		{"a5", "", "memory feedback --session mine --turn 1 --outcome success", "namespace/n", "agent.memory.evolution.applied"},
		{"a6", "", "governance set n max_reflection_depth=2", "namespace/n", "agent.governance.changed"},
		{"a7", failuresOf("old-steps"), "evidence tool --file -", "namespace/team/a", "agent.evidence.tool_recorded"},
		{"a8", pathOfOldSteps, "evidence dag --file -", "evidence/deploy", "agent.evidence.dag_recorded"},
		{"a9", "", "gate run old-steps", "namespace/team/a", "agent.memory.revalidate.started"},
		{"a10", "", "memory observe --namespace n --id fact-0002 --content y", "namespace/n", "agent.memory.observed"},
		{"a11", "", "memory sweep n", "namespace/n", "agent.memory.swept"},
	} {
		w.line(exitPassed, c.stdin, c.line+" --agent "+c.agent)
		if c.stream == "" {
			continue
		}
		out, _ := w.line(exitPassed, "", "audit show --json "+c.stream)
		var shown struct {
			Items []struct {
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
		for _, e := range shown.Items {
			found = found || e.Type == c.event && e.Data.Agent == c.agent
		}
		if !found {
			t.Errorf("%s: no %s names %s in %s", c.line, c.event, c.agent, out)
		}
	}
}

// TestReflectionsAreLiftedAsItIsSet checks the factor of a reflection of depth 1 in recall.
func TestReflectionsAreLiftedAsItIsSet(t *testing.T) {
	w := newPlainWorld(t)
	w.line(exitPassed, "", "memory observe --namespace n --id fact-0001 --content word")
	w.line(exitPassed, "", "memory reflect --source fact-0001 --title lesson --content word/lesson")
	for boost, want := range map[string]string{"": "1", "1.2": "1.26", "1": "1", "1.0": "1", "2": "2.1"} {
		w.env["REFLECTORY_RECALL_DEPTH_BOOST"] = boost
		out, _ := w.line(exitPassed, "", "memory recall --namespace n word --json")
		if !strings.Contains(out, `"depth_boost": `+want+",") {
			t.Errorf("a boost of %q shows %s", boost, out)
		}
	}
	for _, boost := range []string{"0", "-1", "11", "much", "NaN"} {
		w.env["REFLECTORY_RECALL_DEPTH_BOOST"] = boost
		_, errs := w.line(exitUsage, "", "memory recall --namespace n word")
		wantIn(t, errs, "recall depth boost", "environment REFLECTORY_RECALL_DEPTH_BOOST", "hint: ")
	}
}
