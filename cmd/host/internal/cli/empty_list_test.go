package cli

import (
	"fmt"
	"strings"
	"testing"
)

// TestEmptyList_SaysWhereItLooked also checks that a list that continues says how, and that
// what can't match anything is refused instead of giving an empty list.
func TestEmptyList_SaysWhereItLooked(t *testing.T) {
	w := newPlainWorld(t)
	w.line(exitPassed, "", "memory observe --namespace team/a --content x")
	seedKnowledge(t, "data", "good-0001")
	seedKnowledge(t, "data", "good-0002")
	for line, want := range map[string]string{
		"memory list":                                  "no such memories in default",
		"memory list --namespace b --subtree":          "no such memories in b and below",
		"memory list --subtree --tag t --namespace=":   "no such memories in any namespace",
		"memory recall --namespace b x":                "nothing fits in b",
		"memory recall --namespace b --subtree x":      "nothing fits in b and below",
		"knowledge list --namespace b":                 "no knowledge in b",
		"knowledge recall --namespace b x":             "nothing fits in b",
		"knowledge list --namespace team/a --limit 1":  "hint: there are more: --page-token ",
		"memory list --subtree --limit 1 --namespace=": "hint: there are more: --page-token ",
	} {
		_, stderr := w.line(exitPassed, "", line)
		wantIn(t, stderr, want)
	}
	if got, message, _ := w.refusal(exitUsage, "memory list --namespace n --kind odd"); got != "kinds_invalid" {
		t.Errorf("a kind that there isn't: %s (%s)", got, message)
	}
	for line, want := range map[string]string{
		"governance set team/** max_reflection_depth=0":          "namespace_invalid",
		"memory observe --namespace n --file=":                   "file_not_found",
		"memory recall --namespace n --queries=":                 "file_not_found",
		"memory reflect --source a-memory --title t --content x": "source_not_found",
	} {
		if got, message, _ := w.refusal(exitFailure, line); got != want {
			t.Errorf("%s: %s (%s), want %s", line, got, message, want)
		}
	}
}

// TestALineSaysEachThingOnce: of two values of a key, one would be lost unseen.
func TestALineSaysEachThingOnce(t *testing.T) {
	w := newPlainWorld(t)
	for stdin, want := range map[string]string{
		`{"content": "a", "content": "b"}`:      `nothing was stored: standard input: line 1: the key "content" is there twice`,
		`{"content": "a", "Content": "b"}`:      `the key "Content" is there twice`,
		`{"content": "a", "tags": [1]}`:         "line 1: tags has a number where a text must be",
		`{"content": "a", "state": "promoted"}`: `line 1: unknown field "state"`,
	} {
		_, stderr := w.line(exitFailure, stdin, "memory observe --namespace n --file -")
		wantIn(t, stderr, want)
	}
	_, stderr := w.line(exitFailure, `{"memory_id": "fact-0001", "session": "s", "turn": 1, "tool": "t"}`, "evidence tool --file -")
	wantIn(t, stderr, "error: outcome 1: ok is missing")
}

// TestANewStoreIsNoProof: a check of a store that wasn't there says so.
func TestANewStoreIsNoProof(t *testing.T) {
	w := newPlainWorld(t)
	for i, line := range []string{"store check", "audit verify", "audit head", "store export -", "store backup copy"} {
		_, stderr := w.line(exitPassed, "", fmt.Sprint(line, " --data-dir new", i))
		wantIn(t, stderr, fmt.Sprintf("warn: there was no store in new%d/store", i))
	}
	_, stderr := w.line(exitPassed, "", "store check --data-dir new0")
	if strings.Contains(stderr, "warn") {
		t.Errorf("the second check says %s", stderr)
	}
}

// TestAGraphWithAMisspeltMemorySaysSo: such a memory would never get its evidence. One
// that was purged may stay in its graph.
func TestAGraphWithAMisspeltMemorySaysSo(t *testing.T) {
	w := newPlainWorld(t)
	w.line(exitPassed, "", "memory observe --namespace n --content x --id fact-0001")
	const graph = `{"workflow":"w","entry":["a"],"exits":["b"],"edges":[["a","b"]],"memories":{"fact-0001":["a"],"fact-000":["b"]}}`
	_, stderr := w.line(exitPassed, graph, "evidence dag --file -")
	wantIn(t, stderr, "warn: there is no memory fact-000: ")
	stdout, _ := w.line(exitPassed, graph, "evidence dag --file - --json")
	wantIn(t, stdout, `"unknown": [`, `"fact-000"`)
}

// TestWhatWasRecalledBeforeAnErrorIsShown: the turns of the lines before it have begun.
func TestWhatWasRecalledBeforeAnErrorIsShown(t *testing.T) {
	w := newPlainWorld(t)
	w.line(exitPassed, "", "memory observe --namespace n --content x --id fact-0001")
	const queries = `{"query": "x", "session": "s", "turn": 1}` + "\n" + `{"query": 1}`
	stdout, _ := w.line(exitFailure, queries, "memory recall --namespace n --queries - --json")
	wantIn(t, stdout, `"line_invalid"`, `"results": [`, `"fact-0001"`)
	stdout, stderr := w.line(exitFailure, queries, "memory recall --namespace n --queries -")
	wantIn(t, stdout, `"fact-0001"`)
	wantIn(t, stderr, "line 2: query has a number where a text must be")
}

// TestRepeatedLinesAreCountedApart: what was there before isn't reported as stored again.
func TestRepeatedLinesAreCountedApart(t *testing.T) {
	w := newPlainWorld(t)
	const lines = `{"content": "a", "idempotency_key": "k1"}` + "\n" + `{"content": "b", "idempotency_key": "k2"}` + "\n" +
		`{"content": "c", "idempotency_key": "k1"}`
	_, stderr := w.line(exitPassed, lines, "memory observe --namespace n --file -")
	wantIn(t, stderr, "2 memories stored, 1 were already stored")
	stdout, _ := w.line(exitPassed, lines, "memory observe --namespace n --file - --json")
	wantIn(t, stdout, `"observed": 0`, `"repeated": 3`)
	_, stderr = w.line(exitFailure, lines+"\n{", "memory observe --namespace n --file -")
	wantIn(t, stderr, "nothing was stored: standard input: line 4: ")
}
