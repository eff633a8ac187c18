package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/core/store/pebble"
	"github.com/reflectory/reflectory/policy"
)

// promoting is a gate that makes knowledge of all.
type promoting struct{}

func (promoting) Decide(context.Context, core.Reader, *verdict.GateCase) (*verdict.GateDecision, error) {
	return &verdict.GateDecision{Verdict: policypoint.VerdictPromote, NextAction: verdict.NextPromote, Confidence: 1, Reason: "told to"}, nil
}

// seedKnowledge makes knowledge of a memory.
func seedKnowledge(t *testing.T, dataDir, id string) {
	t.Helper()
	seedTurns(t, dataDir, id, "of-"+id, 3)
	db, err := pebble.Open(t.Context(), pebble.Options{Dir: filepath.Join(dataDir, "store")})
	if err != nil {
		t.Fatal(err)
	}
	memories, err := memory.New(memory.Options{Store: db, Retention: policy.New(policy.AllPoints(), policy.Options{}), Gate: promoting{}})
	if err == nil {
		_, err = memories.Gate.Revalidate(t.Context(), id, memory.RevalidateRequest{})
	}
	if err := core.JoinErrors(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// Keys of objects that several commands print.
const (
	memoryKeys = "access_count agent_id confidence content created_at created_turn embedding_model id importance kind " +
		"metadata namespace priority reflection_depth signals state tags title updated_at version"
	usedMemoryKeys = "access_count agent_id confidence content created_at created_turn embedding_model id importance kind " +
		"last_accessed_at metadata namespace priority reflection_depth signals state tags title updated_at version"
	pendingKeys   = "above agent_id created_at depth id namespace request"
	knowledgeKeys = "content created_at decision_id id namespace promoted_from reusable_pattern_summary title"
	decisionKeys  = "confidence decision_id evidence graph_evidence_refs memory_id namespace next_action numbers omega_factors policy react_evidence_refs reason verdict workings"
	movedKeys     = "bytes records"
)

// shapes are command lines, in the order in which they are run, with the keys of
// what they print as JSON: of the whole, and of parts of it by their path.
var shapes = []struct {
	line  string
	keys  string
	parts map[string]string
}{
	{line: "memory observe --namespace n --id fact-0001 --content word --tag t --metadata {\"a\":1}", keys: memoryKeys},
	{line: "memory observe --namespace n --id fact-0002 --content words --tag t --metadata {\"a\":1}", keys: memoryKeys, parts: map[string]string{
		"signals": "failure_count hit_count hit_rate_ewma last_hit_turn miss_streak partial_count q_value relevant_turns sessions success_count ttl_score utility_score window",
	}},
	{line: "memory recall --namespace n word", keys: "answerable memories"},
	{line: "memory recall --session mine --turn 1 --namespace n word", keys: "answerable memories session turn", parts: map[string]string{
		"memories.0":     sortedWords(usedMemoryKeys + " handle p rank record score why"),
		"memories.0.why": "depth_boost failure_factor fused lexical_rank near q_value use_factor",
	}},
	{line: "memory feedback --session mine --turn 1 --outcome success --used fact-0001", keys: "bias items outcome revalidate session source turn", parts: map[string]string{
		"items.0": "id q_value reward state_after state_before ttl_score used weight",
	}},
	{line: "memory feedback --session mine --turn 1 --outcome success", keys: "bias duplicate items outcome revalidate session source turn"},
	{line: "memory link fact-0001 related_to fact-0002", keys: "created_at from relation to"},
	{line: "memory get fact-0001", keys: sortedWords(usedMemoryKeys + " links_from links_to"), parts: map[string]string{
		"links_from.0": "created_at from relation to",
	}},
	{line: "memory list --namespace n", keys: "items", parts: map[string]string{"items.0": usedMemoryKeys}},
	{line: "memory list --namespace n --limit 1", keys: "items next_page_token"},
	{line: "memory explain fact-0001", keys: "help history id links_from memory namespace state terms thresholds turn why", parts: map[string]string{
		"history.0": "at data hash prev seq subject type", "thresholds": "active_threshold hysteresis revalidate_threshold",
	}},
	{line: "memory sweep n", keys: "changed evaluated gated namespace transitions turn"},
	{line: "memory reembed n", keys: "changed looked model namespace total"},
	{line: "governance set n require_approval_above_depth=0", keys: "namespace require_approval_above_depth"},
	{line: "governance get n", keys: "namespace require_approval_above_depth"},
	{line: "governance explain n", keys: "chain fields namespace", parts: map[string]string{"fields.0": "field level value"}},
	{line: "memory reflect --source fact-0001 --title t --content c", keys: "namespace pending_id status"},
	{line: "memory pending", keys: "items", parts: map[string]string{"items.0": pendingKeys}},
	{line: "memory reject PENDING", keys: pendingKeys},
	{line: "governance unset n", keys: "namespace"},
	{line: "memory reflect --source fact-0001 --title t --content c", keys: "id namespace reflection_depth reflects_on"},
	{line: "knowledge list --namespace team/a", keys: "items", parts: map[string]string{"items.0": knowledgeKeys}},
	{line: "knowledge recall --namespace team/a done", keys: "knowledge", parts: map[string]string{
		"knowledge.0": "knowledge rank score why", "knowledge.0.knowledge": knowledgeKeys,
	}},
	{line: "knowledge get KNOWLEDGE", keys: knowledgeKeys},
	{line: "evidence tool --file tool.json", keys: "duplicates recorded"},
	{line: "evidence dag --file dag.json", keys: "digest edges memories nodes workflow"},
	{line: "gate run old-steps --dry-run", keys: sortedWords(decisionKeys)},
	{line: "gate explain old-steps", keys: "decision evidence_ttl frequency lanes memory_id namespace note rule utility"},
	{line: "gate run old-steps", keys: sortedWords(decisionKeys)},
	{line: "audit head", keys: "hash head seq"},
	{line: "audit verify", keys: "entries pruned_entries pruned_segments recorded_heads root streams valid", parts: map[string]string{"root": "hash seq"}},
	{line: "audit show", keys: "items", parts: map[string]string{"items.0": "hash seq stream"}},
	{line: "audit show namespace/n", keys: "head items stream", parts: map[string]string{"items.0": "at data hash prev seq subject type", "head": "hash seq"}},
	{line: "audit show --types", keys: "items", parts: map[string]string{"items.0": "fields type", "items.0.fields.0": "kind name"}},
	{line: "store backup backup", keys: "folder left_out"},
	{line: "store restore backup --data-dir restored", keys: "folder"},
	{line: "store export all.jsonl", keys: movedKeys},
	{line: "memory recall --namespace n --queries queries.jsonl", keys: "results", parts: map[string]string{"results.0": "answerable memories"}},
	{line: "memory observe --namespace n --file more.jsonl", keys: "observed repeated"},
}

// TestTheShapesThatTheMemoryPrints runs each command with --json on one store.
func TestTheShapesThatTheMemoryPrints(t *testing.T) {
	w := newPlainWorld(t)
	seedKnowledge(t, "data", "good-steps")
	seedMemory(t, "data", "old-steps", 3)
	w.file("tool.json", `{"memory_id":"old-steps","session":"s","turn":1,"tool":"deploy","ok":false,"ref":"log:1"}`)
	w.file("dag.json", `{"workflow":"w","entry":["a"],"exits":["b"],"edges":[["a","b"]],"memories":{"old-steps":["a"]}}`)
	w.file("queries.jsonl", `{"query":"word"}`)
	w.file("more.jsonl", `{"content":"word"}`)
	names := map[string]string{}
	for _, shape := range shapes {
		line := shape.line + " --json"
		for name, id := range names {
			line = strings.ReplaceAll(line, name, id)
		}
		out, _ := w.line(exitPassed, "", line)
		var whole any
		if err := json.Unmarshal([]byte(out), &whole); err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
		wantKeys(t, line, whole, shape.keys)
		for path, keys := range shape.parts {
			wantKeys(t, line+": "+path, within(whole, path), keys)
		}
		switch object := whole.(map[string]any); {
		case object["pending_id"] != nil:
			names["PENDING"] = object["pending_id"].(string)
		case strings.HasPrefix(line, "knowledge list"):
			names["KNOWLEDGE"] = within(whole, "items.0.id").(string)
		}
	}
}

func wantKeys(t *testing.T, what string, value any, want string) {
	t.Helper()
	object, _ := value.(map[string]any)
	if got := keysOf(object); got != want {
		t.Errorf("%s has\n%s, want\n%s", what, got, want)
	}
}

// within is a part of a JSON value, by the names and numbers that lead to it.
func within(value any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[name]
		case []any:
			var i int
			if _, err := fmt.Sscan(name, &i); err != nil || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// sortedWords are the words of a text in order.
func sortedWords(text string) string {
	words := map[string]any{}
	for _, word := range strings.Fields(text) {
		words[word] = nil
	}
	return keysOf(words)
}

// TestListsGoOnWhereTheyEnded reads lists two at a time.
func TestListsGoOnWhereTheyEnded(t *testing.T) {
	w := newPlainWorld(t)
	for i := range 5 {
		seedKnowledge(t, "data", fmt.Sprintf("good-%04d", i))
		w.line(exitPassed, "", fmt.Sprintf("memory observe --namespace team/a --content x --id fact-%04d", i))
	}
	for command, want := range map[string]int{
		"memory list --namespace team/a --tag none":    0,
		"memory list --namespace team/a --state open":  5,
		"knowledge list --namespace team/a":            5,
		"knowledge list --namespace team":              0,
		"memory list --namespace team/a":               10,
		"memory list --namespace team --subtree":       10,
		"memory list --namespace team/a --limit 10":    10,
		"knowledge list --namespace team/a --limit 5":  5,
		"memory list --namespace team/a --by somebody": 0,
	} {
		seen := map[string]bool{}
		for next, pages := "", 0; ; pages++ {
			line := command + " --json"
			if !strings.Contains(command, "--limit") {
				line += " --limit 2"
			}
			if next != "" {
				line += " --page-token " + next
			}
			out, _ := w.line(exitPassed, "", line)
			var page struct {
				Items []struct{ ID string }
				Next  string `json:"next_page_token"`
			}
			if err := json.Unmarshal([]byte(out), &page); err != nil {
				t.Fatal(err)
			}
			entries := page.Items
			if !strings.Contains(command, "--limit") && len(entries) > 2 {
				t.Errorf("%s: a page of two has %d", command, len(entries))
			}
			for _, entry := range entries {
				if seen[entry.ID] {
					t.Errorf("%s lists %s twice", command, entry.ID)
				}
				seen[entry.ID] = true
			}
			if next = page.Next; next == "" {
				break
			}
			if pages >= want/2 {
				t.Fatalf("%s has more than %d pages", command, pages+1)
			}
		}
		if len(seen) != want {
			t.Errorf("%s lists %d, want %d", command, len(seen), want)
		}
	}
	for line, want := range map[string]string{
		"audit show namespace/team/a --limit 1 --from 2": `"seq": 2,`, "audit show namespace/team/a --limit 1 --from 0": `"seq": `,
	} {
		out, _ := w.line(exitPassed, "", line+" --json")
		var shown struct{ Items []json.RawMessage }
		if err := json.Unmarshal([]byte(out), &shown); err != nil || len(shown.Items) != 1 {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
		wantIn(t, string(shown.Items[0]), want)
	}
}
