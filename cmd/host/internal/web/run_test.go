package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// hostile is text that would be something else if it weren't shown as text.
var hostile = []string{
	`<script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, `<svg onload=alert(1)><a xlink:href="javascript:alert(1)">x</a></svg>`, `javascript:alert(1)`,
	`" onmouseover="alert(1)`, `'><style>*{display:none}</style>`, "a\u202eb\u2066c\u2069d\u200bz\ufeff", "bell\a escape\x1b[31m nul\x00 del\x7f \u0085", "\u2028line\u2029", "{{.Data}}{{template \"head\"}}",
	"bad \xff\xfe utf-8", "]]>--><!-- ", `\u{202E}`,
}

// contactYAML is the workflow of those runs.
const contactYAML = `name: contact
nodes:
  - name: contact
    action: reflection.loop
    with:
      generator: {type: lua, code: "return state.input"}
      evaluator: {type: lua, code: "return {valid = true}"}
      max_iterations: 3
      timeout: 30s
      budget: {tokens: 5000}
`

// attempt records an attempt of a run that is being made.
func (s *site) attempt(r *core.Run, visit int, a core.Attempt) {
	s.T.Helper()
	recorder := s.Host.Runs.Recorder(r).Attempts(visit, "contact")
	judged := a.Judged
	a.Judged = false
	s.Must(recorder.RecordOutput(s.Ctx, &a))
	if judged {
		a.Judged = true
		s.Must(recorder.RecordVerdict(s.Ctx, &a))
	}
}

// begin creates a run that stays running.
func (s *site) begin(name string) *core.Run {
	s.T.Helper()
	r := &core.Run{
		ID: s.Host.Config.IDs.NewID(), Workflow: name, Namespace: operationtest.Here, State: []byte(`{"topic":"harbours"}`), Status: core.StatusRunning,
		Source:    core.Source{File: name + ".yaml", Text: contactYAML, Files: map[string]string{"a.txt": strings.Join(hostile, "\n")}},
		StartedAt: s.Config.Clock.Now(), UpdatedAt: s.Config.Clock.Now(),
	}
	s.Must(s.Host.Runs.Create(s.Ctx, r))
	return r
}

// end records the end of a run.
func (s *site) end(r *core.Run, status core.Status) {
	s.T.Helper()
	r.Status = status
	if status == core.StatusError && r.Error == nil {
		r.Error = &core.ErrorInfo{Code: "plugin_failed", Message: strings.Join(hostile, " "), Hint: hostile[0]}
	}
	s.Must(s.Host.Runs.Recorder(r).RecordEnd(s.Ctx, r, nil))
}

// hostileRun is a run in which everything that others write is hostile, and long.
func (s *site) hostileRun(attempts int, status core.Status) *core.Run {
	s.T.Helper()
	text, large := strings.Join(hostile, "\n"), coretest.Cases(1<<16, 1<<20)
	r := s.begin(hostile[0] + hostile[6])
	for i := range attempts {
		out, message := text+strings.Repeat("\n<line> & more", 300*i), text
		if i == 1 {
			out, message = out+strings.Repeat("<", large), text+strings.Repeat("x", large)
		}
		s.attempt(r, 1, core.Attempt{
			Iteration: i + 1, Role: sdk.RoleCorrect, Judged: true, Score: float64(i) / float64(attempts), Valid: i == attempts-1, Accepted: i == attempts-1,
			Output: jsontext.MustEncode(out), Feedback: text, Usage: sdk.Usage{TokensIn: 12, TokensOut: 3, CostUSD: 0.002}, ActiveMillis: int64(i+1) * 900,
			Errors:   []sdk.Finding{{Path: "/" + text, Message: message, Source: text}},
			Prompts:  []core.Prompt{{Role: sdk.RoleCorrect, Step: text, Plugin: text, Messages: reported(text, out)}},
			Children: map[string]sdk.Verdict{text: {Score: 0.5, Errors: []sdk.Finding{{Path: text, Message: text}}}},
		})
	}
	r.Score, r.Iterations, r.StopReason = 1, attempts, core.StopValid
	s.end(r, status)
	return r
}

// reported is a prompt as a plugin reported it, with these texts as its role and content.
func reported(role, content string) []core.PromptMessage {
	return core.ReadPrompt(map[string]string{sdk.MetadataPrompt: sdk.EncodePrompt([]sdk.PromptMessage{{Role: role, Content: content}})})
}

