package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/memory"
)

// housekeep writes memories, with each of which a pass has to do something, and plans the
// pass.
func (s *site) housekeep() (plan string) {
	s.T.Helper()
	for _, text := range []string{
		"The invoice was sent yesterday, and the answer is due in two weeks.",
		"Retry the payment request after 30 s.", "Retry the payment request after thirty seconds.",
		"JWT tokens of the mail service expire after 1 hour.", "JWT tokens of the mail service expire after 24 hours.",
		"Ada likes long meetings on Mondays.", "Ada does not like long meetings on Mondays.",
		hostile[0] + " and " + hostile[6] + " were seen yesterday, " + strings.Repeat("& ", 3000),
	} {
		s.clock().Advance(time.Minute)
		s.remember(text, .5)
	}
	s.remember("The coffee machine on floor two is blue.", .2)
	s.clock().Advance(time.Minute)
	s.remember("The coffee machine on floor two is green.", .2)
	// Two that say the same, and have more tags together than one may have.
	for i := range 2 {
		var tags []string
		for j := range 30 {
			tags = append(tags, fmt.Sprintf("tag-%d-%d", i, j))
		}
		_, err := s.Host.Memories.Observe(s.Ctx, &core.ObserveRequest{Namespace: operationtest.Here, Content: "The lighthouse keeper speaks Danish.", Attributes: core.Attributes{Tags: tags}})
		s.Must(err)
	}
	d, err := s.Host.Memories.Dreams.Plan(s.Ctx, memory.DreamRequest{Namespace: operationtest.Here})
	s.Must(err)
	return d.ID
}

func (s *site) remember(text string, importance float64) string {
	s.T.Helper()
	m, err := s.Host.Memories.Observe(s.Ctx, &core.ObserveRequest{Namespace: operationtest.Here, Content: text, Attributes: core.Attributes{Importance: &importance}})
	s.Must(err)
	return m.ID
}

// TestDream_ByForms plans a pass, applies it, takes one step back and then all, as somebody
// without a script does.
func TestDream_ByForms(t *testing.T) {
	s := newSite(t)
	s.housekeep()
	a := s.post("/dream", url.Values{"namespace": {operationtest.Here}, "mode": {"always"}})
	if a.StatusCode != http.StatusSeeOther || !strings.HasPrefix(a.Header.Get("Location"), "/jobs/") {
		t.Fatalf("%d %.300s", a.StatusCode, a.body)
	}
	s.work()
	root := s.tree(s.get(a.Header.Get("Location")), http.StatusOK)
	at := ""
	for _, n := range all(root, "a") {
		if href, _ := attr(n, "href"); strings.HasPrefix(href, "/dream/") {
			at = href
		}
	}
	if at == "" {
		t.Fatalf("the job doesn't lead to its plan: %.2000s", textOf(root))
	}
	text := textOf(s.tree(s.get(at), http.StatusOK))
	for _, want := range []string{"planned", "What it would change", "Write out dates", "Merge", "Not merged", "They differ in “", "Left to people", "number", "Retry the payment request"} {
		if !strings.Contains(text, want) {
			t.Errorf("the plan lacks %q: %s", want, text)
		}
	}
	if a := s.post(at+"/apply", nil); a.StatusCode != http.StatusSeeOther || !strings.HasPrefix(a.Header.Get("Location"), at+"?job=") {
		t.Fatalf("apply: %d %s %.300s", a.StatusCode, a.Header.Get("Location"), a.body)
	}
	s.work()
	text = textOf(s.tree(s.get(at), http.StatusOK))
	for _, want := range []string{"completed", "What it changed", "Undo step 1", "Undo all"} {
		if !strings.Contains(text, want) {
			t.Errorf("the pass lacks %q", want)
		}
	}
	if a := s.post(at+"/undo", url.Values{"step": {"1"}}); a.Header.Get("Location") != at+"#step-1" {
		t.Errorf("undo: %d %s %.300s", a.StatusCode, a.Header.Get("Location"), a.body)
	}
	if a := s.post(at+"/undo", url.Values{"step": {"1"}}); a.StatusCode != http.StatusConflict || !strings.Contains(a.body, "already_undone") {
		t.Errorf("undo again: %d %.300s", a.StatusCode, a.body)
	}
	ask := s.get(at + "/undo")
	s.wellMade("the question", ask, s.tree(ask, http.StatusOK))
	undone := s.post(at+"/undo", url.Values{})
	text = textOf(s.tree(s.get(undone.Header.Get("Location")), http.StatusOK))
	if !strings.Contains(text, "undone.") || strings.Contains(text, "Undo step") {
		t.Errorf("all: %.1500s", text)
	}
}

