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

// search is what the page of a search says.
func (s *site) search(query string) string {
	s.T.Helper()
	at := "/search?" + url.Values{"q": {query}}.Encode()
	a := s.get(at)
	root := s.tree(a, http.StatusOK)
	s.wellMade(at, a, root)
	var b strings.Builder
	for _, link := range all(root, "a") {
		if to, _ := attr(link, "href"); link.Parent.Data == "div" {
			b.WriteString(to + "\n")
		}
	}
	return b.String()
}

// TestSearch_FindsEverythingThatHasAPage by its id, by the beginning of it as pages show it,
// and by words; for who may see it.
func TestSearch_FindsEverythingThatHasAPage(t *testing.T) {
	w := operationtest.New(t)
	decision := w.Decision() // which opens the host again
	s := siteOf(w)
	r := s.begin("sort-mail")
	s.end(r, core.StatusPassed)
	known, queued := s.Promoted(), s.Job(operationtest.Here)
	noted := s.observe("Ferries", hostile[0]+" leave the harbour at dawn")
	decided, err := s.Do(core.Operator("tester"), "decision_get", &operation.DecisionGet{ID: decision})
	s.Must(err)
	for name, c := range map[string]struct{ id, words, want string }{
		"run": {r.ID, "SORT mail", runURL(r.ID)}, "memory": {noted, "ferries at dawn", memoryURL(noted)},
		"knowledge": {known.ID, known.Title, knowledgeURL(known.ID)}, "decision": {decision, string(decided.(*operation.Decision).Point), decisionURL(decision)},
		"job": {queued, "reembed queued", jobURL(queued)},
	} {
		if got := s.search(c.id); !strings.Contains(got, c.want+"\n") {
			t.Errorf("%s by its id: %q", name, got)
		}
		if got := s.search(short(c.id)); !strings.Contains(got, c.want+"\n") && !strings.Contains(got, strings.TrimSuffix(short(c.id), "…")) {
			t.Errorf("%s by the beginning of its id: %q", name, got)
		}
		got := s.search(c.words)
		if !strings.Contains(got, c.want+"\n") {
			t.Errorf("%s by words: %.400q", name, got)
		}
	}
	for _, nothing := range append([]string{"", " ", strings.Repeat("long ", 1000), "nothing-has-this"}, hostile...) {
		s.search(nothing)
	}
	if a := s.get("/search?format=json&q=" + r.ID); !strings.Contains(a.body, `"sections"`) || !strings.Contains(a.body, r.ID) {
		t.Errorf("%.300s", a.body)
	}
	s.become(core.ScopeMemoryRead)
	if got := s.search("mail"); strings.Contains(got, "/runs/") {
		t.Errorf("who may not see runs finds %q", got)
	}
	if got := s.search("ferries at dawn"); !strings.Contains(got, noted) {
		t.Errorf("who reaches one namespace finds %q", got)
	}
	judged, err := s.Host.Jobs.Enqueue(s.Ctx, &job.Request{UserID: job.SystemUser, Namespace: operationtest.Here, Type: job.Workflow, IdempotencyKey: "judged", Payload: []byte(`{"operation":"evaluate"}`)})
	s.Must(err)
	for scope, own := range map[core.Scope]string{core.ScopeRun: queued, core.ScopeEvaluate: judged.ID, core.ScopeMemoryWrite: s.ReflectionJob(operationtest.Here)} {
		s.become(scope)
		if got := s.search("queued"); !strings.Contains(got, jobURL(own)) {
			t.Errorf("with %s its job isn't found: %q", scope, got)
		}
		if menu := s.get("/search").body; !strings.Contains(menu, `<a href="/jobs"`) {
			t.Errorf("with %s the menu has no jobs", scope)
		}
	}
}
