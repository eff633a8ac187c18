package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/inject"
)

// TestAgentTurns_LearnsOverSessions makes the agent of examples/agent-turns work with a
// server: its second session is better than its first, the program says because of which
// memory, the prefix that a provider would cache stays in nearly all turns, and what breaks
// it is named.
func TestAgentTurns_LearnsOverSessions(t *testing.T) {
	coretest.Long(t)
	const turns, kinds = 25, 5 // of a session, and of parcels, each of which it is told once
	agent := filepath.Join(t.TempDir(), "agent-turns")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", agent, "../../../../examples/agent-turns")
	build.Env = append(os.Environ(), "GOFLAGS=") // as the other programs are built, so that their packages are there
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w := newKillWorld(t)
	_, at := w.serve()
	out, err := exec.CommandContext(t.Context(), agent, "--url", "http://"+at.Listen, "--token-file", at.Token).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var solved, reused [2]int
	var snapshots [2]string
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(solved) {
		t.Fatalf("it prints %q", out)
	}
	for i, line := range lines {
		_, rest, _ := strings.Cut(line, ": ")
		if _, err := fmt.Sscanf(rest, "%d of 25 parcels right, prefix reused in %d turns, last snapshot %s", &solved[i], &reused[i], &snapshots[i]); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
	}
	if solved[0] != turns-kinds || solved[1] != turns {
		t.Errorf("the sessions had %v parcels right", solved)
	}
	if reused[0]+reused[1] < 45 {
		t.Errorf("the prefix was reused in %v turns", reused)
	}
	var shown struct {
		Blocks []shownBlock `json:"blocks_used"`
	}
	if code := w.json(&shown, "inject", "show", snapshots[1]); code != exitPassed {
		t.Fatalf("inject show: exit %d", code)
	}
	if !slices.ContainsFunc(shown.Blocks, func(b shownBlock) bool {
		return b.MemoryID != "" && strings.Contains(b.Payload, "For seedlings, say greenhouse.")
	}) {
		t.Errorf("inject show doesn't have the memory that it was right by: %+v", shown.Blocks)
	}
	other := filepath.Join(w.dir, "other.json")
	err = os.WriteFile(other, []byte(`{"session": "tuesday", "namespace": "examples/parcels", "query": "Where does parcel 26 belong?",
		"policy": {"ordering_strategy": "stable_prefix"}, "blocks": [{"block_id": "instructions", "category": "policy", "priority": 900,
		"anchor": true, "stable": true, "payload": "You sort letters."}]}`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	var built inject.Built
	if code := w.json(&built, "inject", "build", "--file", other); code != exitPassed || built.Prefix.Reused {
		t.Errorf("inject build: exit %d, %+v", code, built.Snapshot)
	}
	var diff inject.Diff
	if code := w.json(&diff, "inject", "diff", built.SnapshotID); code != exitPassed || diff.From != snapshots[1] || diff.Prefix.BrokenBy != "instructions" || diff.Prefix.How != "payload" {
		t.Errorf("inject diff: exit %d, %+v", code, diff)
	}
}

// shownBlock is a block of a snapshot.
type shownBlock struct {
	MemoryID string `json:"memory_id"`
	Payload  string `json:"payload"`
}
