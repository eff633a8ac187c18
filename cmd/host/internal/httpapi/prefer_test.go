package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// TestPreferences_AreRead as RFC 7240 writes them. What isn't understood is ignored.
func TestPreferences_AreRead(t *testing.T) {
	for header, want := range map[string]preferences{
		"":                           {},
		"wait=10":                    {wait: 10},
		"WAIT = 10":                  {wait: 10},
		`wait="10"`:                  {wait: 10},
		"wait=10; foo=bar":           {wait: 10},
		"wait=600":                   {wait: operation.MaxWait},
		"wait=99999999999999999999":  {},
		"wait=-1":                    {},
		"wait=1.5":                   {},
		"wait":                       {},
		"wait=5, wait=9":             {wait: 5},
		"respond-async":              {async: true},
		"respond-async, wait=3":      {wait: 3, async: true},
		"return=minimal, wait=3":     {wait: 3},
		"handling=lenient;wait=3":    {},
		"wait=0":                     {},
		"waiting=3, respond-asynchr": {},
	} {
		if got := preferencesOf(http.Header{"Prefer": {header}}); got != want {
			t.Errorf("%q: %+v, want %+v", header, got, want)
		}
	}
	if got := preferencesOf(http.Header{"Prefer": {"respond-async", "wait=4"}}); got != (preferences{wait: 4, async: true}) {
		t.Errorf("two headers: %+v", got)
	}
}

// later ends the next job after a while.
func (s *site) later(ctx context.Context, after time.Duration, end func(l job.Lease)) {
	go func() {
		time.Sleep(after)
		c, err := s.Host.Jobs.Claim(ctx, "h", job.Types())
		s.Must(err)
		end(c.Held)
	}()
}

// TestPrefer_WaitsForTheJob: the answer is the operation's result, or its error, if the job ends in
// time, and otherwise the job.
func TestPrefer_WaitsForTheJob(t *testing.T) {
	for name, tt := range map[string]struct {
		headers []string
		after   time.Duration
		end     func(s *site, l job.Lease)
		status  int
		applied string
		code    string // of the problem
		took    time.Duration
	}{
		"no preference": {status: 202},
		"ends in time": {headers: []string{"Prefer", "wait=10"}, after: 3 * time.Second, end: (*site).complete,
			status: 200, applied: "wait=10", took: 3 * time.Second},
		"ends too late":  {headers: []string{"Prefer", "wait=2"}, status: 202, applied: "wait=2", took: 2 * time.Second},
		"waits a minute": {headers: []string{"Prefer", "wait=3600"}, status: 202, applied: "wait=60", took: time.Minute},
		"fails": {headers: []string{"Prefer", "wait=10"}, after: time.Second, end: func(s *site, l job.Lease) {
			s.Must(s.Host.Jobs.Fail(s.T.Context(), l, &job.Outcome{Reason: "plugin_gone", Failure: job.NewFailure(sdk.Errorf(sdk.Denied, "plugin_gone", "it is gone"))}))
		}, status: 403, applied: "wait=10", code: "plugin_gone", took: time.Second},
		"is poisoned": {headers: []string{"Prefer", "wait=10"}, after: time.Second, end: func(s *site, l job.Lease) {
			s.Must(s.Host.Jobs.Fail(s.T.Context(), l, &job.Outcome{Reason: job.Poisoned}))
		}, status: 500, applied: "wait=10", code: job.Poisoned, took: time.Second},
		"is cancelled": {headers: []string{"Prefer", "wait=10"}, after: time.Second, end: func(s *site, l job.Lease) {
			s.Must(s.Host.Jobs.Cancelled(s.T.Context(), l, &job.Outcome{}))
		}, status: 409, applied: "wait=10", code: job.CancelledByRequest, took: time.Second},
		"no number": {headers: []string{"Prefer", "wait=soon"}, status: 202},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t)
				if tt.end != nil {
					s.later(t.Context(), tt.after, func(l job.Lease) { tt.end(s, l) })
				}
				began := time.Now()
				a := s.send("here", "POST", "/v1/evaluate", string(jsontext.MustEncode(operation.Evaluate{
					Evaluator: "plugin: reflectory/llm-eval", Namespace: operationtest.Here, Output: json.RawMessage(`1`),
				})), tt.headers...)
				if took := time.Since(began); a.StatusCode != tt.status || a.Header.Get("Preference-Applied") != tt.applied || took != tt.took || a.Header.Get("Location") == "" {
					t.Errorf("%d %v after %s: %s", a.StatusCode, a.Header, took, a.body)
				}
				switch {
				case tt.status == 200 && !strings.Contains(a.body, `"score":0.5`):
					t.Errorf("%s", a.body)
				case tt.status > 300 && a.problem(t).Code != tt.code:
					t.Errorf("%s", a.body)
				}
			})
		})
	}
}

