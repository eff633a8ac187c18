package memory_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/policypoint"
	corerun "github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// rich is the script, and what it doesn't leave behind: a link with metadata between
// memories that are there, a reflection that waits, settings below others, a turn
// that nothing was recalled in, and knowledge that was superseded by an entry that was
// erased.
func rich(t *testing.T) *governed {
	t.Helper()
	ctx := t.Context()
	g := newGoverned(t, empty(t), nil)
	g.set(t, "a/b", "retention.w_hit=0.6", "locked=max_reflection_depth")
	g.script(t)
	occurred := g.clock.Now().Add(-time.Hour).Format(time.RFC3339)
	for _, kind := range []core.MemoryKind{core.KindSemantic, core.KindProcedural, core.KindNotification} {
		g.observe(t, core.ObserveRequest{
			ID: string(kind), Namespace: "c", Kind: kind, Content: "of kind " + string(kind), Attributes: core.Attributes{OccurredAt: occurred},
		})
	}
	_, err := g.Link(ctx, &memory.LinkRequest{From: "semantic", Relation: "supersedes", To: "procedural", Metadata: []byte(`{"why":"newer"}`)})
	must(t, err)
	g.set(t, "c", "require_approval_above_depth=0")
	g.reflect(t, core.ReflectRequest{SourceIDs: []string{"semantic"}, Title: "waits", Content: "for an approval", IdempotencyKey: "w"})
	g.recall(t, core.RecallRequest{Session: "idle", Turn: 300, Query: "nothing", RecallFilter: core.RecallFilter{Namespace: "empty"}})
	_, err = g.Feedback(ctx, &core.FeedbackRequest{Session: "idle", Turn: 300, Outcome: core.OutcomeFailure, Summary: "idle"})
	must(t, err)
	_, err = g.Sessions.SummarizeWindow(ctx, &memory.SummarizedWindow{Session: "idle", Window: 1, WindowSummary: memory.WindowSummary{
		Through: 300, Turns: memory.DigestOfTurns([]memory.TurnSummary{{Turn: 300, Text: "idle"}}), Text: "It was idle.",
	}})
	must(t, err)
	g.tidied(t)
	half := .5
	for range 2 {
		_, err = g.evidence.RecordOmega(ctx, &gate.OmegaEvidence{MemoryID: "semantic", Note: "seen", OmegaFactors: policypoint.OmegaFactors{UpstreamStatus: &half}})
		must(t, err)
	}
	p, err := g.Knowledge.Promotion(ctx, "useful")
	must(t, err)
	g.observeNamed(t, "erased")
	must(t, g.Knowledge.Supersede(ctx, p.KnowledgeID, g.promote(t, "erased").ID))
	_, err = g.Gate.Erase(ctx, "erased", memory.EraseRequest{Reason: "asked"})
	must(t, err)
	g.runs(t)
	g.sound(t)
	return g
}

// tidied has two passes of housekeeping, of which one was taken back, and a plan.
func (g *governed) tidied(t *testing.T) {
	t.Helper()
	pass := memory.DreamRequest{Namespace: "d", Mode: memory.Always}
	for _, content := range []string{"It was seen yesterday", "it was seen yesterday"} {
		g.observe(t, core.ObserveRequest{Namespace: "d", Content: content})
	}
	_, err := g.Dreams.Run(t.Context(), pass, nil)
	must(t, err)
	g.observe(t, core.ObserveRequest{Namespace: "d", Content: "It was lost yesterday"})
	r, err := g.Dreams.Run(t.Context(), pass, nil)
	must(t, err)
	_, err = g.Dreams.Undo(t.Context(), r.RunID, 0)
	must(t, err)
	_, err = g.Dreams.Plan(t.Context(), pass)
	must(t, err)
}

