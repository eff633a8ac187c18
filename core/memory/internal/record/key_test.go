package record

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
)

// TestLayoutOfMemories checks the table in core/store/FORMAT.md.
func TestLayoutOfMemories(t *testing.T) {
	m := &core.Memory{
		ID: "m:1", Namespace: "a/b", AgentID: "alice", Kind: core.KindSemantic, Title: "t", State: core.StateOpen,
		Tags: []string{"x", "y"}, CreatedAt: time.Unix(0, 1),
	}
	when := "\xff\xff\xff\xff\xff\xff\xff\xfem:1"
	digest := "\xe3\xb9\x8a\x4d\xa3\x1a\x12\x7d\x4b\xde\x6e\x43\x03\x3f\x66\xba\x27\x4c\xab\x0e\xb7\xeb\x1c\x70\xec\x41\x40\x2b\xf6\x27\x3d\xd8"
	want := []string{
		"memory-time/a/b\x00" + when, "memory-state/a/b\x00open\x00" + when, "memory-kind/a/b\x00semantic\x00" + when,
		"memory-agent/a/b\x00alice\x00" + when, "memory-tag/a/b\x00x\x00" + when, "memory-tag/a/b\x00y\x00" + when,
		"memory-title/a/b\x00" + digest + "m:1",
	}
	var got []string
	for _, index := range Memories.Indices {
		for _, e := range index.Entries(m.ID, m) {
			got = append(got, string(e.Key))
			if id := index.ID(e.Key, e.Value); id != m.ID {
				t.Errorf("%q is of %q", e.Key, id)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("indices (-want +got):\n%s", diff)
	}
	pairsOfSessions := [][2]string{
		{string(WindowKey("s", 258)), "session-window/s/\x00\x00\x00\x00\x00\x00\x01\x02"},
		{string(WindowSummaryKey("s", 258)), "session-window-summary/s/\x00\x00\x00\x00\x00\x00\x01\x02"},
		{string(ReflectionKey("s", 2, 258)), "turn-reflection/s/0000000002/\x00\x00\x00\x00\x00\x00\x01\x02"},
		{string(ReflectionMemoryKey("m", "s", 2, 258)), "turn-reflection-memory/m/s/0000000002/\x00\x00\x00\x00\x00\x00\x01\x02"},
	}
	p := &Pending{ID: "p", Namespace: "a", Request: &core.ReflectRequest{SourceIDs: []string{"s"}, Attributes: core.Attributes{AgentID: "alice"}, IdempotencyKey: "k"}}
	pairs := [][2]string{
		{string(MemoryKey("m")), "memory/m"}, {string(VectorKey("m")), "memory-vector/m"}, {string(PurgedKey("m")), "memory-purged/m"},
		{string(HistoryKey("m", 258)), "memory-history/m/\x00\x00\x00\x00\x00\x00\x01\x02"},
		{string(TurnKey("a/b")), "memory-turn/a/b"}, {string(CountKey("a/b")), "memory-count/a/b"},
		{string(LinkKey("m", "r", "n")), "link/m/r/n"}, {string(LinkToKey("n", "r", "m")), "link-to/n/r/m"},
		{string(pendingKey("p")), "pending/p"}, {string(Pendings.Indices[0].Entries("p", p)[0].Key), "pending-namespace/a\x00p"},
		{string(requestKey(p.Request)), "reflect-request/b1f0cb62a7de82250b6c728336b4fc2501ffc52f46a54c63ca98639a62b0fd2f"},
	}
	for _, pair := range append(pairs, pairsOfSessions...) {
		if pair[0] != pair[1] {
			t.Errorf("key %q, want %q", pair[0], pair[1])
		}
	}
	if got := string(encodeVector("ab", []float32{1})); got != "\x00\x02ab\x00\x00\x80\x3f" {
		t.Errorf("vector %q", got)
	}
}
