package web

import (
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
		Namespace: operationtest.Here, Title: title, Content: content, Tags: []string{"<b>tag</b>"},
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

// TestMemory_ShowsWhyItIsThere: the terms of its score, its life, and JSON for a program.
func TestMemory_ShowsWhyItIsThere(t *testing.T) {
	s := newSite(t)
	id := s.Taught(core.OutcomeSuccess, 4)
	text := textOf(s.tree(s.get("/memory/"+id), http.StatusOK))
	for _, want := range []string{"utility", "hit_rate", "Lineage", "score of the last decision"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if a := s.get("/memory/"+id, "Accept", "application/json"); !strings.Contains(a.body, `"terms"`) {
		t.Errorf("%.400s", a.body)
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