// runs records a run that was pruned, one that passed, whose recall was read by a loop of two attempts, one
// that failed within a visit, and one in the middle of a loop.
func (g *governed) runs(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	runs := corerun.NewRepository(g.store, g.clock)
	attempt := func(i int, judged bool) *core.Attempt {
		a := &core.Attempt{Iteration: i, Role: sdk.RoleGenerate, Output: []byte(`{"n":1}`), Raw: []byte(`"n"`), Usage: sdk.Usage{TokensIn: 3}, ActiveMillis: 5}
		if a.Judged = judged; judged {
			a.Score, a.Errors, a.Feedback, a.Valid, a.Accepted = .5, []sdk.Finding{{Message: "bad"}}, "better", i == 2, i == 2
		}
		return a
	}
	begun := func(id string) (*core.Run, core.RunRecorder) {
		run := &core.Run{
			ID: id, Workflow: "w", Namespace: "a/b", Session: "of-" + id, State: []byte(`{"input":{"n":1}}`),
			Source: core.Source{File: "w.yaml", Text: "nodes: []", Files: map[string]string{"a.json": "{}"}},
		}
		must(t, runs.Create(ctx, run))
		return run, runs.Recorder(run)
	}
	run, pruned := begun("pruned")
	run.Status = core.StatusPassed
	must(t, pruned.RecordEnd(ctx, run, nil))
	_, err := store.Prune(ctx, &journal.Writer{Store: g.store, Clock: g.clock}, store.PruneOptions{
		Parts: []store.PrunePart{{Name: "runs", Pruner: &corerun.Pruner{Before: g.clock.Now().Add(time.Hour)}}}, Dir: t.TempDir(),
	})
	must(t, err)
	run, passed := begun("passed")
	must(t, passed.RecordVisit(ctx, &core.Visit{Number: 1, Node: "recall", Result: []byte(`{"memories":[{"id":"plain","namespace":"a/b","kind":"observation","state":"open","title":"title of plain","content":"content of plain"}]}`), Next: "loop"}))
	for i := 1; i <= 2; i++ {
		must(t, passed.Attempts(2, "loop").RecordOutput(ctx, attempt(i, false)))
		must(t, passed.Attempts(2, "loop").RecordVerdict(ctx, attempt(i, true)))
	}
	must(t, passed.RecordVisit(ctx, &core.Visit{Number: 2, Node: "loop", Result: []byte(`{"score":0.5}`), Next: "last", Refers: []string{"recall"}, Used: []string{"plain"}}))
	must(t, passed.RecordVisit(ctx, &core.Visit{Number: 3, Node: "last", Skipped: true}))
	run.Status, run.Score, run.Iterations, run.Usage.TokensIn = core.StatusPassed, .5, 2, 6
	must(t, passed.RecordEnd(ctx, run, nil))
	run, failed := begun("failed")
	run.Status, run.StopReason, run.Error = core.StatusError, core.StopReason("error"), &core.ErrorInfo{Code: "x", Message: "m"}
	must(t, failed.RecordEnd(ctx, run, &core.Visit{Number: 1, Node: "loop", Result: []byte(`{"n":1}`)}))
	_, open := begun("open")
	must(t, open.Attempts(1, "loop").RecordOutput(ctx, attempt(1, false)))
	must(t, open.Attempts(1, "loop").RecordVerdict(ctx, attempt(1, true)))
	must(t, open.Attempts(1, "loop").RecordOutput(ctx, attempt(2, false)))
}

// unheld are the fields that FORMAT.md says a check can't verify, by the prefix of the
// key; none for a whole value.
func unheld(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile("../store/FORMAT.md")
	must(t, err)
	_, table, _ := strings.Cut(string(page), "\n| what | why |\n")
	list := map[string][]string{}
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		what, _, _ := strings.Cut(strings.TrimPrefix(line, "|"), "|")
		words := strings.Split(what, "`") // each second one is code
		if len(words) < 3 {
			continue
		}
		prefix := words[1]
		list[prefix] = []string{}
		for i := 3; i < len(words); i += 2 {
			list[prefix] = append(list[prefix], words[i])
		}
	}
	if len(list) != 16 || len(list["visit/"]) != 4 {
		t.Fatalf("FORMAT.md's table of what a check can't hold: %v", list)
	}
	return list
}

