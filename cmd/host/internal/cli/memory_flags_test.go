package cli

import (
	"fmt"
	"testing"
)

// TestWhoDecidesOnWhatWaitsIsRecorded lets one agent ask, another approve, and a third
// reject.
func TestWhoDecidesOnWhatWaitsIsRecorded(t *testing.T) {
	w := newPlainWorld(t)
	w.line(exitPassed, "", "governance set n require_approval_above_depth=0")
	w.line(exitPassed, "", "governance set n2 require_approval_above_depth=0")
	var pending [3]string
	for i, namespace := range []string{"n", "n", "n2"} {
		fact := fmt.Sprintf("fact-%04d", i)
		w.line(exitPassed, "", "memory observe --namespace "+namespace+" --content x --id "+fact)
		asked := w.parsed(exitPassed, fmt.Sprint("memory reflect --agent ada --content deep --title t", i, " --source ", fact))
		pending[i] = asked["pending_id"].(string)
	}
	for namespace, want := range map[string]int{"": 3, " --namespace n": 2, " --namespace n2": 1, " --namespace n3": 0} {
		if list := w.parsed(exitPassed, "memory pending"+namespace)["items"].([]any); len(list) != want {
			t.Errorf("memory pending%s lists %d, want %d", namespace, len(list), want)
		}
	}
	w.line(exitPassed, "", "memory approve --agent ben "+pending[0])
	w.line(exitPassed, "", "memory reject --agent cyd --reason far "+pending[1])
	w.line(exitPassed, "", "memory reject --agent cyd "+pending[2])
	w.line(exitPassed, "", "governance unset n --agent dan")
	w.line(exitPassed, `{"content":"y"}`, "memory observe --namespace n --file - --agent eve --tag bulk")
	out, _ := w.line(exitPassed, "", "audit show namespace/n --json")
	wantIn(t, out, `"approved_by": "ben"`, `"agent_id": "ada"`, `"agent_id": "cyd"`, `"reason": "hmac-sha256:`, `"agent_id": "dan"`, `"agent_id": "eve"`)
	out, _ = w.line(exitPassed, "", "memory list --namespace n --tag bulk --by eve --json")
	wantIn(t, out, `"content": "y"`)
}

// TestKnowledgeIsRecalledAsItIsAskedFor gives every flag of a recall of knowledge.
func TestKnowledgeIsRecalledAsItIsAskedFor(t *testing.T) {
	w := newPlainWorld(t)
	for _, id := range []string{"good-0001", "good-0002"} {
		seedKnowledge(t, "data", id)
	}
	for flags, want := range map[string]int{
		"--namespace team/a": 2, "--namespace team": 0, "--namespace team --subtree": 2, "--namespace team/a --limit 1": 1,
	} {
		found, _ := w.parsed(exitPassed, "knowledge recall done "+flags)["knowledge"].([]any)
		if len(found) != want {
			t.Errorf("%s recalls %d, want %d", flags, len(found), want)
		}
	}
}

// TestALinkHasItsMetadata: the link has what the flag says.
func TestALinkHasItsMetadata(t *testing.T) {
	w := newPlainWorld(t)
	w.line(exitPassed, "", "memory observe --namespace n --content x --id fact-0001")
	w.line(exitPassed, "", "memory observe --namespace n --content y --id fact-0002")
	out, _ := w.line(exitPassed, "", `memory link fact-0001 related_to fact-0002 --metadata {"why":"both"} --json`)
	wantIn(t, out, `"why": "both"`)
	out, _ = w.line(exitPassed, "", "memory get fact-0001 --json")
	wantIn(t, out, `"why": "both"`)
}

// TestEachFactorOfOmegaIsItsFlag: the factors differ, so that none can be mistaken for
// another.
func TestEachFactorOfOmegaIsItsFlag(t *testing.T) {
	w := newPlainWorld(t)
	seedMemory(t, "data", "old-steps", 3)
	out, _ := w.line(exitPassed, "", "gate run old-steps --dry-run --json --upstream-status 0.1 --codebase-verification 0.2 "+
		"--runtime-utility-trend 0.3 --note one --note two")
	wantIn(t, out, `"upstream_status_score=0.1"`, `"codebase_verification_score=0.2"`, `"runtime_utility_trend_score=0.3"`, `"note=one"`, `"note=two"`)
}
