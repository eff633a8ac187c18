package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/store/pebble"
	"github.com/reflectory/reflectory/policy"
)

// seedLife stores a memory, and lets it live through turns without asking the
// gate, like a server that leaves the gate to a job. A turn is a session, a number
// and how it went: S, P and F are uses with success, success in part and failure, and
// - is no use.
func seedLife(t *testing.T, dataDir, id, turns string) {
	t.Helper()
	seeding(t, dataDir, func(memories *memory.Memories) {
		if _, err := memories.Observe(t.Context(), &core.ObserveRequest{ID: id, Namespace: "team/a", Content: "how " + id + " is done"}); err != nil {
			t.Fatal(err)
		}
		liveThrough(t, memories, id, turns)
	})
}

// seeding opens the memories of a data folder, without a gate.
func seeding(t *testing.T, dataDir string, fn func(*memory.Memories)) {
	t.Helper()
	db, err := pebble.Open(t.Context(), pebble.Options{Dir: filepath.Join(dataDir, "store")})
	if err != nil {
		t.Fatal(err)
	}
	policies := policy.New(policy.AllPoints(), policy.Options{})
	memories, err := memory.New(memory.Options{Store: db, Retention: policies, Gate: gate.New(policies), DeferGate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		memories.Close()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	fn(memories)
}

// liveThrough recalls a memory by its own text in each turn, and says how it went.
func liveThrough(t *testing.T, memories *memory.Memories, id, turns string) {
	t.Helper()
	outcomes := map[byte]core.Outcome{'S': core.OutcomeSuccess, 'P': core.OutcomePartial, 'F': core.OutcomeFailure}
	for _, word := range strings.Fields(turns) {
		session, how := word[:1], word[len(word)-1]
		turn, err := strconv.ParseInt(word[1:len(word)-1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		recall := &core.RecallRequest{Session: session, Turn: turn, Query: "how " + id + " is done", RecallFilter: core.RecallFilter{Namespace: "team/a"}}
		if _, err := memories.Recall(t.Context(), recall); err != nil {
			t.Fatal(err)
		}
		feedback := &core.FeedbackRequest{Session: session, Turn: turn, Outcome: core.OutcomeSuccess}
		if how != '-' {
			feedback.Outcome, feedback.Used = outcomes[how], []string{id}
		}
		if _, err := memories.Feedback(t.Context(), feedback); err != nil {
			t.Fatal(err)
		}
	}
}

// closely compares numbers of ten digits.
var closely = cmpopts.EquateApprox(0, 1e-9)

// decided decodes a decision and compares it with the calculated one.
func (c *worked) decided(t *testing.T, text string) (d verdict.GateAnswer) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	next := map[string]string{"obsolete": "purge", "retain": "retain", "promote": "promote"}[c.verdict]
	if d.Verdict != c.verdict || d.NextAction != next || d.Reason != c.reason || !cmp.Equal(d.Confidence, c.confidence, closely) || !slices.Equal(d.Unmet, c.unmet) {
		t.Errorf("%s, confidence %.10f, unmet %v: %s", d.Verdict, d.Confidence, d.Unmet, d.Reason)
	}
	var shape struct {
		All map[string]any
	}
	if err := errors.Join(json.Unmarshal([]byte(text), &shape), json.Unmarshal([]byte(text), &shape.All)); err != nil {
		t.Fatal(err)
	}
	for _, optional := range []string{"conditions", "given_to", "intended", "intended_confidence", "unmet"} {
		delete(shape.All, optional)
	}
	wantKeys(t, "the decision", shape.All, "confidence decision_id evidence graph_evidence_refs memory_id namespace next_action numbers omega_factors policy react_evidence_refs reason verdict workings")
	if diff := cmp.Diff(c.numbers, d.Numbers, closely); diff != "" {
		t.Errorf("numbers (-worked out +decided):\n%s", diff)
	}
	return d
}

// record records the evidence.
func (c *worked) record(w *world, id string) {
	w.t.Helper()
	if c.settings != "" {
		w.line(exitPassed, "", "governance set team/a "+c.settings)
	}
	var lines []string
	for _, outcomes := range strings.Fields(c.tools) {
		turn := strings.TrimRight(outcomes, "SFR")
		for i, how := range outcomes[len(turn):] {
			lines = append(lines, fmt.Sprintf(`{"memory_id":%q,"session":%q,"turn":%s,"tool":"make","ok":%v,"recovered":%v,"ref":"%s-%d"}`,
				id, turn[:1], turn[1:], how == 'S', how == 'R', turn, i))
		}
	}
	if len(lines) > 0 {
		w.line(exitPassed, strings.Join(lines, "\n"), "evidence tool --file -")
	}
	if c.dag != "" {
		w.line(exitPassed, fmt.Sprintf(`{"workflow":"w",%s,"memories":{%q:[%q]}}`, c.dag, id, c.node), "evidence dag --file -")
	}
}

// memoryNow is a memory as the program shows it.
func (w *world) memoryNow(id string) (m core.Memory) {
	w.t.Helper()
	out, _ := w.line(exitPassed, "", "memory get "+id+" --json")
	if err := json.Unmarshal([]byte(out), &m); err != nil {
		w.t.Fatal(err)
	}
	return m
}

func TestDecisionsAreAsWorkedOutByHand(t *testing.T) {
	coretest.Long(t)
	for _, c := range workedOut() {
		t.Run(c.name, func(t *testing.T) {
			w := newPlainWorld(t)
			seedLife(t, "data", "m", c.turns)
			c.record(w, "m")
			dry, _ := w.line(exitPassed, "", "gate run m --dry-run --json"+c.factors)
			if d := c.decided(t, dry); d.ID != "" || w.memoryNow("m").State != core.StateRevalidatePending {
				t.Errorf("a dry run made decision %q", d.ID)
			}
			out, _ := w.line(exitPassed, "", "gate run m --json"+c.factors)
			d := c.decided(t, out)
			var e struct{ Decision json.RawMessage }
			out, _ = w.line(exitPassed, "", "gate explain m --json")
			if err := json.Unmarshal([]byte(out), &e); err != nil || c.decided(t, string(e.Decision)).ID != d.ID {
				t.Errorf("explained, %v: %s", err, out)
			}
			if c.state == "" {
				_, stderr := w.line(exitFailure, "", "memory get m")
				wantIn(t, stderr, "was purged")
				return
			}
			m := w.memoryNow("m")
			if m.State != c.state || !m.Signals.Gated {
				t.Errorf("it is %s: %+v", m.State, m.Signals)
			}
			if s := m.Signals; d.NextAction == verdict.NextRetain && (s.MissStreak != 0 || s.LastHitTurn != s.RelevantTurns || *s.Revalidation != d.Numbers.Utility) {
				t.Errorf("the retain left %+v", s)
			}
		})
	}
}

// TestWhatWasRetainedWithDoubtIsntPromoted lets a memory prove itself after a retain with
// little confidence, which counts as its revalidation score.
func TestWhatWasRetainedWithDoubtIsntPromoted(t *testing.T) {
	w := newPlainWorld(t)
	doubtful, sure := halfProven(), worked{dag: lineDAG, node: "a"}
	seedLife(t, "data", "m", doubtful.turns)
	doubtful.record(w, "m")
	out, _ := w.line(exitPassed, "", "gate run m --json")
	doubtful.decided(t, out)
	more := func(turns string) {
		seeding(t, "data", func(memories *memory.Memories) { liveThrough(t, memories, "m", turns) })
	}
	more("a4S b5S a6S b7S a8S b9S a10S b11S a12S")
	_, stderr := w.line(exitFailure, "", "gate run m")
	wantIn(t, stderr, "memory m is active", "revalidate_pending", "hint: ")
	more("b13S")
	for turn := 4; turn <= 13; turn++ {
		sure.tools += fmt.Sprintf(" %c%dRRRR", "ba"[(turn+1)%2], turn)
	}
	sure.record(w, "m")
	out, _ = w.line(exitPassed, "", "gate run m"+allFactors("1", "1", "1"))
	wantIn(t, out, "m: retain, confidence 0.", "promote needs more: revalidation_score is 0.559128868 (at least 0.6)")
}

// TestFeedbackBringsTheDecision uses only commands: the gate decides right after the last
// feedback.
func TestFeedbackBringsTheDecision(t *testing.T) {
	for _, c := range []worked{workedOut()[0], halfProven()} {
		w := newPlainWorld(t)
		w.line(exitPassed, "", "memory observe --namespace team/a --id m --content how-m-is-done")
		c.record(w, "m")
		var result struct{ Revalidate []string }
		for _, turn := range strings.Fields(c.turns) {
			how := map[string]string{"S": "success", "F": "failure"}[turn[2:]]
			named := " --session " + turn[:1] + " --turn " + turn[1:2]
			w.line(exitPassed, "", "memory recall --namespace team/a how-m-is-done"+named)
			out, _ := w.line(exitPassed, "", "memory feedback --json --used m --outcome "+how+named)
			if err := json.Unmarshal([]byte(out), &result); err != nil || (len(result.Revalidate) > 0) != strings.HasSuffix(c.turns, turn) {
				t.Fatalf("%s, %v: %s", turn, err, out)
			}
		}
		var e struct{ Decision json.RawMessage }
		out, _ := w.line(exitPassed, "", "gate explain m --json")
		if err := json.Unmarshal([]byte(out), &e); err != nil {
			t.Fatal(err)
		}
		c.decided(t, string(e.Decision))
	}
}

// TestWhoAsksTheGateIsRecorded also checks that a dry run leaves no event.
func TestWhoAsksTheGateIsRecorded(t *testing.T) {
	w := newPlainWorld(t)
	seedMemory(t, "data", "m", 3)
	w.line(exitPassed, "", "gate run m --agent ada --dry-run")
	out, _ := w.line(exitPassed, "", "audit show namespace/team/a --json")
	if strings.Contains(out, "agent.memory.revalidate") {
		t.Errorf("a dry run left events:\n%s", out)
	}
	w.line(exitPassed, "", "gate run m --agent ada")
	out, _ = w.line(exitPassed, "", "audit show namespace/team/a")
	for line := range strings.Lines(out) {
		if strings.Contains(line, "revalidate.started") {
			wantIn(t, line, "ada")
			return
		}
	}
	t.Errorf("no event:\n%s", out)
}

func TestASweepTellsWhatCameOfIt(t *testing.T) {
	w := newPlainWorld(t)
	seedMemory(t, "data", "m", 3)
	seeding(t, "data", func(memories *memory.Memories) {
		if _, err := memories.Observe(t.Context(), &core.ObserveRequest{ID: "idle", Namespace: "team/a", Content: "another"}); err != nil {
			t.Fatal(err)
		}
	})
	_, stderr := w.line(exitPassed, "", "memory sweep team/a")
	wantIn(t, stderr, "1 memory evaluated, 1 changed, at turn 3", "gate: retain of 1")
	out, _ := w.line(exitPassed, "", "memory sweep team/a --json")
	wantIn(t, out, `"namespace": "team/a"`, `"turn": 3`, `"evaluated": 2`, `"changed": 0`, `"transitions": {}`, `"gated": {}`)
	_, stderr = w.line(exitFailure, "", "memory sweep team//a")
	wantIn(t, stderr, `namespace "team//a"`)
	w.line(exitUsage, "", "memory sweep")
}
