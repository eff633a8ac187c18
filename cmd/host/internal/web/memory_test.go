package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/job"
)

// printable are the hostile texts that a memory takes.
func printable() string {
	var kept []string
	for _, text := range hostile {
		if strings.ToValidUTF8(text, "") == text && !strings.ContainsAny(text, "\x00\a\x1b\x7f") {
			kept = append(kept, text)
		}
	}
	return strings.Join(kept, "\n")
}

// observe writes a memory whose texts are hostile.
func (s *site) observe(title, content string) string {
	s.T.Helper()
	out, err := s.Do(core.Operator("tester"), "memory_observe", &core.ObserveRequest{
		Namespace: operationtest.Here, Title: title, Content: content, Attributes: core.Attributes{Tags: []string{"<b>tag</b>"}},
	})
	s.Must(err)
	return out.(*core.Memory).ID
}

// TestMemory_HostileTextIsText on every page that shows a memory, an approval, a decision or
// a job, however long it is; and every link on them answers.
func TestMemory_HostileTextIsText(t *testing.T) {
	s := newSite(t)
	long := s.observe(strings.ReplaceAll(printable(), "\n", " ")[:120], printable()+strings.Repeat("<", 40_000))
	s.Pending(operationtest.Here)
	s.Decision()
	known := s.Promoted()
	made := s.Job(operationtest.Here)
	s.walk("/memory", "/memory/"+long, "/memory?namespace="+operationtest.Here+"&q="+url.QueryEscape(hostile[0]), "/memory?state=open&namespace="+operationtest.Here, "/approvals",
		"/knowledge?namespace="+url.QueryEscape(known.Namespace), "/knowledge/"+known.ID, "/decisions", "/decisions?point=gate", "/policies", "/jobs", "/jobs/"+made)
	if text := textOf(s.tree(s.get("/memory/"+long), http.StatusOK)); !strings.Contains(text, hostile[0]) || !strings.Contains(text, `a\u{202E}b`) {
		t.Error("the text isn't on the page")
	}
}

// TestMemory_ShowsWhyItIsThere: its score by turn over the namespace's thresholds, the terms of the
// score in words, its life, and JSON for a program.
func TestMemory_ShowsWhyItIsThere(t *testing.T) {
	s := newSite(t)
	_, err := s.Host.Governance.Set(s.Ctx, operationtest.Here, "retention.active_threshold=0.37")
	s.Must(err)
	id := s.Taught(core.OutcomeSuccess, 4)
	a := s.get("/memory/" + id)
	root := s.tree(a, http.StatusOK)
	s.wellMade("the memory", a, root)
	text := textOf(root)
	for _, want := range []string{
		"Retention score by turn: ", " at turn 1, ", "active from .37; cooling from .15", "hits", "utility", "misses in a row", "turns idle", "Lineage", "score of the last decision",
		"open → active", "by retention",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q: %s", want, text)
		}
	}
	for _, raw := range []string{"hit_rate", "ttl_score of", "ttl_score 0", "00Z", "-0.0"} {
		if strings.Contains(text, raw) {
			t.Errorf("the page says %q", raw)
		}
	}
	if a := s.get("/memory/"+id, "Accept", "application/json"); !strings.Contains(a.body, `"terms"`) || !strings.Contains(a.body, `"active_threshold": 0.37`) {
		t.Errorf("%.400s", a.body)
	}
}

// TestMemory_ShowsWhetherItHelps: in a word, with the difference that it makes, the ends of its interval and its cost.
func TestMemory_ShowsWhetherItHelps(t *testing.T) {
	s := newSite(t)
	untried := s.Taught(core.OutcomeSuccess, 4)
	helps, rides := s.Tried(80)
	for id, want := range map[string][]string{
		helps.ID: {"Does it help?", "helps", "Turns succeed more often with it than without it", "were made without it. That cost about ", "(limit 10)", "Turns that succeed with it, less those without it: +", "100 more succeed"},
		rides.ID: {"can’t tell yet", "they are too few to tell"},
		untried:  {"can’t tell yet", "No turn was made without it to find out. Most of its 4 uses named no other memory"},
	} {
		a := s.get("/memory/" + id)
		root := s.tree(a, http.StatusOK)
		s.wellMade("the memory", a, root)
		text := textOf(root)
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("the page lacks %q: %s", part, text)
			}
		}
		if has := strings.Contains(text, "less those without it"); has != (id != untried) {
			t.Errorf("a chart: %v", has)
		}
	}
}