func (s *site) complete(l job.Lease) {
	s.Must(s.Host.Jobs.Complete(s.T.Context(), l, &job.Outcome{Result: json.RawMessage(`{"valid":true,"score":0.5,"errors":[],"feedback":""}`)}))
}

// TestPrefer_ModelessWorkIsDoneAtOnce, unless its caller prefers a job.
func TestPrefer_ModelessWorkIsDoneAtOnce(t *testing.T) {
	s := newSite(t)
	body := string(jsontext.MustEncode(operation.Evaluate{Evaluator: "plugin: test/judge", Namespace: operationtest.Here, Output: json.RawMessage(`1`)}))
	for prefer, want := range map[string]int{"": 404, "wait=1": 404, "respond-async": 202} { // the world lacks the plugin
		if a := s.send("here", "POST", "/v1/evaluate", body, "Prefer", prefer); a.StatusCode != want {
			t.Errorf("%q: %d %s", prefer, a.StatusCode, a.body)
		}
	}
}

// TestWait_ShowsTheEnd of a job or a run as soon as it has ended, and the state when the wait is over.
func TestWait_ShowsTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		queued := s.queue("here")
		ask := func(wait string, headers ...string) (a *answer, took time.Duration) {
			began := time.Now()
			a = s.send("here", "GET", "/v1/jobs/"+queued.JobID+"/result"+wait, "", headers...)
			return a, time.Since(began)
		}
		for wait, status := range map[string]int{"": 200, "?wait=5": 202, "?wait=0": 200, "?wait=61": 422, "?wait=-1": 422, "?wait=x": 422} {
			want := map[string]time.Duration{"?wait=5": 5 * time.Second}[wait]
			if a, took := ask(wait); a.StatusCode != status || took != want {
				t.Errorf("%q: %d after %s: %s", wait, a.StatusCode, took, a.body)
			}
		}
		s.later(t.Context(), 2*time.Second, s.complete)
		if a, took := ask("", "Prefer", "wait=30"); a.StatusCode != 200 || took != 2*time.Second || a.Header.Get("Preference-Applied") != "wait=30" {
			t.Errorf("%d %v after %s: %s", a.StatusCode, a.Header, took, a.body)
		}
		if a, took := ask("?wait=30"); a.StatusCode != 200 || took != 0 {
			t.Errorf("a job that has ended: %d after %s", a.StatusCode, took)
		}
		ended := s.Run(operationtest.Here)
		began := time.Now()
		if a := s.send("here", "GET", "/v1/runs/"+ended+"?wait=30", ""); a.StatusCode != 200 || time.Since(began) != 0 {
			t.Errorf("a run that has ended: %d after %s", a.StatusCode, time.Since(began))
		}
	})
}

// TestWait_ARunThatRuns is shown as soon as it has ended, and until then when the wait is over.
func TestWait_ARunThatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		run := &core.Run{ID: "00000000-0000-7000-8000-0000000000aa", Workflow: "w", Namespace: operationtest.Here}
		s.Must(s.Host.Runs.Create(s.Ctx, run))
		go func() {
			time.Sleep(6500 * time.Millisecond) // found at the next look, which is each second
			run.Status = core.StatusPassed
			s.Must(s.Host.Runs.Recorder(run).RecordEnd(s.Ctx, run, nil))
		}()
		for _, want := range []struct {
			status core.Status
			took   time.Duration
		}{{core.StatusRunning, 5 * time.Second}, {core.StatusPassed, 2 * time.Second}} {
			began := time.Now()
			a := s.send("here", "GET", "/v1/runs/"+run.ID+"?wait=5", "")
			var got struct{ Status core.Status }
			s.Must(json.Unmarshal([]byte(a.body), &got))
			if got.Status != want.status || time.Since(began) != want.took {
				t.Errorf("%s after %s, want %v", got.Status, time.Since(began), want)
			}
		}
	})
}

// TestWait_EndsWithTheServer: nobody waits for longer than the server lives.
func TestWait_EndsWithTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		queued, began := s.queue("here"), time.Now()
		time.AfterFunc(3*time.Second, s.api.drain)
		if a := s.send("here", "GET", "/v1/jobs/"+queued.JobID+"/result?wait=60", ""); a.StatusCode != 202 || time.Since(began) != 3*time.Second {
			t.Errorf("%d after %s: %s", a.StatusCode, time.Since(began), a.body)
		}
	})
}