// isUnheld reports whether the table has a change of a record: of a field, or of one
// within it.
func isUnheld(list map[string][]string, whole map[string]string, key, what string) bool {
	prefix, _, _ := strings.Cut(key, "/")
	fields, listed := list[prefix+"/"]
	switch {
	case !listed:
		return false
	case prefix == "event-new":
		return isOldMark(whole, key, what)
	case what == "dropped":
		return false // a record that is missing always shows
	case len(fields) == 0:
		return true
	}
	if prefix == "attempt" {
		what = strings.TrimPrefix(what, ".attempt")
	}
	return slices.ContainsFunc(fields, func(field string) bool {
		rest, in := strings.CutPrefix(what, "."+field)
		return in && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// forgeries are values that differ from a JSON value in one leaf each, by the path of
// that leaf, or that have a member more.
func forgeries(value []byte) map[string]string {
	list := map[string]string{}
	var root any
	dec := json.NewDecoder(bytes.NewReader(value))
	dec.UseNumber()
	if err := dec.Decode(&root); err != nil {
		list["the value"] = string(value) + "x"
		return list
	}
	var visit func(path string, at any, set func(any))
	visit = func(path string, at any, set func(any)) {
		forge := func(v any) {
			set(v)
			list[path] = string(jsontext.MustEncode(root))
			set(at)
		}
		switch at := at.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(at)) {
				visit(path+"."+key, at[key], func(v any) { at[key] = v })
			}
			at["unknown"] = "x"
			list[path+".unknown"] = string(jsontext.MustEncode(root))
			delete(at, "unknown")
		case []any:
			for i := range at {
				visit(fmt.Sprintf("%s[%d]", path, i), at[i], func(v any) { at[i] = v })
			}
		case string:
			forge(at + "x")
		case json.Number:
			forge(json.Number("9" + strings.TrimPrefix(at.String(), "-")))
		case bool:
			forge(!at)
		case nil:
			forge("x")
		}
	}
	visit("", root, func(v any) { root = v })
	return list
}

// errFound ends a check at its first problem.
var errFound = errors.New("found")

// finds reports whether a check of all parts finds a problem.
func (g *governed) finds(t *testing.T) bool {
	t.Helper()
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	_, err := store.Check(ctx, g.store, g.parts(), func(core.Problem) { stop(errFound) })
	if err != nil && !errors.Is(context.Cause(ctx), errFound) {
		t.Fatal(err)
	}
	return context.Cause(ctx) != nil
}

// TestEveryForgeryShows changes each leaf of each value that an export has, adds a
// member to each object, and drops each line in turn: every tenth of these of one record
// of each kind, or all of all with REFLECTORY_STRESS=1. All of it is found, except what
// FORMAT.md lists.
func TestEveryForgeryShows(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	g := rich(t)
	derived, list := store.Derived(g.parts()), unheld(t)
	whole, all := dump(t, g.store), coretest.Stress()
	tried, looked := 0, map[string]int{}
	try := func(key, what string, done func(tx core.Tx) error) {
		if tried++; !all && tried%coretest.Cases(40, 10) != 0 {
			return
		}
		change(t, g.store, done)
		if !g.finds(t) && !isUnheld(list, whole, key, what) {
			t.Errorf("%q %s: nothing is found", key, what)
		}
		change(t, g.store, func(tx core.Tx) error { return tx.Put([]byte(key), []byte(whole[key])) })
	}
	for _, key := range slices.Sorted(maps.Keys(whole)) {
		if strings.HasPrefix(key, "meta/") || slices.ContainsFunc(derived, func(p string) bool { return strings.HasPrefix(key, p) }) {
			continue
		}
		if looked[kindOf(key, whole[key])]++; looked[kindOf(key, whole[key])] > 1 && !all {
			continue
		}
		try(key, "dropped", func(tx core.Tx) error { return tx.Delete([]byte(key)) })
		forged := forgeries([]byte(whole[key]))
		for _, path := range slices.Sorted(maps.Keys(forged)) {
			try(key, path, func(tx core.Tx) error { return tx.Put([]byte(key), []byte(forged[path])) })
		}
	}
	if g.finds(t) || tried < 500 {
		t.Errorf("after %d forgeries the store isn't what it was", tried)
	}
}

// TestAForgedFieldIsntImported exports what was forged, with an end that fits, and
// imports that: a record of each kind with a forged field, or without it, by turns; or all
// fields of each and its loss with REFLECTORY_STRESS=1.
func TestAForgedFieldIsntImported(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	g := rich(t)
	derived, list := store.Derived(g.parts()), unheld(t)
	whole := dump(t, g.store)
	looked, tried := map[string]bool{}, 0
	try := func(key, what string, done func(tx core.Tx) error) {
		if tried++; tried%coretest.Cases(8, 1) != 0 {
			return
		}
		change(t, g.store, done)
		if _, err := imported(t, g.export(t)); sdk.ReasonOf(err) != "import_refused" {
			t.Errorf("%q %s: %v", key, what, err)
		}
		change(t, g.store, func(tx core.Tx) error { return tx.Put([]byte(key), []byte(whole[key])) })
	}
	for _, key := range slices.Sorted(maps.Keys(whole)) {
		kind := kindOf(key, whole[key])
		if strings.HasPrefix(key, "meta/") || looked[kind] || slices.ContainsFunc(derived, func(p string) bool { return strings.HasPrefix(key, p) }) {
			continue
		}
		looked[kind] = true
		if loss := coretest.Stress() || len(looked)%2 == 0; loss && !isUnheld(list, whole, key, "dropped") {
			try(key, "dropped", func(tx core.Tx) error { return tx.Delete([]byte(key)) })
			if !coretest.Stress() {
				continue
			}
		}
		forged := forgeries([]byte(whole[key]))
		for _, path := range slices.Sorted(maps.Keys(forged)) {
			if isUnheld(list, whole, key, path) {
				continue
			}
			try(key, path, func(tx core.Tx) error { return tx.Put([]byte(key), []byte(forged[path])) })
			if !coretest.Stress() {
				break
			}
		}
	}
	if tried < 25 {
		t.Errorf("only %d exports were forged", tried)
	}
}

// TestALineTwiceIsntImported repeats a line of each kind in turn.
func TestALineTwiceIsntImported(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	lines := strings.SplitAfter(rich(t).export(t), "\n")
	seen := map[string]bool{} // the kinds
	tried := 0
	for _, line := range lines[1 : len(lines)-2] {
		kind, _, _ := strings.Cut(line, "/")
		if seen[kind] {
			continue
		}
		seen[kind] = true
		if tried++; tried%coretest.Cases(3, 1) != 0 {
			continue
		}
		text := forged(strings.Join(lines, ""), func(l string) string {
			if l == line {
				return line + line
			}
			return l
		})
		s := empty(t)
		if _, err := store.Import(t.Context(), s, strings.NewReader(text), nil, nil); sdk.ReasonOf(err) != "import_invalid" {
			t.Errorf("%.100s twice: %v", line, err)
		}
	}
}

// TestAForgedExportIsRefused forges one line of each kind in an export, and gives it
// the end that fits.
func TestAForgedExportIsRefused(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	g := rich(t)
	text := g.export(t)
	if _, err := imported(t, forged(text, func(line string) string { return line })); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct{ key, from, to string }{
		{"governance/*", `"max_reflection_depth":2`, `"max_reflection_depth":200`},
		{"governance/a/b", "", ""},
		{"evidence-dag/of-useful", "", ""},
		{"memory/plain", `"priority":5`, `"priority":99`},
		{"memory/plain", `"agent_id":"alice"`, `"agent_id":"mallory"`},
		{"memory/semantic", `"kind":"semantic"`, `"kind":"procedural"`},
		{"memory/plain", `"tags":["tag-plain"]`, `"tags":["x"]`},
		{"memory/plain", `"importance":0.5`, `"importance":1`},
		{"memory/plain", `"metadata":{"of":"plain"}`, `"metadata":{"of":"x"}`},
		{"memory/plain", `"created_at":"2000`, `"created_at":"1999`},
		{"memory/useful", `"access_count":9`, `"access_count":10`},
		{"memory/semantic", `"occurred_at":"`, `"occurred_turn":7,"occurred_at":"`},
		{"memory/semantic", `"occurred_at":"1`, `"occurred_at":"0`},
		{"session/idle", `"next_turn":301`, `"next_turn":302`},
		{"session/idle", `"feedbacks":1`, `"feedbacks":2`},
		{"evidence-omega/semantic", `"upstream_status":0.5`, `"upstream_status":0.9`},
		{"evidence-omega/semantic", `"note":"seen"`, `"note":"heard"`},
		{"link/semantic/supersedes/procedural", `{"why":"newer"}`, `{"why":"older"}`},
		{"session/idle", `"bias":-0.15`, `"bias":0.15`},
		{"memory-turn/a/b", `"value":21`, `"value":22`},
		{"run/passed", `"memories":true`, `"memories":false`},
	} {
		if i%coretest.Cases(3, 1) != 0 {
			continue
		}
		changed := 0
		text := forged(text, func(line string) string {
			if !strings.HasPrefix(line, `{"key":"`+c.key+`"`) || !strings.Contains(line, c.from) {
				return line
			}
			changed++
			if c.to == "" {
				return ""
			}
			return strings.Replace(line, c.from, c.to, 1)
		})
		if _, err := imported(t, text); sdk.ReasonOf(err) != "import_refused" || changed != 1 {
			t.Errorf("%s with %s: %d lines were changed; %v", c.key, c.to, changed, err)
		}
	}
}

// TestATombstoneConfirmsNoGuess: one who knows all that is left of a purged memory can't
// tell whether a guess at its content is right, while what it was could be proven
// before.
func TestATombstoneConfirmsNoGuess(t *testing.T) {
	g := rich(t)
	for key, value := range dump(t, g.store) {
		for _, guess := range []string{"content of useless", "title of useless", "tag-useless", `{"of":"useless"}`} {
			sum := sha256.Sum256([]byte(guess))
			if strings.Contains(value, hex.EncodeToString(sum[:])) || strings.Contains(value, guess) {
				t.Errorf("%q tells of %q: %s", key, guess, value)
			}
		}
	}
}

// TestWhatLeavesItsBoundsShows writes records with the events that prove them.
func TestWhatLeavesItsBoundsShows(t *testing.T) {
	g := newGoverned(t, empty(t), nil)
	g.observe(t, core.ObserveRequest{ID: "m", Namespace: "ns", Attributes: core.Attributes{AgentID: "a", Tags: []string{"x"}}, Title: "t", Content: "c"})
	whole := dump(t, g.store)
	for from, to := range map[string]string{
		`"priority":5`: `"priority":99`, `"importance":0.5`: `"importance":2`, `"confidence":1`: `"confidence":-1`,
		`"kind":"observation"`: `"kind":"rumour"`, `"access_count":0`: `"access_count":-1`, `"version":1`: `"version":0`,
		`"q_value":0.5`: `"q_value":1.5`, `"success_count":0`: `"success_count":-4`, `"agent_id":"a"`: `"agent_id":"a\u0000"`,
		`"tags":["x"]`: `"tags":[" "]`, `"reflection_depth":0`: `"reflection_depth":-1`, `"title":"t"`: `"title":""`,
	} {
		record := strings.Replace(whole["memory/m"], from, to, 1)
		writer := &journal.Writer{Store: g.store, Clock: g.clock}
		must(t, writer.Update(t.Context(), func(tx *journal.Tx) error {
			written := journal.RecordsWritten{Records: []journal.RecordDigest{{Key: "memory/m", Digest: core.Digest([]byte(record))}}}
			return errors.Join(tx.Put([]byte("memory/m"), []byte(record)), tx.Append(journal.NamespaceStream("ns"), written))
		}))
		field, _, _ := strings.Cut(strings.Trim(from, `"`), `"`)
		list := g.problems(t)
		if record == whole["memory/m"] || !slices.ContainsFunc(list, func(p core.Problem) bool { return p.Key == "memory/m" && strings.Contains(p.Message, field) }) {
			t.Errorf("%s: %+v", to, list)
		}
	}
}

// kindOf is a record's prefix, and of an event its type.
func kindOf(key, value string) string {
	prefix, _, _ := strings.Cut(key, "/")
	var e journal.Entry
	if prefix == "event" && json.Unmarshal([]byte(value), &e) == nil {
		return e.Type
	}
	return prefix
}

// isOldMark is the one loss that doesn't show: the mark of an entry that another
// followed. The root records only heads, so this has no effect.
func isOldMark(whole map[string]string, key, what string) bool {
	rest, mark := strings.CutPrefix(key, "event-new/")
	stream, seq, _ := strings.Cut(rest, "\x00")
	head := whole["event-head/"+stream]
	return mark && what == "dropped" && !strings.HasPrefix(head, fmt.Sprintf(`{"seq":%d,`, binary.BigEndian.Uint64([]byte(seq))))
}