// TestMemories_ShowsPurgedOnes, of which nothing is listed, and the limits at which memories move.
func TestMemories_ShowsPurgedOnes(t *testing.T) {
	s := newSite(t)
	s.Memory()
	_, err := s.Do(core.Operator("tester"), "gate_request", &operation.GateRequest{ID: s.Memory(), Erase: true, Reason: "it is wrong"})
	s.Must(err)
	a := s.get("/memory?namespace=" + url.QueryEscape(operationtest.Here))
	root := s.tree(a, http.StatusOK)
	s.wellMade("the memories", a, root)
	text := textOf(root)
	for _, want := range []string{"1 purged", "1 purged, from at the gate to purged", "below .35", "back at .50", "below .15"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q: %s", want, text)
		}
	}
	at := ""
	for _, n := range all(root, "a") {
		if href, _ := attr(n, "href"); strings.Contains(href, "agent.memory.purged") {
			at = href
		}
	}
	if found := textOf(s.tree(s.get(at), http.StatusOK)); at == "" || !strings.Contains(found, "agent.memory.purged") {
		t.Errorf("the box leads to %q: %.400s", at, found)
	}
	if text := textOf(s.tree(s.get("/memory?subtree=true&namespace="+strings.Split(operationtest.Here, "/")[0]), http.StatusOK)); !strings.Contains(text, "1 purged") || strings.Contains(text, "below .35") {
		t.Errorf("several namespaces: %s", text)
	}
}

// TestMemory_AsksWhatTheGateWouldDecideNow, not what it decided the last time.
func TestMemory_AsksWhatTheGateWouldDecideNow(t *testing.T) {
	s := newSite(t)
	id := s.Taught(core.OutcomeSuccess, 8)
	_, err := s.Do(core.Operator("tester"), "gate_run", &operation.GateRun{ID: id}) // which retains it: no graph has it
	s.Must(err)
	session := s.Session()
	for range 12 {
		f := s.Feedback(id, session)
		f.ToolOutcomes = []core.ToolOutcome{{MemoryID: id, Session: f.Session, Turn: f.Turn, Tool: "calendar", OK: true, Ref: fmt.Sprint("again-", f.Turn)}}
		_, err := s.Host.Memories.Feedback(s.Ctx, f)
		s.Must(err)
	}
	graph := s.Graph(id)
	_, err = s.Host.Evidence.RecordDAG(s.Ctx, &graph)
	s.Must(err)
	text := textOf(s.tree(s.get("/memory/"+id+"/gate"), http.StatusOK))
	if !strings.Contains(text, "would decide: promote") {
		t.Errorf("the question is %s", text)
	}
}

// TestApprovals_ByForms approves one and, after it was asked, rejects another.
func TestApprovals_ByForms(t *testing.T) {
	s := newSite(t)
	approved, rejected := s.Pending(operationtest.Here), s.Pending(operationtest.Here)
	if a := s.post("/approvals/"+approved+"/approve", url.Values{}); a.StatusCode != http.StatusSeeOther || !strings.HasPrefix(a.Header.Get("Location"), "/memory/") {
		t.Errorf("%d %s %.300s", a.StatusCode, a.Header.Get("Location"), a.body)
	}
	ask := s.get("/approvals/" + rejected + "/reject")
	s.wellMade("the question", ask, s.tree(ask, http.StatusOK))
	if a := s.post("/approvals/"+rejected+"/reject", url.Values{}); a.StatusCode != http.StatusSeeOther {
		t.Errorf("%d %.300s", a.StatusCode, a.body)
	}
	if text := textOf(s.tree(s.get("/approvals"), http.StatusOK)); !strings.Contains(text, "Nothing waits") {
		t.Error(text)
	}
	if a := s.get("/approvals/" + rejected + "/reject"); a.StatusCode != http.StatusNotFound {
		t.Errorf("again: %d", a.StatusCode)
	}
}

// TestJobs_ByForms queues one and cancels it.
func TestJobs_ByForms(t *testing.T) {
	s := newSite(t)
	a := s.post("/jobs", url.Values{"type": {"reembed"}, "namespace": {operationtest.Here}})
	at := a.Header.Get("Location")
	if a.StatusCode != http.StatusSeeOther || !strings.HasPrefix(at, "/jobs/") {
		t.Fatalf("%d %.300s", a.StatusCode, a.body)
	}
	if a := s.post(at+"/cancel", url.Values{}); a.StatusCode != http.StatusSeeOther {
		t.Errorf("%d %.300s", a.StatusCode, a.body)
	}
	out, err := s.Do(core.Operator("tester"), "job_get", &operation.JobGet{ID: strings.TrimPrefix(at, "/jobs/")})
	s.Must(err)
	if got := out.(*job.Job).Status; got != job.StatusCancelled {
		t.Error(got)
	}
	if a := s.post("/jobs", url.Values{"type": {"workflow"}}); a.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("%d", a.StatusCode)
	}
}

// TestMemory_CountsTheMovesOfOneNamespace only: its stream has them, and a page of several
// namespaces has none.
func TestMemory_CountsTheMovesOfOneNamespace(t *testing.T) {
	s := newSite(t)
	s.Promoted()
	here := url.QueryEscape(operationtest.Here)
	for target, want := range map[string]bool{
		"/memory?namespace=" + here: true, "/memory?namespace=" + here + "&q=harbour": true,
		"/memory": false, "/memory?namespace=" + here + "&subtree=1": false, "/memory?namespace=&subtree=1": false, "/memory?subtree=1": false,
		"/memory?namespace=no/such": false, "/memory?namespace=no/such&subtree=1": false,
	} {
		if text := textOf(s.tree(s.get(target), http.StatusOK)); strings.Contains(text, "moves of the last 24 hours") != want {
			t.Errorf("%s: want moves %v: %.400s", target, want, text)
		}
	}
}
