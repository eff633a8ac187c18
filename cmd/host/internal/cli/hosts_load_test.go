//go:build linux

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/store/postgres/postgrestest"
)

// The load of make scale: how long it lasts, how many clients observe and recall, how long
// they pause between two calls, and how many iterations each run has.
const (
	loadTime    = 10 * time.Minute
	loadClients = 4
	loadPause   = 100 * time.Millisecond
	loadPasses  = 6
)

// load is what clients of several servers were told, and whether it was true.
type load struct {
	t     *testing.T
	url   string
	token string
	http  http.Client
	ctx   context.Context // of the calls: it ends with the load
	calls sync.WaitGroup

	mu sync.Mutex
	// observed are the ids of acknowledged memories by their titles, and queued the jobs.
	observed map[string]string
	queued   []operation.JobQueued
	// again counts calls that were made again, by the answer before.
	again map[string]int
	// unknown counts runs of which the server that was asked was killed before it could answer.
	unknown int
	// slowest is the longest time that a call took with its repetitions.
	slowest time.Duration
}

// TestHosts_LoadBehindABalancer: three servers take a load for 10 minutes while one is killed
// each minute and replaced, one is suspended and continues, and the database fails over. What
// was acknowledged is there once, also what jobs ran, and each recall finds what was
// acknowledged before it began. It is a part of make scale only: the other tests kill and stop
// servers too.
func TestHosts_LoadBehindABalancer(t *testing.T) {
	if !coretest.Stress() {
		return
	}
	primary := postgrestest.Start(t)
	standby := primary.Standby(t)
	primary.AwaitSync(t)
	w := newSharedWorldOn(t, primary.Either(standby), "reflectory", 3)
	b := newBalancer(t)
	for _, h := range w.hosts {
		b.add(h.at.Listen)
	}
	l := w.newLoad(b)
	ctx, stop := context.WithCancel(t.Context())
	for n := range loadClients {
		l.calls.Go(func() { l.observe(ctx, n) })
	}
	l.calls.Go(func() { l.run(ctx, w.tally) })
	w.harm(b, primary, standby)
	stop()
	l.calls.Wait()
	l.whole(w.hosts[len(w.hosts)-1])
	w.hosts[len(w.hosts)-1].sound()
	w.end()
	t.Logf("%d memories, %d jobs; made again: %v; the slowest call with its repetitions took %s", len(l.observed), len(l.queued), l.again, l.slowest.Round(time.Millisecond))
}

// harm kills and suspends servers for as long as the load lasts.
func (w *sharedWorld) harm(b *balancer, primary, standby *postgrestest.Cluster) {
	const minute = time.Minute
	tick := time.NewTicker(minute)
	defer tick.Stop()
	for n := range int(loadTime / minute) {
		<-tick.C
		victim := w.hosts[len(w.hosts)-3] // the oldest of three
		switch {
		case n == 5:
			if err := errors.Join(primary.Stop("immediate"), standby.Promote()); err != nil {
				w.t.Error(err)
			}
		case n%3 == 2:
			other := w.hosts[len(w.hosts)-2]
			other.signal(syscall.SIGSTOP)
			<-time.After(minute / 3)
			other.signal(syscall.SIGCONT)
		}
		victim.signal(syscall.SIGKILL)
		_ = victim.cmd.Wait()
		b.add(w.add().at.Listen)
		w.t.Logf("minute %d: %d servers were started", n+1, len(w.hosts))
	}
}

// newLoad has a token that all servers know.
func (w *sharedWorld) newLoad(b *balancer) *load {
	w.t.Helper()
	var made operation.NewToken
	if code := w.hosts[0].json(&made, "token", "new", "load", "--scope", "memory:read", "--scope", "memory:write", "--scope", "run", "--namespace", "**"); code != exitPassed {
		w.t.Fatalf("token new: exit %d", code)
	}
	return &load{
		t: w.t, url: "http://" + b.addr, token: string(made.Secret), observed: map[string]string{}, again: map[string]int{},
		http: http.Client{Timeout: 15 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}, ctx: w.t.Context(),
	}
}

// outcomeUnknown is the answer to a call whose server was killed after it had written, and
// before it could note the outcome: the caller has to look.
const outcomeUnknown = "outcome_unknown"

// call makes a call until it is answered, as a client does that mustn't lose it: again with the
// same key after any fault that passes.
func (l *load) call(method, path, key string, in, out any) bool {
	return l.answer(method, path, key, in, out) == ""
}

// answer is call that returns the reason of a refusal: "" is none, and any other than
// [outcomeUnknown] fails the test.
func (l *load) answer(method, path, key string, in, out any) (reason string) {
	began := time.Now()
	for {
		status, answer, err := l.once(method, path, key, in)
		if err == nil && status < 300 {
			err = json.Unmarshal(answer, out)
			if err != nil {
				l.t.Errorf("%s %s: %s: %v", method, path, answer, err)
			}
			l.mu.Lock()
			l.slowest = max(l.slowest, time.Since(began))
			l.mu.Unlock()
			return ""
		}
		why := "no answer"
		var problem struct{ Code string }
		if err == nil {
			_ = json.Unmarshal(answer, &problem)
			why = fmt.Sprint(status, " ", problem.Code)
		}
		if problem.Code == outcomeUnknown {
			l.mu.Lock()
			l.again[why]++
			l.mu.Unlock()
			return problem.Code
		}
		if err == nil && status < 500 && status != http.StatusTooManyRequests && status != http.StatusConflict || time.Since(began) > patience {
			l.t.Errorf("%s %s: %s after %s: %s", method, path, why, time.Since(began), answer)
			return why
		}
		l.mu.Lock()
		l.again[why]++
		l.mu.Unlock()
		<-time.After(loadPause)
	}
}

