package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/core/store/pebble"
)

// seedMemory stores a memory, and lets it fail in so many turns of session s,
// without asking the gate. After the third the memory waits for the gate.
func seedMemory(t *testing.T, dataDir, id string, failures int64) {
	t.Helper()
	seedTurns(t, dataDir, id, "s", failures)
}

// seedTurns is seedMemory with another session.
func seedTurns(t *testing.T, dataDir, id, session string, failures int64) {
	t.Helper()
	seeding(t, dataDir, func(memories *memory.Memories) {
		if _, err := memories.Observe(t.Context(), &core.ObserveRequest{ID: id, Namespace: "team/a", Content: "how " + id + " is done"}); err != nil {
			t.Fatal(err)
		}
		for turn := range failures {
			recall := &core.RecallRequest{Session: session, Turn: turn + 1, Query: "how " + id + " is done", RecallFilter: core.RecallFilter{Namespace: "team/a"}}
			if _, err := memories.Recall(t.Context(), recall); err != nil {
				t.Fatal(err)
			}
			feedback := &core.FeedbackRequest{Session: session, Turn: turn + 1, Outcome: core.OutcomeFailure, Used: []string{id}}
			if _, err := memories.Feedback(t.Context(), feedback); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// failuresOf are three failed calls of a tool, in three turns.
func failuresOf(id string) (lines string) {
	for turn := range 3 {
		lines += fmt.Sprintf(`{"memory_id":%q,"session":"s","turn":%d,"tool":"deploy","ok":false,"ref":"log:%d"}`+"\n", id, turn+1, turn+1)
	}
	return lines
}

const pathOfOldSteps = `{"workflow":"deploy","entry":["build"],"exits":["ship"],"edges":[["build","ship"]],"memories":{"old-steps":["copy"]}}`

func TestTheGateDecidesOnRecordedEvidence(t *testing.T) {
	w := newPlainWorld(t)
	seedMemory(t, "data", "old-steps", 3)

	out, _ := w.line(exitPassed, failuresOf("old-steps"), "evidence tool --file -")
	wantIn(t, out, "recorded 3 outcomes, 0 already recorded")
	out, _ = w.line(exitPassed, failuresOf("old-steps"), "evidence tool --file - --json")
	wantIn(t, out, `"recorded": 0`, `"duplicates": 3`)
	out, warned := w.line(exitPassed, pathOfOldSteps, "evidence dag --file -")
	wantIn(t, out, "recorded: the graph of workflow deploy, with 3 nodes, 1 edge, 1 memory (sha256:")
	wantIn(t, warned, "warn: no entry leads to the nodes of old-steps")
	out, _ = w.line(exitPassed, pathOfOldSteps, "evidence dag --file -")
	wantIn(t, out, "unchanged: the graph of workflow deploy")
	out, _ = w.line(exitPassed, pathOfOldSteps, "evidence dag --file - --json")
	wantIn(t, out, `"workflow": "deploy"`, `"digest": "sha256:`, `"nodes": 3`, `"edges": 1`, `"memories": 1`, `"unreachable": [`, `"unchanged": true`)

	const factors = " --upstream-status 0 --codebase-verification 0 --runtime-utility-trend 0 --note outdated"
	out, _ = w.line(exitPassed, "", "gate run old-steps --dry-run --json"+factors)
	wantIn(t, out, `"decision_id": ""`, `"verdict": "obsolete"`, `"next_action": "purge"`, `"log:3"`, `"note=outdated"`, `"upstream_status_score=0"`)
	out, _ = w.line(exitPassed, "", "gate explain old-steps")
	wantIn(t, out, "not decided: this is what the gate would decide now", "what tools say (react): 0.2 = p ·", "tool_failures 3", "path_reachable false",
		"what the decision adds (omega): 0.4548", "rule: default/gate.yaml, rule gate", "condition failed_turns: 3 (at least 3): met", "aren't comparable")

	out, _ = w.line(exitPassed, "", "gate explain old-steps"+factors)
	wantIn(t, out, "not decided", "upstream_status_score 0,", "codebase_verification_score 0,", "runtime_utility_trend_score 0", "noted: outdated")

	out, _ = w.line(exitPassed, "", "gate run old-steps"+factors)
	wantIn(t, out, "old-steps: obsolete, confidence 1.000\nits uses failed")
	out, _ = w.line(exitPassed, "", "gate explain old-steps --json")
	var e struct {
		Decision verdict.GateAnswer `json:"decision"`
		Note     string             `json:"note"`
	}
	if err := json.Unmarshal([]byte(out), &e); err != nil || e.Decision.ID == "" || e.Decision.Verdict != policypoint.VerdictObsolete || e.Note == "" {
		t.Errorf("error %v: %s", err, out)
	}
	for _, line := range []string{"gate run old-steps", "gate explain old-steps --now"} {
		_, stderr := w.line(exitFailure, "", line)
		wantIn(t, stderr, "purged")
	}
}

// TestAnOperatorsPoliciesDecideWithinTheEngine changes both formulas without a
// build. The other conditions of a purge or promotion still hold.
func TestAnOperatorsPoliciesDecideWithinTheEngine(t *testing.T) {
	w := newPlainWorld(t)
	seedMemory(t, "data", "m", 3)
	seedMemory(t, "data", "spare", 0)
	w.policy("retention/a.yaml", `rule: {match: [{output: '{"ttl_score": 0.75, "state": "active"}'}]}`)
	w.line(exitPassed, "", "memory recall --namespace team/a --session t --turn 1 spare")
	out, _ := w.line(exitPassed, "", "memory feedback --session t --turn 1 --outcome failure --used spare --json")
	wantIn(t, out, `"ttl_score": 0.75`, `"state_before": "open"`, `"state_after": "active"`)

	for verdict, lacks := range map[string]string{
		"promote":  "react_evidence_refs is 0 (at least 1) and graph_evidence_refs is 0 (at least 1) and named_uses is 3 (at least 8) and sessions is 1 (at least 2)",
		"obsolete": "react_evidence_refs is 0 (at least 1) and graph_evidence_refs is 0 (at least 1)",
	} {
		w.policy("gate/a.yaml", `rule: {id: mine, match: [{output: '{"verdict": "`+verdict+`", "confidence": 1.0}'}]}`)
		out, _ = w.line(exitPassed, "", "gate run m --dry-run --json")
		wantIn(t, out, `"verdict": "retain"`, `"intended": "`+verdict+`"`, verdict+" needs more: "+lacks+`"`, `"rule": "mine"`)
	}
	w.policy("gate/a.yaml", `rule: {match: [{output: '{"verdict": "delete", "confidence": 1.0}'}]}`)
	_, stderr := w.line(exitFailure, "", "gate run m")
	wantIn(t, stderr, `gate/a.yaml:1:`, `verdict can't be "delete" (it is one of retain, obsolete, promote)`)
}

func TestARetainIsExplainedUntilNowIsAskedFor(t *testing.T) {
	w := newPlainWorld(t)
	seedMemory(t, "data", "m", 3)
	out, _ := w.line(exitPassed, "", "gate run m --dry-run")
	wantIn(t, out, "m: retain, confidence 0.", " (nothing was written)\nneither proven nor obsolete")
	w.line(exitPassed, "", "gate run m --note seen")
	w.line(exitPassed, failuresOf("m"), "evidence tool --file -")
	out, _ = w.line(exitPassed, "", "gate explain m")
	wantIn(t, out, "verdict: retain", "tool_failures 0", "noted: seen", "rule: default/gate.yaml, rule gate at match[4]: always", "aren't comparable")
	out, _ = w.line(exitPassed, "", "gate explain m --now")
	wantIn(t, out, "not decided: this is what the gate would decide now", "tool_failures 3")
	if strings.Contains(out, "seen") {
		t.Errorf("what would be decided has the last decision's note:\n%s", out)
	}
}

// TestARestoreMakesActive archives a memory as a dream step does, but directly in the
// store.
func TestARestoreMakesActive(t *testing.T) {
	w := newPlainWorld(t)
	seedMemory(t, "data", "m", 0)
	archive := func(from string) {
		db, err := pebble.Open(t.Context(), pebble.Options{Dir: filepath.Join("data", "store")})
		if err != nil {
			t.Fatal(err)
		}
		err = db.Update(t.Context(), func(tx core.Tx) error {
			record, _, err := tx.Get([]byte("memory/m"))
			if err != nil {
				return err
			}
			return tx.Put([]byte("memory/m"), bytes.Replace(record, []byte(`"state":"`+from), []byte(`"state":"archived`), 1))
		})
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
	}
	_, stderr := w.line(exitFailure, "", "memory restore m")
	wantIn(t, stderr, "a memory that is open can't become active by restore", "hint: from open it can become active by retention, cooling by retention")
	archive("open")
	out, _ := w.line(exitPassed, "", "memory restore m --agent ada")
	wantIn(t, out, "m is active")
	archive("active")
	out, _ = w.line(exitPassed, "", "memory restore m --json")
	wantIn(t, out, `"id": "m"`, `"state": "active"`)
	out, _ = w.line(exitPassed, "", "audit show namespace/team/a")
	wantIn(t, out, "agent.memory.lifecycle.transition", "archived", "restore", "ada")
	out, _ = w.line(exitFailure, "", "memory restore nothing-there --json")
	wantIn(t, out, `"code": "memory_not_found"`)
}

func TestTheGateDecidesOnlyOnWhatWaitsForIt(t *testing.T) {
	w := newPlainWorld(t)
	seedMemory(t, "data", "new-steps", 0)
	out, _ := w.line(exitFailure, "", "gate run new-steps --json")
	wantIn(t, out, `"code": "state_conflict"`, `"state": "open"`)
	w.line(exitFailure, "", "gate run new-steps --dry-run")
	out, _ = w.line(exitPassed, "", "gate explain new-steps")
	wantIn(t, out, "verdict: retain", "where it is needed (graph): 0.5 = 0.5 without a graph")
	out, _ = w.line(exitFailure, "", "gate explain nothing-there --json")
	wantIn(t, out, `"code": "memory_not_found"`)
}

func TestBadEvidenceIsRefused(t *testing.T) {
	w := newPlainWorld(t)
	out, _ := w.line(exitFailure, `{"workflow":"w","entry":["a"],"exits":["b"],"edges":[["a","b"],["b","a"]]}`, "evidence dag --file - --json")
	wantIn(t, out, `"code": "dag_cyclic"`, `a → b → a`, `"hint"`)
	out, _ = w.line(exitFailure, `{"memory_id":"gone","session":"s","turn":1,"tool":"t","ok":true}`, "evidence tool --file - --json")
	wantIn(t, out, `"code": "memory_not_found"`)
	_, stderr := w.line(exitFailure, `{"memory":"m"}`, "evidence tool --file -")
	wantIn(t, stderr, `unknown field "memory"`, "hint: its keys are memory_id, session")
	_, stderr = w.line(exitFailure, "", "evidence dag --file missing.json")
	wantIn(t, stderr, "there is no file missing.json")
	for _, line := range []string{"evidence tool", "evidence dag", "gate run", "gate explain", "gate run m --upstream-status high"} {
		w.line(exitUsage, "", line)
	}
	seedMemory(t, "data", "m", 3)
	for _, verb := range []string{"run", "explain"} {
		_, stderr = w.line(exitUsage, "", "gate "+verb+" m --upstream-status 2 --codebase-verification NaN")
		wantIn(t, stderr, "--upstream-status is 2, not a number from 0 to 1", "--codebase-verification is NaN")
	}
}
