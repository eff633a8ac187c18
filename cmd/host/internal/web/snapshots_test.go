package web

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/core/jsontext"
)

// told builds the snapshots of three turns of a session, of which the second reuses the cached
// prefix and the third breaks it, and returns their ids.
func (s *site) told(session string) (ids []string) {
	s.T.Helper()
	for range 3 {
		s.Memory()
	}
	text := strings.Join(hostile[:6], "\n")
	turns := []string{"Answer in one sentence.", "Answer in one sentence.", "Answer in two sentences, and name your source."}
	for i, task := range turns {
		built := operationtest.Try[inject.Built](s.World, "snapshot_build", &inject.BuildRequest{
			Namespace: operationtest.Here, Session: session, Turn: int64(i + 1), Query: "when does the harbour close?",
			Policy: &inject.PolicyRequest{Policy: inject.Policy{Ordering: inject.StablePrefix, CategoryCap: map[inject.Category]int{inject.Tooling: 400}}, MaxChars: new(2400)},
			Blocks: []inject.Draft{
				{BlockID: "rules", Category: inject.Safety, Priority: new(100), Payload: "Never give away where a ship is.", Anchor: true},
				{BlockID: "task", Category: inject.Workflow, Priority: new(10), Payload: task, Stable: true},
				{BlockID: "tools", Category: inject.Tooling, Priority: new(5), Payload: "calendar, " + strings.Repeat("a tool, ", 200)},
				{BlockID: hostile[0], Category: inject.Knowledge, Priority: new(4), Payload: text, Source: hostile[4], Tags: []string{"<b>"}},
				{BlockID: "old", Category: inject.Reflection, Priority: new(1), Payload: "Ask first.", TTLTurns: new(int64(1)), CreatedTurn: new(int64(0))},
			},
		})
		ids = append(ids, built.SnapshotID)
	}
	return ids
}

// TestSnapshots_RoleMixIsText: names, keys and texts of an operator's profile of roles, as long
// as they may be.
func TestSnapshots_RoleMixIsText(t *testing.T) {
	s := newSite(t)
	role := func(n int) map[string]any {
		text := strings.Repeat("<b onclick='alert(1)'>\"&", 20) + strconv.Itoa(n)
		return map[string]any{
			"role": "<script>alert(" + strconv.Itoa(n) + ")</script>", "objectives": []string{text},
			"constraints": []map[string]any{{"key": "javascript:alert(1)", "text": text}},
		}
	}
	s.File("data/"+host.RoleMixDir+"/own.yaml", string(jsontext.MustEncode(map[string]any{
		"profile_id": "own", "description": "<img src=x>", "roles": []any{role(1), role(2)}, "weights": []int{2, 1},
	})))
	s.File("data/policies/injection/own.yaml", `rule: {id: "own", match: [{output: '{"mode": "hybrid", "role_mix": "own", "route": "react", "max_blocks": 12, "max_chars": 8000}'}]}`)
	s.Reopen()
	s = siteOf(s.World)
	built := operationtest.Try[inject.Built](s.World, "snapshot_build", &inject.BuildRequest{Namespace: operationtest.Here, Session: "mixed", Turn: 1, Blocks: []inject.Draft{
		{BlockID: "task", Category: inject.Workflow, Priority: new(1), Payload: "Close the harbour."},
	}})
	if built.RoleMix == nil || len(built.RoleMix.Roles) != 2 || len(built.RoleMix.Conflicts) != 1 {
		t.Fatalf("the mix is %+v", built.RoleMix)
	}
	s.walk("/snapshots/" + built.SnapshotID)
}

// TestSnapshots_ShowWhatAModelGot: the blocks with their trust, what was dropped and why,
// what broke the cached prefix, and that it comes out the same again.
func TestSnapshots_ShowWhatAModelGot(t *testing.T) {
	s := newSite(t)
	ids := s.told("harbour")
	for target, wants := range map[string][]string{
		"/snapshots?namespace=" + operationtest.Here + "&session=harbour": {"Turn 3", "reused", "Characters by turn and category", "characters"},
		"/snapshots/" + ids[1]:                          {"digest verified", "never cut or dropped: the operator’s or the host’s (anchor)", "data: escaped", "it held for fewer turns", "cut from", "The cached prefix ends here", "the same as in the turn before", hostile[0]},
		"/snapshots/" + ids[1] + "?replay=1":            {"Built again, it comes out the same."},
		"/snapshots/" + ids[1] + "/diff":                {"prefix reused"},
		"/snapshots/" + ids[2] + "/diff":                {"prefix broken", "task", "breaks the prefix", "other words", "two sentences"},
		"/snapshots/" + ids[2] + "/diff?with=" + ids[0]: {"Turn 1 → 3"},
	} {
		a := s.get(target)
		text := textOf(s.tree(a, http.StatusOK))
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q:\n%.3000s", target, want, text)
			}
		}
	}
	if a := s.get("/snapshots/" + ids[0] + "/diff"); a.StatusCode != http.StatusNotFound {
		t.Errorf("the first has none before it: %d", a.StatusCode)
	}
	if a := s.get("/snapshots/" + ids[0] + "/prompt"); !strings.Contains(a.body, "Never give away") {
		t.Errorf("%.300s", a.body)
	}
}

// TestSnapshots_HostileTextIsText on every page of snapshots, and every link on them answers.
func TestSnapshots_HostileTextIsText(t *testing.T) {
	s := newSite(t)
	ids := s.told("harbour")
	s.walk("/snapshots?namespace="+operationtest.Here, "/snapshots/"+ids[1], "/snapshots/"+ids[2]+"/diff")
}