// TestRun_ShowsPrompts: of attempts and of other nodes, on the page and as whole texts, and what
// is missing is explained.
func TestRun_ShowsPrompts(t *testing.T) {
	s := newSite(t)
	r := s.begin("contact")
	long := strings.Repeat("Sail on. ", 2000) + "The end of it."
	recorder := s.Host.Runs.Recorder(r)
	a := core.Attempt{Iteration: 1, Role: sdk.RoleGenerate, Output: []byte(`1`), Prompts: []core.Prompt{{Role: sdk.RoleGenerate, Plugin: "p", Messages: reported("system", long)}}}
	s.Must(recorder.Attempts(1, "contact").RecordOutput(s.Ctx, &a))
	a.Judged, a.Prompts = true, []core.Prompt{
		{Role: sdk.RoleEvaluate, Step: "tone", Plugin: "p", Messages: reported("user", "Is it kind?")},
		{Role: sdk.RoleEvaluate, Step: "size", Plugin: "p", Purged: true, Messages: []core.PromptMessage{{Role: "user", Bytes: 77}}},
	}
	s.Must(recorder.Attempts(1, "contact").RecordVerdict(s.Ctx, &a))
	s.Must(recorder.RecordVisit(s.Ctx, &core.Visit{Number: 1, Node: "contact", Next: "sum", Result: []byte(`{}`)}))
	s.Must(recorder.RecordVisit(s.Ctx, &core.Visit{Number: 2, Node: "sum", Result: []byte(`{}`), Prompts: []core.Prompt{{Role: sdk.RoleGenerate, Plugin: "p", Messages: reported("user", "Sum it up.")}}}))
	page := s.get("/runs/" + r.ID)
	root := s.tree(page, http.StatusOK)
	s.wellMade("prompts", page, root)
	if !strings.Contains(page.body, "data-pieces hidden") {
		t.Error("what a model writes has no place on the page of a run that goes on")
	}
	text := textOf(root)
	for _, want := range []string{"Prompt to generate", "Sail on.", "Prompt to evaluate (tone)", "Is it kind?", "77 bytes", "was purged", "sum: Prompt to generate", "Sum it up."} {
		if !strings.Contains(text, want) {
			t.Errorf("%q isn't on the page", want)
		}
	}
	for query, want := range map[string]string{
		"what=prompt&n=0&visit=1&iteration=1": "The end of it.", "what=prompt&n=1&visit=1&iteration=1": "Is it kind?", "what=prompt&n=0&visit=2": "Sum it up.",
	} {
		if a := s.get("/runs/" + r.ID + "/text?" + query); a.StatusCode != http.StatusOK || !strings.Contains(a.body, want) {
			t.Errorf("%s: %d %.200s", query, a.StatusCode, a.body)
		}
	}
	for _, query := range []string{"what=prompt&n=9&visit=1&iteration=1", "what=prompt&n=-1&visit=2", "what=prompt&n=5&visit=2", "what=prompt&n=x"} {
		if a := s.get("/runs/" + r.ID + "/text?" + query); a.StatusCode >= 500 || a.StatusCode == http.StatusOK && strings.Contains(a.body, "[1]") && query != "what=prompt&n=x" {
			t.Errorf("%s: %d %.200s", query, a.StatusCode, a.body)
		}
	}
	s.end(r, core.StatusPassed)
}

// TestRun_HostileTextIsText: what others wrote is shown as text on each page, whatever is in
// it and however long it is, and every link on the pages answers.
func TestRun_HostileTextIsText(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	s := newSite(t)
	r := s.hostileRun(4, core.StatusError)
	at := "/runs/" + r.ID
	s.walk("/", "/runs", at, at+"?to=2", at+"?from=1&to=4&view=unified", at+"?all=events")
	page := s.get(at)
	if text := textOf(s.tree(page, http.StatusOK)); !strings.Contains(text, hostile[0]) || !strings.Contains(text, `a\u{202E}b`) {
		t.Error("the text isn't on the page")
	}
}

