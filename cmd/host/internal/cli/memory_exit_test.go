package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store/pebble"
)

// TestWhatTheMemoryRefusesHasItsExitCode checks the exit codes and the reasons:
// 4 is only for what a policy or governance refuses.
func TestWhatTheMemoryRefusesHasItsExitCode(t *testing.T) {
	w := newPlainWorld(t)
	for _, line := range []string{
		"memory observe --namespace n --id fact-0001 --title one --content x",
		"memory observe --namespace n --id fact-0002 --title two --content x",
		"memory observe --namespace shut --id fact-0003 --content x",
		"memory recall --namespace n --session s --turn 1 x",
		"governance set top max_reflection_depth=1 locked=max_reflection_depth",
	} {
		w.line(exitPassed, "", line)
	}
	const veto = `rule: {match: [{output: '{"allow": false, "code": "gossip", "reason": "no gossip"}'}]}`
	if err := core.JoinErrors(os.MkdirAll("policies/reflect", 0o755), os.WriteFile("policies/reflect/n.yaml", []byte(veto), 0o600)); err != nil {
		t.Fatal(err)
	}
	damage(t, "governance/shut", "{")
	for _, c := range []struct {
		line   string
		exit   int
		reason string
	}{
		{"memory reflect --source fact-0003 --title t --content x", exitDenied, "depth_exceeded"},
		{"memory reflect --source fact-0001 --title t --content x --policy-dir policies", exitDenied, "policy_veto"},
		{"governance set top/a max_reflection_depth=2", exitDenied, "field_locked"},
		{"governance set n max_reflection_depth=-1", exitFailure, "governance_invalid"},
		{"memory get nothing-0", exitFailure, "memory_not_found"},
		{"memory get fact", exitFailure, "memory_not_found"},
		{"memory get fact-000", exitFailure, "id_ambiguous"},
		{"memory get fact-0001x", exitFailure, "memory_not_found"},
		{"memory observe --namespace n --id fact-0001 --content x", exitFailure, "id_taken"},
		{"memory observe --namespace n --content x --kind odd", exitUsage, "kind_invalid"},
		{"memory reflect --source fact-0001 --title two --content x", exitFailure, "title_taken"},
		{"memory reflect --source fact-0001 --source nothing-0 --title t --content x", exitFailure, "source_not_found"},
		{"memory reflect --source fact-000 --title t --content x", exitFailure, "id_ambiguous"},
		{"memory feedback --session s --turn 1 --outcome success --used fact-000", exitFailure, "id_ambiguous"},
		{"memory reflect --source fact-0001 --title t --content x --depth 2", exitFailure, "depth_mismatch"},
		{"memory reflect --title t --content x", exitUsage, "source_ids_invalid"},
		{"memory link fact-0001 related_to fact-0001", exitFailure, "link_self"},
		{"memory feedback --session s --turn 1 --outcome success --used fact-0003", exitFailure, "not_recalled"},
		{"memory feedback --session s --turn 2 --outcome success", exitFailure, "turn_not_found"},
		{"memory feedback --session s --turn 1 --outcome fine", exitUsage, "outcome_invalid"},
		{"memory feedback --session s --turn 1 --outcome success --source me", exitUsage, "source_invalid"},
		{"memory restore fact-0001", exitFailure, "state_conflict"},
		{"memory approve nothing-0", exitFailure, "pending_not_found"},
		{"memory reject nothing-0", exitFailure, "pending_not_found"},
		{"memory approve nothing", exitFailure, "pending_not_found"},
		{"memory reject nothing", exitFailure, "pending_not_found"},
		{"memory list --namespace n --limit 201", exitUsage, "limit_invalid"},
		{"memory sweep a//b", exitFailure, "namespace_invalid"},
		{"knowledge get nothing-0", exitFailure, "knowledge_not_found"},
		{"gate run fact-0001", exitFailure, "state_conflict"},
		{"gate run fact-0001 --dry-run", exitFailure, "state_conflict"},
		{"audit show nothing", exitFailure, "stream_not_found"},
		{"store restore nowhere --data-dir other", exitFailure, "backup_missing"},
		{"store import nowhere --data-dir other", exitFailure, "file_not_found"},
		{"memory recall --namespace n --turn 1 x", exitUsage, "usage"},
		{"memory recall --namespace n", exitUsage, "usage"},
		{"memory recall --namespace n x --queries queries.jsonl", exitUsage, "usage"},
		{"memory feedback --session s --turn 1", exitUsage, "usage"},
		{"memory feedback --session s --outcome success", exitUsage, "usage"},
		{"memory feedback --turn 1 --outcome success", exitUsage, "usage"},
		{"memory get", exitUsage, "usage"},
		{"memory link a b", exitUsage, "usage"},
		{"evidence dag", exitUsage, "usage"},
	} {
		out, _ := w.line(c.exit, "", c.line+" --json")
		var refused struct {
			Error struct{ Code, Message, Hint string }
		}
		if err := json.Unmarshal([]byte(out), &refused); err != nil {
			t.Fatalf("%s: %v: %s", c.line, err, out)
		}
		if e := refused.Error; e.Code != c.reason || e.Message == "" {
			t.Errorf("%s: %s, want %s", c.line, out, c.reason)
		}
	}
	out, _ := w.line(exitNotValid, "", "governance explain shut --json")
	wantIn(t, out, `"max_reflection_depth"`, `"value": 0`, `"failure"`)
}

// damage writes a value behind the program's back.
func damage(t *testing.T, key, value string) {
	t.Helper()
	db, err := pebble.Open(t.Context(), pebble.Options{Dir: filepath.Join("data", "store")})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(t.Context(), func(tx core.Tx) error { return tx.Put([]byte(key), []byte(value)) })
	if err := core.JoinErrors(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestAFeedbackSaysWhatWasUsedAndByWhoseWord gives all flags of a feedback.
func TestAFeedbackSaysWhatWasUsedAndByWhoseWord(t *testing.T) {
	w := newPlainWorld(t)
	for _, id := range []string{"fact-0001", "fact-0002", "fact-0003"} {
		w.line(exitPassed, "", "memory observe --namespace n --content word-of-"+id+" --id "+id)
	}
	for source, said := range map[string]string{"": "text", "--source user": "user", "--source tool": "tool", "--source text": "text"} {
		session := "s" + said + source[:min(1, len(source))]
		w.line(exitPassed, "", "memory recall --namespace n word --turn 7 --session "+session)
		out, _ := w.line(exitPassed, "", "memory feedback --turn 7 --outcome partial --used fact-0001 --used fact-0003 --json "+source+" --session "+session)
		var result core.FeedbackResult
		if err := json.Unmarshal([]byte(out), &result); err != nil {
			t.Fatal(err)
		}
		for _, item := range result.Items {
			if item.Used != (item.ID != "fact-0002") || item.Used && item.Reward != .5 {
				t.Errorf("%q: %+v", source, item)
			}
		}
		out, _ = w.line(exitPassed, "", "audit show namespace/n --limit 50 --json")
		at := strings.LastIndex(out, `"agent.memory.evolution.applied"`)
		if at < 0 {
			t.Fatalf("%q: no event of the feedback in %s", source, out)
		}
		last := out[at:]
		wantIn(t, last, `"source": "`+said+`"`, `"session_id": "`+session+`"`, `"outcome": "partial"`)
		_, errs := w.line(exitPassed, "", "memory feedback --turn 7 --outcome failure --session "+session)
		wantIn(t, errs, "turn 7 of session "+session+" already had its feedback")
	}
}
