package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/decisions"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/policypoint"
)

// openHost opens the host of a world. It is closed with the test, if not before.
func (w *world) openHost() *host.Host {
	w.t.Helper()
	a := &App{Stdout: w.t.Output(), Stderr: w.t.Output(), Getenv: func(k string) string { return w.env[k] }}
	if err := a.load(); err != nil {
		w.t.Fatal(err)
	}
	h, err := a.openHost(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := h.Close(); err != nil {
			w.t.Error(err)
		}
	})
	return h
}

// governed opens the host of a world, with its store. It is closed by end, or else with
// the test.
func (w *world) governed() (l *host.Policies, db core.Store, end func()) {
	w.t.Helper()
	h := w.openHost()
	if err := h.Ready(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	return h.Policies, h.Store, func() {
		if err := h.Close(); err != nil {
			w.t.Error(err)
		}
	}
}

// denying is an admission policy that refuses all, with a code of its own.
func denying(code string) string {
	return "rule: {match: [{output: '{\"allow\": false, \"code\": \"" + code + "\"}'}]}"
}

// told counts the entries of the policies' stream by type, and lists the first
// places of refusals.
func told(t *testing.T, db core.Store) (types map[string]int, places []string) {
	t.Helper()
	types = map[string]int{}
	err := db.View(t.Context(), func(r core.Reader) error {
		if _, err := (&journal.Audit{}).Verify(t.Context(), r); err != nil {
			return err
		}
		return journal.Read(r, journal.PolicyStream, func(e journal.Entry) error {
			types[e.Type]++
			if e.Type == "agent.policy.reload_refused" {
				var refused journal.PolicyReloadRefused
				if err := json.Unmarshal(e.Data, &refused); err != nil {
					return err
				}
				places = append(places, refused.First)
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return types, places
}

// patience ends a test that waits for what never comes. It measures nothing: even on a busy
// machine, what is expected comes sooner.
const patience = 5 * time.Minute

// until waits for what another goroutine or process brings about.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("in vain: " + what)
		}
	}
}

// A folder is edited 100 times, or 200 in make stress, while decisions are made (1,000 are package policy's),
// in bursts, each of which ends with policies that can be used or with some that can't. Every decision is
// made by a policy, the usable policies at the end of a burst are in force, and each refusal is an event.
func TestAFolderEditedUnderLoadTellsEachRefusal(t *testing.T) {
	coretest.Long(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	w := newWorld(t)
	w.policy("admission/a.yaml", denying("v0"))
	l, db, end := w.governed()
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for !stop.Load() {
				if got := l.Admission(t.Context(), &policypoint.AdmissionInput{Namespace: "a"}); got.Allow || got.Decision.Failure != nil || got.Code[0] != 'v' {
					t.Errorf("undecided: %+v", got)
					return
				}
			}
		})
	}
	wants := map[string]bool{}
	for burst := range coretest.Heavy(2, 4) {
		for edit := range 49 {
			w.policy("admission/a.yaml", denying(fmt.Sprintf("v%d_%d", burst, edit)))
		}
		if burst%2 == 0 {
			code := fmt.Sprintf("v%d_end", burst)
			w.policy("admission/a.yaml", denying(code))
			until(t, code, func() bool { return l.Admission(t.Context(), &policypoint.AdmissionInput{Namespace: "a"}).Code == code })
			continue
		}
		w.policy("admission/a.yaml", strings.Repeat("\n", burst)+"rool: {}") // its line says which it is
		place := fmt.Sprintf("admission/a.yaml:%d:1", burst+1)
		wants[place] = true
		until(t, place, func() bool { _, places := told(t, db); return len(places) >= len(wants) })
	}
	stop.Store(true)
	wg.Wait()
	_, places := told(t, db)
	for _, place := range places {
		delete(wants, place)
	}
	if len(wants) > 0 {
		t.Errorf("no event of the refusals at %v, but of %v", wants, places)
	}
	end()
}

// A purge has nothing to look for in decisions of the reflect policy: what a policy
// makes of a title isn't kept, though the caller gets it.
func TestNoDecisionKeepsWhatAPolicySaysOfATitle(t *testing.T) {
	w := newWorld(t)
	w.policy("reflect/a.yaml", `rule: {match: [{output: '{"allow": depth < 2, "code": title, "reason": "it is about " + title}', explanation: title}]}`)
	w.ok("memory", "observe", "--id", "fact-one", "--content", "A fact.")
	first, _ := w.ok("memory", "reflect", "--source", "fact-one", "--title", "plans", "--content", "x")
	code, out, _ := w.run(t.Context(), "memory", "reflect", "--source", strings.TrimSpace(first), "--title", "Secret plans", "--content", "x", "--json")
	if code != exitDenied || !strings.Contains(out, `"reason": "it is about Secret plans"`) {
		t.Fatalf("exit %d: %s", code, out)
	}
	w.ok("store", "export", filepath.Join(w.dir, "export.jsonl"))
	export, err := os.ReadFile(filepath.Join(w.dir, "export.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if kept := bytes.Count(export, []byte(`"hidden":["code","reason","explanation"]`)); kept != 2 {
		t.Errorf("%d records say what they leave out: %s", kept, export)
	}
	if bytes.Contains(bytes.ToLower(export), []byte("secret plans")) {
		t.Errorf("the title is kept: %s", export)
	}
}

// What a policy decided on is content, and stays out of the journal.
func TestTheJournalHoldsNoContentOfDecisions(t *testing.T) {
	w := newWorld(t)
	w.policy("loop/a.yaml", `
mask: [output.card]
rule: {match: [{output: '{"accept": !valid, "stop": false}', explanation: '"because of " + output.name'}]}`)
	l, db, _ := w.governed()
	l.Loop(t.Context(), &policypoint.LoopInput{Namespace: "a", Output: json.RawMessage(`{"name": "Ada", "card": "4111"}`)})
	until(t, "a record", func() bool { return len(kept(t, db)) == 1 })
	record := kept(t, db)[0]
	if !strings.Contains(record, `"because of Ada"`) || strings.Contains(record, "4111") || !strings.Contains(record, `"masked":["output.card"]`) {
		t.Errorf("the record: %s", record)
	}
	err := db.View(t.Context(), func(r core.Reader) error {
		return journal.Read(r, journal.DecisionStream("loop"), func(e journal.Entry) error {
			var event journal.PolicyDecided
			if err := json.Unmarshal(e.Data, &event); err != nil {
				return err
			}
			if strings.Contains(string(e.Data), "Ada") || event.Record != core.Digest([]byte(record)) || event.Outcome["accept"] != true {
				t.Errorf("the event: %s", e.Data)
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// kept are the records of decisions.
func kept(t *testing.T, db core.Store) []string {
	t.Helper()
	var list []string
	for stored, err := range decisions.List(t.Context(), db, "", time.Time{}) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(stored.Value))
	}
	return list
}

// How long the replay of a large journal takes is a figure of package policy.
func TestReplayDecidesTheRecordedDecisionsAgain(t *testing.T) {
	const n = 2000
	w := newWorld(t)
	l, _, end := w.governed()
	for i := range n {
		l.Gate(context.Background(), nil, &policypoint.GateInput{
			Namespace: "team/a", Successes: int64(i % 7), RelevantTurns: 9, Sessions: 2, Q: 0.5, Named: 8, NamedSessions: 2,
			React: policypoint.ReactEvidence{Refs: 1}, Graph: policypoint.GraphEvidence{Refs: 1},
		})
	}
	end()
	candidate := filepath.Join(w.dir, "candidate", "gate")
	if err := os.MkdirAll(candidate, 0o700); err != nil {
		t.Fatal(err)
	}
	w.file("candidate/gate/a.yaml", `rule: {match: [{condition: success_count == 3, output: '{"verdict": "promote", "confidence": 1.0}'}]}`)
	code, out, errs := w.run(t.Context(), "policy", "replay", filepath.Dir(candidate), "--since", "24h", "--json")
	var r struct{ Decided, Changed, Skipped int }
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != exitNotValid {
		t.Fatalf("exit %d: %v\n%s", code, err, errs)
	}
	if r.Decided != n || r.Changed != (n+3)/7 || r.Skipped != 0 {
		t.Errorf("decided %d, changed %d, skipped %d", r.Decided, r.Changed, r.Skipped)
	}
}

// Decisions outside a run are recorded if they matter, and where they can't be that is
// said.
func TestARefusalOutsideARunIsRecorded(t *testing.T) {
	coretest.Long(t)
	w := newWorld(t)
	evaluator, output := w.file("evaluator.yaml", "{plugin: test/tally}"), w.file("output.json", "1")
	if code, _, errs := w.run(t.Context(), "evaluate", "--evaluator", evaluator, output); code == exitDenied || strings.Contains(errs, "warn:") {
		t.Fatalf("exit %d: %s", code, errs)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "data", "store")); err == nil {
		t.Fatal("a store was made for what the defaults decided")
	}
	w.policy("admission/a.yaml", denying("no"))
	if code, _, errs := w.run(t.Context(), "evaluate", "--evaluator", evaluator, output); code != exitDenied || strings.Contains(errs, "warn:") {
		t.Fatalf("exit %d: %s", code, errs)
	}
	_, db, end := w.governed()
	if n := len(kept(t, db)); n != 1 {
		t.Errorf("%d records", n)
	}
	code, _, errs := w.run(t.Context(), "evaluate", "--evaluator", evaluator, output) // the store is open here
	if code != exitDenied || !strings.Contains(errs, "1 policy decisions weren't recorded") {
		t.Errorf("exit %d: %s", code, errs)
	}
	end()
}

// A replay is after the host's own conditions: what a candidate wants and the gate refuses
// is no change, and is reported with the memory's id and the conditions.
func TestPolicyReplay_IsAfterTheEnginesConditions(t *testing.T) {
	at := "2026-11-02T08:00:00Z"
	gate := `{"at":"` + at + `","point":"gate","namespace":"ns","file":"default/gate.yaml","digest":"d","path":"match[2]",` +
		`"inputs":{"memory_id":"%s","named_uses":%d,"named_sessions":2,"minimum_confidence":0.7,"react_refs":1,"graph_refs":1,"gated":false,"uses":9,"success_count":9},` +
		`"output":{"verdict":"retain","confidence":0.5,"reason":"r"}}` + "\n"
	retention := `{"at":"` + at + `","point":"retention","namespace":"ns","file":"default/retention.yaml","digest":"d","path":"match[0]",` +
		`"inputs":{"memory_id":"resting-1","state":"active","gated":true,"since_gate":3,"gate_rest":10,"ttl_score":0.5},"output":{"ttl_score":0.5,"state":"active"}}` + "\n"
	w := newPlainWorld(t)
	w.file("log.jsonl", fmt.Sprintf(gate, "proven-1", 8)+fmt.Sprintf(gate, "hearsay-1", 2)+retention)
	for name, text := range map[string]string{
		"gate/all.yaml":      `rule: {match: [{output: '{"verdict": "promote", "confidence": 1.0, "reason": "all of them"}'}]}`,
		"retention/all.yaml": `rule: {match: [{output: '{"ttl_score": 0.5, "state": "revalidate_pending"}'}]}`,
	} {
		path := filepath.Join(w.dir, "candidate", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stdout, _ := w.line(exitNotValid, "", "policy replay candidate --log log.jsonl")
	wantIn(t, stdout,
		"gate ns proven-1\n", "gate ns hearsay-1\n", "retention ns resting-1\n",
		"which the engine refuses: named_uses\n", "which the engine refuses: gate_rest\n",
		"1 of 3 decisions would change; 2 more would want something else, which the engine refuses")
}