// TestRun_ShowsWhatChanged: the page compares any two attempts, and says which errors are
// gone.
func TestRun_ShowsWhatChanged(t *testing.T) {
	s := newSite(t)
	r := s.begin("contact")
	for i, out := range []string{`{"name":{"first":"Ada"}}`, `{"name":"Ada"}`, `{"name":"Ada","email":"a@b"}`} {
		s.attempt(r, 1, core.Attempt{
			Iteration: i + 1, Role: sdk.RoleGenerate, Judged: true, Output: []byte(out), Score: float64(i+1) / 3, Accepted: i == 2,
			Errors: []sdk.Finding{{Path: "/field", Message: fmt.Sprint("wrong ", i)}}, ActiveMillis: int64(time.Second) / 1e6,
		})
	}
	for _, c := range []struct{ query, want string }{
		{"", "Attempt 2"}, {"?from=1&to=3", "wrong 0"}, {"?from=1&to=3&view=unified", "Attempt 1 → 3"}, {"?to=1", "wrong 0"},
	} {
		a := s.get("/runs/" + r.ID + c.query)
		root := s.tree(a, http.StatusOK)
		s.wellMade(c.query, a, root)
		if !strings.Contains(textOf(root), c.want) {
			t.Errorf("%q isn't on %q", c.want, c.query)
		}
	}
	if a := s.get("/runs/" + r.ID + "?part=run-body"); strings.Contains(a.body, "<html") || !strings.Contains(a.body, "Attempt 3") {
		t.Errorf("the part is %.300s", a.body)
	}
	if a := s.get("/runs/"+r.ID, "Accept", "application/json"); a.Header.Get("Content-Type") != "application/json" || !strings.Contains(a.body, `"added": 2`) {
		t.Errorf("as JSON it is %s %.300s", a.Header.Get("Content-Type"), a.body)
	}
	s.end(r, core.StatusPassed)
}

// TestRun_Refusals: what isn't there is a page with its status, and a form of another site
// does nothing.
func TestRun_Refusals(t *testing.T) {
	s := newSite(t)
	r := s.begin("contact")
	for target, status := range map[string]int{"/runs/unknown-run": 404, "/runs?status=none": 422, "/runs/" + r.ID + "/nothing": 404} {
		a := s.get(target)
		s.wellMade(target, a, s.tree(a, status))
		if a := s.get(target, "Accept", "application/json"); a.StatusCode != status || !strings.Contains(a.body, `"code"`) {
			t.Errorf("%s as JSON: %d %s", target, a.StatusCode, a.body)
		}
	}
	s.tree(s.get("/runs/"+r.ID+"?part=none"), http.StatusNotFound)
	if a := s.post("/runs/"+r.ID+"/cancel", nil); a.StatusCode != http.StatusConflict {
		t.Errorf("a run without a job was cancelled: %d", a.StatusCode)
	}
	if a := s.send(http.MethodPost, "/runs/"+r.ID+"/resume", nil, "Sec-Fetch-Site", "cross-site"); a.StatusCode != http.StatusForbidden {
		t.Errorf("another site's form: %d", a.StatusCode)
	}
	s.session = nil
	if a := s.get("/runs/" + r.ID); a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != "/login?to=%2Fruns%2F"+r.ID {
		t.Errorf("nobody is sent to %d %s", a.StatusCode, a.Header.Get("Location"))
	}
}

// TestRuns_Filters: the list can be filtered by a score and by a text of errors.
func TestRuns_Filters(t *testing.T) {
	s := newSite(t)
	for _, c := range []struct {
		name   string
		score  float64
		status core.Status
	}{{"good", 1, core.StatusPassed}, {"fair", .6, core.StatusExhausted}, {"lost", .2, core.StatusError}} {
		r := s.begin(c.name)
		s.attempt(r, 1, core.Attempt{Iteration: 1, Role: sdk.RoleGenerate, Judged: true, Score: c.score, Output: []byte(`1`), Errors: []sdk.Finding{{Path: "/x", Message: "Too " + c.name}}})
		r.Score, r.Iterations, r.Error = c.score, 1, nil
		if c.status == core.StatusError {
			r.Error = &core.ErrorInfo{Code: "plugin_failed", Message: "the harbour is closed"}
		}
		s.end(r, c.status)
	}
	for query, want := range map[string]string{
		"min_score=0.5": "good fair", "max_score=0.5": "lost", "min_score=0.5&max_score=0.7": "fair", "error=HARBOUR": "lost", "error=too+fair": "fair", "error=nothing": "", "error=too&status=passed": "",
	} {
		a := s.get("/runs?" + query)
		root := s.tree(a, http.StatusOK)
		s.wellMade(query, a, root)
		for _, name := range []string{"good", "fair", "lost"} {
			listed := false
			for _, n := range all(root, "td") {
				listed = listed || strings.HasPrefix(textOf(n), name)
			}
			if listed != strings.Contains(want, name) {
				t.Errorf("%s lists %s: %t", query, name, listed)
			}
		}
	}
	if a := s.get("/runs?min_score=much"); a.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("a score that is none: %d", a.StatusCode)
	}
}
