//go:build surfaces || bench

package web

import (
	"math/rand/v2"
	"net/url"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/sdk"
)

// demo fills a site as somebody's would be: two days of runs of five workflows, memories, a
// reflection that waits, jobs, and a run that is still running, which it returns with the
// id of the one before.
func (s *site) demo() (running *core.Run, ended string) {
	s.T.Helper()
	random, clock := rand.New(rand.NewPCG(1, 2)), s.Config.Clock.(*coretest.Clock)
	names := []string{"generate-contact", "summarise-mail", "sql-from-question", "triage-ticket", "release-notes"}
	for range 9 {
		s.Memory()
	}
	for i := range 110 {
		clock.Advance(time.Duration(10+random.IntN(30)) * time.Minute)
		r := s.begin(names[random.IntN(1+random.IntN(len(names)))])
		attempts, status := 1+random.IntN(3), core.StatusPassed
		switch {
		case i%11 == 6:
			attempts, status = 3, core.StatusExhausted
		case i%23 == 7:
			status = core.StatusError
		}
		s.contact(r, attempts, status == core.StatusPassed)
		s.end(r, status)
	}
	s.Pending(operationtest.Here)
	s.Job(operationtest.Here)
	last := s.begin("generate-contact")
	s.contact(last, 3, true)
	s.end(last, core.StatusPassed)
	running = s.begin("generate-contact")
	s.contact(running, 2, false)
	s.signIn() // a session lasts for half a day
	return running, last.ID
}

// contact records attempts of a loop that makes a contact of a mail, up to three.
func (s *site) contact(r *core.Run, attempts int, passes bool) {
	s.T.Helper()
	clock := s.Config.Clock.(*coretest.Clock)
	outputs := []string{
		"{\"name\": {\"first\": \"Ada\", \"last\": \"Lovelace\"}, \"email\": \"ada at example.org\", \"company\": \"Analytical Engines\"}",
		"{\"name\": {\"first\": \"Ada\", \"last\": \"Lovelace\"}, \"email\": \"ada@example.org\", \"company\": \"Analytical Engines\"}",
		"{\"name\": \"Ada Lovelace\", \"email\": \"ada@example.org\", \"company\": \"Analytical Engines\"}",
	}
	findings := [][]sdk.Finding{
		{{Path: "/email", Message: "must be an email, not “ada at example.org”"}, {Path: "/name", Message: "must be a string, not an object"}},
		{{Path: "/name", Message: "must be a string, not an object"}}, {},
	}
	outputs, findings = outputs[3-attempts:], findings[3-attempts:]
	active := int64(0)
	for i := range attempts {
		role := sdk.RoleGenerate
		if i > 0 {
			role = sdk.RoleCorrect
		}
		good := passes && i == attempts-1
		score := []float64{.35, .7, 1}[3-attempts+i]
		if !good {
			score = min(score, .82)
		}
		active += 2000
		a := core.Attempt{
			Iteration: i + 1, Role: role, Output: []byte(outputs[i]), Score: score, Valid: good, Accepted: good, Errors: findings[i],
			Usage: sdk.Usage{TokensIn: int64(380 + 20*i), TokensOut: int64(120 + i), CostUSD: 0.0014}, ActiveMillis: active,
		}
		if !good && len(findings[i]) == 0 {
			a.Errors = []sdk.Finding{{Path: "/phone", Message: "is required"}}
		}
		recorder := s.Host.Runs.Recorder(r).Attempts(1, "contact")
		clock.Advance(1900 * time.Millisecond)
		s.Must(recorder.RecordOutput(s.Ctx, &a))
		clock.Advance(100 * time.Millisecond)
		a.Judged = true
		s.Must(recorder.RecordVerdict(s.Ctx, &a))
		r.Score, r.Iterations = score, i+1
		r.Usage.Usage = r.Usage.Add(a.Usage)
		r.Usage.WallMillis = active
	}
	r.Recalled, r.Used = int64(4+len(r.ID)%3), int64(1+attempts%3)
	r.StopReason = core.StopMaxIterations
	if passes {
		r.StopReason = core.StopValid
	}
}

// learned fills a site with what was learned, all of whose texts are hostile, and returns the
// pages that show it.
func (s *site) learned(decision string) []string {
	s.T.Helper()
	here := operationtest.Here
	long := s.observe(strings.ReplaceAll(printable(), "\n", " ")[:120], printable()+strings.Repeat("<", 60_000))
	taught, waits, known, queued := s.Taught(core.OutcomeSuccess, 6), s.Waiting(), s.Promoted(), s.Job(here)
	_, err := s.Host.Governance.Set(s.Ctx, here, "require_approval_above_depth=0")
	s.Must(err)
	asked, err := s.Host.Memories.Reflect(s.Ctx, &core.ReflectRequest{
		SourceIDs: []string{long, taught}, Namespace: here, Title: hostile[0], Content: printable() + strings.Repeat("\n<line> & more", 400),
	})
	s.Must(err)
	token, err := s.Host.Access.Issue(s.Ctx, access.Request{
		Subject: hostile[1], Label: hostile[4], Scopes: core.Scopes(), Namespaces: []string{strings.Repeat("long", 30) + "/**", here},
	})
	s.Must(err)
	s.end(s.begin(hostile[0]), core.StatusPassed)
	helps, rides := s.Tried(60)
	return []string{
		"/memory", "/memory?state=open&namespace=" + here, "/memory?namespace=" + here + "&q=" + url.QueryEscape(hostile[0]), memoryURL(long), memoryURL(taught), memoryURL(waits),
		memoryURL(helps.ID), memoryURL(rides.ID),
		memoryURL(waits) + "/gate", "/approvals", "/approvals/" + asked.PendingID + "/reject", "/knowledge?namespace=" + url.QueryEscape(known.Namespace), knowledgeURL(known.ID),
		"/decisions", "/decisions?point=gate", decisionURL(decision), "/policies", "/jobs", jobURL(queued), "/search?q=harbour", "/search?q=" + url.QueryEscape(hostile[0]),
		"/settings", "/settings/tokens/" + token.ID + "/revoke", governanceURL("*"), governanceURL(here),
	}
}
