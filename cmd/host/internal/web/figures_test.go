//go:build bench

package web

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/sdk"
)

// large fills a site with 10,000 runs over a day and 100,000 memories.
func (s *site) large() {
	s.T.Helper()
	clock := s.Config.Clock.(*coretest.Clock)
	for i := range 10_000 {
		if i%400 == 0 {
			clock.Advance(time.Hour)
		}
		s.end(s.begin(fmt.Sprint("workflow-", i%20)), core.StatusPassed)
	}
	for i := range 100 {
		in := &operation.MemoryObserveAll{}
		for j := range 1000 {
			in.Items = append(in.Items, &core.ObserveRequest{
				Namespace: fmt.Sprint(operationtest.Here, "/", i%10), Content: fmt.Sprintf("Ferry %d leaves pier %d at %d o'clock.", i*1000+j, j, j%24),
			})
		}
		_, err := s.Do(core.Operator("bench"), "memory_observe_all", in)
		s.Must(err)
	}
	s.signIn() // a session lasts for half a day
}

// rows makes as many decisions and jobs as a page lists, and more.
func (s *site) rows() {
	s.T.Helper()
	nobody := core.Caller{Subject: "nobody", Namespaces: []string{"**"}, Scopes: core.Scopes()}
	for i := range 120 {
		_, err := s.Host.Jobs.Enqueue(s.Ctx, &job.Request{
			UserID: fmt.Sprint("user-", i%7), Namespace: fmt.Sprint(operationtest.Here, "/", i), Type: job.Workflow, IdempotencyKey: fmt.Sprint("job-", i), Payload: []byte(`{"operation":"run_start"}`),
		})
		s.Must(err)
		if _, err := s.Do(nobody, "memory_list", &operation.MemoryList{Namespace: operationtest.Here}); sdk.CodeOf(err) != sdk.Denied { // a refusal is recorded
			s.T.Fatal(err)
		}
	}
}

// TestFigures measures pages of a store with 10,000 runs and 100,000 memories, most of them
// with 50 rows, and their HTML.
func TestFigures(t *testing.T) {
	w := operationtest.New(t)
	w.File("data/policies/access/nobody.yaml", `rule: {match: [{condition: 'subject == "nobody"', output: '{"allow": false, "code": "no", "reason": "nobody may"}'}]}`)
	w.Reopen()
	s := siteOf(w)
	s.large()
	_, ended := s.demo()
	memory := s.Memory()
	s.rows()
	s.Reopen() // decisions are recorded in the background
	s = siteOf(w)
	names := []string{"of 50 runs", "of a run", "of the overview", "of the overview, 30 days", "of 50 memories", "of a memory", "of a search by id", "of 50 decisions", "of 50 jobs", "of settings"}
	targets := []string{
		"/runs", "/runs/" + ended, "/", "/?period=30d", "/memory?subtree=true&namespace=" + url.QueryEscape(operationtest.Here), memoryURL(memory), "/search?q=" + ended,
		"/decisions", "/jobs", "/settings",
	}
	for _, target := range []string{"/runs", "/decisions", "/jobs"} {
		if rows := len(all(s.tree(s.get(target), http.StatusOK), "tr")) - 1; rows != maxRows {
			t.Fatalf("%s has %d rows", target, rows)
		}
	}
	var pages []func()
	largest := 0
	for _, target := range targets {
		pages = append(pages, func() {
			a := s.get(target)
			if a.StatusCode != http.StatusOK {
				t.Fatal(target, a.Status)
			}
			largest = max(largest, len(a.body))
		})
	}
	for i, figure := range coretest.Interleave(21, 5, pages...) {
		coretest.Figure{Name: "web page " + names[i] + ", p50", Value: figure.Micros(0.5), Unit: "µs", Target: 10_000}.Print(os.Stdout)
	}
	coretest.Figure{Name: "web page, the largest", Value: float64(largest) / 1024, Unit: "KiB", Target: 150}.Print(os.Stdout)
}

// TestFiguresOfOpenPages measures how much a run slows down while 100 pages of 10 subjects
// follow it, as their script does: by events, and by the page's part again. An attempt of
// the run takes 50 ms of a model's time besides.
func TestFiguresOfOpenPages(t *testing.T) {
	s := newSite(t)
	server := httptest.NewServer(s.handler)
	defer server.Close()
	var sessions []*http.Cookie
	for i := range 10 {
		token, err := s.Host.Access.Issue(s.Ctx, access.Request{Subject: fmt.Sprint("subject-", i), Scopes: core.Scopes(), Namespaces: []string{"**"}})
		s.Must(err)
		login, err := s.Host.Access.OpenSession(s.Ctx, string(token.Secret))
		s.Must(err)
		sessions = append(sessions, &http.Cookie{Name: s.session.Name, Value: string(login.Secret)})
	}
	const rounds, attempts = 5, 20
	var quiet, watched coretest.Samples
	measure := func(r *core.Run) time.Duration {
		began := time.Now()
		for i := range attempts {
			time.Sleep(50 * time.Millisecond)
			s.attempt(r, 1, core.Attempt{Iteration: i + 1, Role: sdk.RoleGenerate, Judged: true, Score: .5, Output: []byte(`"an output"`)})
		}
		return time.Since(began)
	}
	for range rounds {
		alone := s.begin("alone")
		quiet = append(quiet, measure(alone))
		s.end(alone, core.StatusExhausted)
		r := s.begin("followed")
		done := s.follow(server.URL, r.ID, sessions)
		watched = append(watched, measure(r))
		s.end(r, core.StatusExhausted)
		done()
	}
	slices.Sort(quiet)
	slices.Sort(watched)
	coretest.Figure{
		Name: "a run while 100 pages of 10 subjects follow it, over one that nobody follows", Value: float64(watched[rounds/2]) / float64(quiet[rounds/2]), Unit: "×", Target: 1.05,
		Note: fmt.Sprintf("%d attempts with 50 ms of a model each", attempts),
	}.Print(os.Stdout)
}

// follow opens 100 pages of a run. They are open when it returns, and done waits for their end.
func (s *site) follow(at, id string, sessions []*http.Cookie) (done func()) {
	s.T.Helper()
	ctx, stop := context.WithCancel(s.T.Context())
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 200}}
	get := func(path string, session *http.Cookie) *http.Response {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, at+path, nil)
		s.Must(err)
		r.Host = "example.com"
		r.AddCookie(session)
		answer, err := client.Do(r)
		if err != nil {
			return nil // it was stopped
		}
		if answer.StatusCode != http.StatusOK {
			s.T.Errorf("%s: %s", path, answer.Status)
		}
		return answer
	}
	var open sync.WaitGroup
	for i := range 100 {
		session := sessions[i%len(sessions)]
		events := get("/v1/runs/"+id+"/events", session)
		open.Go(func() {
			defer events.Body.Close()
			var last time.Time
			for lines := bufio.NewScanner(events.Body); lines.Scan(); {
				if !strings.HasPrefix(lines.Text(), "event: run.iteration") || time.Since(last) < 400*time.Millisecond {
					continue
				}
				last = time.Now()
				if part := get("/runs/"+id+"?part=run-body", session); part != nil {
					_, _ = io.Copy(io.Discard, part.Body)
					_ = part.Body.Close()
				}
			}
		})
	}
	return func() {
		stop()
		open.Wait()
		client.CloseIdleConnections()
	}
}
