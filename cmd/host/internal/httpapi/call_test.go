package httpapi

import (
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// TestCall_GivesWhatTheOperationGives calls each operation in process, over the socket and
// over TCP, each in a world of its own, where time stands still and ids are counted.
func TestCall_GivesWhatTheOperationGives(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(operationtest.Fixtures())) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, err := operation.Find(name)
			if err != nil {
				t.Fatal(err)
			}
			make := operationtest.Fixtures()[name]
			direct := newSite(t)
			out, refusal := direct.Do(core.Operator(operationtest.Agent), name, make(direct.World))
			if name == "status" || name == "store_prune" {
				checkShape(t, newSite(t), name) // it names the world's folder
				return
			}
			for _, who := range []string{"socket", "operator"} {
				s := newSite(t)
				a := s.call(who, name, make(s.World))
				if who == "operator" && o.Job != "" && o.Scope != core.ScopeEvaluate { // evaluate and correct ask no model here
					checkQueued(s, a, refusal)
					continue
				}
				if refusal != nil {
					checkRefusal(t, who, a, refusal)
					continue
				}
				if o.Sink {
					if a.StatusCode != http.StatusOK || !strings.HasPrefix(a.body, "{") || undigested(a.Trailer.Get(resultTrailer)) != undigested(string(jsontext.MustEncode(out))) {
						t.Errorf("%s: %d %s with the trailer %s", who, a.StatusCode, a.body, a.Trailer.Get(resultTrailer))
					}
					continue
				}
				want, err := jsontext.Line(out)
				if err != nil {
					t.Fatal(err)
				}
				if a.StatusCode != http.StatusOK || undigested(spokenCalls.ReplaceAllString(a.body, "")) != undigested(string(want)) || a.Header.Get("Content-Type") != "application/json" {
					t.Errorf("%s: %d %s\n%s\nwant\n%s", who, a.StatusCode, a.Header.Get("Content-Type"), a.body, want)
				}
			}
		})
	}
}

// made is what differs from world to world: digests are salted with random bytes, and an
// id that a call made and then didn't need changes the later ones.
var made = regexp.MustCompile(`sha256:[0-9a-f]{64}|[0-9a-f]{8}-0000-7000-8000-[0-9a-f]{12}`)

// undigested names what differs by the order in which it comes.
func undigested(text string) string {
	seen := map[string]string{}
	return made.ReplaceAllStringFunc(text, func(one string) string {
		if strings.HasPrefix(one, "sha256:") {
			return "sha256:…"
		}
		if seen[one] == "" {
			seen[one] = "id-" + strconv.Itoa(len(seen))
		}
		return seen[one]
	})
}

func checkRefusal(t *testing.T, who string, a *answer, refusal error) {
	t.Helper()
	want := core.NewErrorInfo(refusal)
	p := a.problem(t)
	if p.Code != want.Code {
		t.Errorf("%s: the code is %s, want %s", who, p.Code, want.Code)
	}
	if who == "socket" && (p.Detail != want.Message || p.Error == nil || p.Error.Hint != want.Hint || p.Error.Message != want.Message) {
		t.Errorf("%s: %s\nwant %v", who, a.body, want)
	}
	if who != "socket" && p.Error != nil {
		t.Errorf("%s: %s has what is for the socket", who, a.body)
	}
}

func checkShape(t *testing.T, s *site, name string) {
	t.Helper()
	if a := s.call("socket", name, s.ValidRequest(name)); a.StatusCode != http.StatusOK || !strings.HasPrefix(a.body, `{"`) {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
}

// TestCall_RefusesForTheScopeFirst: somebody without the scope learns nothing of what a
// request may look like.
func TestCall_RefusesForTheScopeFirst(t *testing.T) {
	s := newSite(t)
	for _, body := range []string{`{"content": "a fact", "namespace": "team/here"}`, `{"content": 7}`, `no JSON`} {
		a := s.send("none", "POST", "/v1/memories", body)
		if p := a.problem(t); p.Code != "scope_denied" || a.StatusCode != 403 {
			t.Errorf("%s: %s", body, a.body)
		}
	}
}

// checkQueued checks the answer over a network of an operation that a job does: what is
// wrong with the request is refused at once, what isn't known before it is done isn't.
func checkQueued(s *site, a *answer, refusal error) {
	s.T.Helper()
	if a.StatusCode == http.StatusUnprocessableEntity && sdk.CodeOf(refusal) == sdk.Invalid {
		return
	}
	var queued operation.JobQueued
	if err := json.Unmarshal([]byte(a.body), &queued); err != nil || a.StatusCode != http.StatusAccepted || queued.Status != job.StatusQueued {
		s.T.Fatalf("%d %s, %v", a.StatusCode, a.body, err)
	}
	if at := a.Header.Get("Location"); at != "/v1/jobs/"+queued.JobID {
		s.T.Errorf("the job is at %q", at)
	}
	if got := s.send("operator", "GET", a.Header.Get("Location"), ""); got.StatusCode != http.StatusOK {
		s.T.Errorf("the job is %d %s", got.StatusCode, got.body)
	}
}

// spokenCalls are the words of HTTP for what a result recommends.
var spokenCalls = regexp.MustCompile(`,"call":"(\\.|[^"\\])*"`)