func (l *load) once(method, path, key string, in any) (status int, answer []byte, err error) {
	var body io.Reader
	if in != nil {
		body = bytes.NewReader(jsontext.MustEncode(in))
	}
	r, err := http.NewRequestWithContext(l.ctx, method, l.url+path, body)
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+l.token)
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	got, err := l.http.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer got.Body.Close()
	answer, err = io.ReadAll(got.Body)
	return got.StatusCode, answer, err
}

// observe observes memories, each of which is then recalled, on any of the servers.
func (l *load) observe(ctx context.Context, client int) {
	namespace := fmt.Sprintf("load/%d", client)
	for n := 0; ctx.Err() == nil; n++ {
		title := fmt.Sprintf("word%dx%d", client, n)
		var m core.Memory
		reason := l.answer("POST", "/v1/memories", title, map[string]any{"namespace": namespace, "title": title, "content": "This is " + title}, &m)
		if reason != "" && reason != outcomeUnknown {
			return
		}
		var found struct{ Memories []struct{ ID, Title string } }
		if !l.call("POST", "/v1/recall", "", map[string]any{"namespace": namespace, "query": title}, &found) {
			return
		}
		if len(found.Memories) == 0 || found.Memories[0].Title != title {
			l.t.Errorf("%s was written (%s), and a recall that began later finds %v", title, reason, found.Memories)
			return
		}
		if reason != "" {
			m.ID = found.Memories[0].ID
		}
		l.mu.Lock()
		l.observed[title] = m.ID
		l.mu.Unlock()
		<-time.After(loadPause)
	}
}

// run makes jobs run workflows, one after the other.
func (l *load) run(ctx context.Context, tally string) {
	for n := 0; ctx.Err() == nil; n++ {
		var queued operation.JobQueued
		in := operation.RunStart{Workflow: fmt.Sprintf(tallyWorkflow, tally, loadPasses), Namespace: "load/runs"}
		switch l.answer("POST", "/v1/runs", fmt.Sprint("run-", n), in, &queued) {
		case "":
		case outcomeUnknown:
			l.unknown++
			continue
		default:
			return
		}
		l.queued = append(l.queued, queued)
		if n%3 == 0 { // the others wait together
			l.ended(queued.JobID)
		}
	}
}

// ended waits for a job, and returns it.
func (l *load) ended(id string) (j job.Job) {
	for began := time.Now(); time.Since(began) < patience; <-time.After(loadPause) {
		if !l.call("GET", "/v1/jobs/"+id, "", nil, &j) || j.Status.Terminal() {
			return j
		}
	}
	l.t.Errorf("job %s is %s after %s", id, j.Status, patience)
	return j
}

// whole checks that everything that was acknowledged is there once.
func (l *load) whole(h *sharedHost) {
	l.t.Helper()
	runs := map[string]bool{}
	for _, q := range l.queued {
		j := l.ended(q.JobID)
		var ran operation.RunJob
		if err := json.Unmarshal(j.Result, &ran); err != nil || j.Status != job.StatusCompleted || ran.Status != core.StatusPassed || runs[ran.RunID] {
			l.t.Errorf("job %s is %s (%s: %s), its run %s is %s", q.JobID, j.Status, j.Reason, j.Message, ran.RunID, ran.Status)
			continue
		}
		runs[ran.RunID] = true
		l.oneAttemptEach(h, ran.RunID)
	}
	others := 0
	for r := range itemsOf[operation.RunSummary](l, "/v1/runs?namespace=load/runs") {
		if !runs[r.RunID] {
			others++
		}
	}
	if others > l.unknown {
		l.t.Errorf("%d runs are nobody's, and %d calls had no outcome", others, l.unknown)
	}
	found := map[string]string{}
	for client := range loadClients {
		for m := range itemsOf[core.Memory](l, fmt.Sprintf("/v1/memories?namespace=load/%d", client)) {
			if found[m.Title] != "" {
				l.t.Errorf("%s is there twice: %s and %s", m.Title, found[m.Title], m.ID)
			}
			found[m.Title] = m.ID
		}
	}
	for title, id := range l.observed {
		if found[title] != id {
			l.t.Errorf("%s was acknowledged as %s, and %q is there", title, id, found[title])
		}
	}
	if len(found) != len(l.observed) || len(found) == 0 || len(runs) == 0 {
		l.t.Errorf("%d memories are there, %d were acknowledged; %d runs passed", len(found), len(l.observed), len(runs))
	}
}

// oneAttemptEach checks that a run has each of its attempts once.
func (l *load) oneAttemptEach(h *sharedHost, id string) {
	run, found := h.shownRun(id)
	if !found || len(run.Loops) != 1 || len(run.Loops[0].Attempts) != loadPasses {
		l.t.Errorf("run %s: %+v", id, run)
		return
	}
	for i, a := range run.Loops[0].Attempts {
		if a.Iteration != i+1 || !a.Judged {
			l.t.Errorf("attempt %d of run %s is %+v", i+1, id, a)
		}
	}
}

// itemsOf are the items of a list of pages.
func itemsOf[T any](l *load, path string) func(yield func(T) bool) {
	return func(yield func(T) bool) {
		for token := ""; ; {
			var page operation.Page[T]
			at := path + "&limit=200"
			if token != "" {
				at += "&page_token=" + url.QueryEscape(token)
			}
			if !l.call("GET", at, "", nil, &page) {
				return
			}
			for _, item := range page.Items {
				if !yield(item) {
					return
				}
			}
			if token = page.NextPageToken; token == "" {
				return
			}
		}
	}
}