// TestDream_HostileTextIsText on every page of housekeeping, however long it is; and every link
// on them answers.
func TestDream_HostileTextIsText(t *testing.T) {
	s := newSite(t)
	plan := s.housekeep()
	text := textOf(s.tree(s.get("/dream/"+plan), http.StatusOK))
	if !strings.Contains(text, hostile[0]) || !strings.Contains(text, `a\u{202E}b`) {
		t.Errorf("the text isn't on the page: %.3000s", text)
	}
	_, err := s.Host.Memories.Dreams.Apply(s.Ctx, plan, nil)
	s.Must(err)
	s.walk("/dream?namespace="+operationtest.Here, "/dream/"+plan, "/dream/conflicts?namespace="+operationtest.Here)
	if a := s.get("/dream/none"); a.StatusCode != http.StatusNotFound {
		t.Errorf("%d", a.StatusCode)
	}
}

// TestDream_PagesOfALargePlan: a plan of hundreds of steps is shown in pages, and a step's
// address leads to its page.
func TestDream_PagesOfALargePlan(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	s := newSite(t)
	for i := range 45 {
		var gifts strings.Builder // others than any other visitor's: what is alike is compared
		for j := range 240 {
			fmt.Fprintf(&gifts, "present%dx%d, ", i, j)
		}
		s.remember(fmt.Sprintf("Visitor %d came yesterday with %s", i, gifts.String()), .5)
	}
	d, err := s.Host.Memories.Dreams.Plan(s.Ctx, memory.DreamRequest{Namespace: operationtest.Here})
	s.Must(err)
	a := s.get(strings.Split(dreamStepURL(d.ID, 45), "#")[0])
	s.wellMade("the last page", a, s.tree(a, http.StatusOK))
	if !strings.Contains(a.body, `id="step-45"`) || strings.Contains(a.body, `id="step-40"`) || !strings.Contains(a.body, "Earlier steps") {
		t.Errorf("%.300s", a.body)
	}
}

// TestMemory_ShowsItsDreams: a memory's life names the steps of passes, with their pages.
func TestMemory_ShowsItsDreams(t *testing.T) {
	s := newSite(t)
	id := s.remember("The invoice was sent yesterday.", .5)
	d, err := s.Host.Memories.Dreams.Plan(s.Ctx, memory.DreamRequest{Namespace: operationtest.Here})
	s.Must(err)
	_, err = s.Host.Memories.Dreams.Apply(s.Ctx, d.ID, nil)
	s.Must(err)
	if a := s.get("/memory/" + id); !strings.Contains(a.body, "/dream/"+d.ID+"#step-1") || !strings.Contains(a.body, "dates written out") {
		t.Errorf("%.3000s", a.body)
	}
}

// work does the jobs that wait.
func (s *site) work() {
	s.T.Helper()
	pool, err := s.Host.Workers.NewPool(operation.Handlers(s.Host))
	s.Must(err)
	_, err = pool.RunUntilIdle(s.Ctx)
	s.Must(err)
}

// clock is the time of the site, which stands still.
func (s *site) clock() *coretest.Clock { return s.Config.Clock.(*coretest.Clock) }
