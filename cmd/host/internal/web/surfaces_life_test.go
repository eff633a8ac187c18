//go:build surfaces

package web

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/core/workflow/state"
)

// Pictures in documents are of a life that a newcomer could have: what reflectory try leaves in its
// folder, and two days after it, with workflows and an agent of the examples and a handful of memories.
// The program, the workflows, the plugins and the ids are real. Only the clock is ahead, so that the
// days needn't be waited for.

// root is the folder of the source.
const root = "../../../.."

// aheadClock is the system's clock, ahead by what it was advanced.
type aheadClock struct{ ahead atomic.Int64 }

func (c *aheadClock) Now() time.Time          { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *aheadClock) Advance(d time.Duration) { c.ahead.Add(int64(d)) }

// life is a browser on such a life, and what its pictures show.
type life struct {
	*browser
	clock  *aheadClock
	random *rand.Rand
	// first is the run of try that was corrected, and lesson the memory that it wrote.
	first, lesson string
	// plan and pass are a plan of housekeeping and a pass that was applied, and turn a turn's snapshot.
	plan, pass, turn string
}

// place is where the memories of the warehouse are.
const place = "team/warehouse"

func newLife(t *testing.T) *life {
	t.Helper()
	program, err := filepath.Abs(cmp.Or(os.Getenv("REFLECTORY_PROGRAM"), root+"/bin/reflectory"))
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("", "ada-") // pictures show its name
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	l := &life{clock: &aheadClock{}, random: rand.New(rand.NewPCG(1, 2))}
	w := &operationtest.World{T: t, Folder: filepath.Join(folder, "delivery-notes"), Ctx: core.WithCaller(t.Context(), core.Operator("ada")), Asker: core.Operator("ada")}
	l.try(w, program)
	l.addPlugins(w, filepath.Join(filepath.Dir(program), "plugins", "reflectory"))
	settings, err := config.Load(config.Sources{Folder: w.Folder, Flags: map[string]string{"data-dir": filepath.Join(w.Folder, "data"), "agent": "ada"}, Getenv: func(string) string { return "" }})
	w.Must(err)
	w.Config = host.Config{Settings: settings, Clock: l.clock, IDs: &core.SystemIDs{Clock: l.clock}, Version: "0.1.0"}
	w.Open()
	t.Cleanup(func() { w.Must(w.Host.Close()) })
	s := siteOf(w)
	inner := s.handler
	s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path == "/v1/feedback" {
			l.clock.Advance(7 * time.Minute) // until the agent's next turn
		}
		inner.ServeHTTP(w, r)
	})
	l.browser = browseOn(t, s)
	pool, err := w.Host.Workers.NewPool(operation.Handlers(w.Host))
	w.Must(err)
	w.Must(pool.Start(w.Ctx))
	t.Cleanup(func() { w.Must(pool.Stop(context.Background())) })
	l.workAndRemember()
	return l
}

// try has the program make its trial.
func (l *life) try(w *operationtest.World, program string) {
	w.T.Helper()
	command := exec.CommandContext(w.T.Context(), program, "try", "--json", "--keep", filepath.Base(w.Folder))
	command.Dir, command.Stderr, command.Env = filepath.Dir(w.Folder), os.Stderr, append(os.Environ(), "REFLECTORY_AGENT=ada")
	out, err := command.Output()
	w.Must(err)
	var tried struct {
		Runs []struct {
			RunID   string   `json:"run_id"`
			Written []string `json:"written"`
		} `json:"runs"`
	}
	w.Must(json.Unmarshal(out, &tried))
	l.first, l.lesson = tried.Runs[0].RunID, tried.Runs[0].Written[0]
}

// addPlugins adds the program's plugins to the folder, since they aren't next to this test.
func (l *life) addPlugins(w *operationtest.World, from string) {
	w.T.Helper()
	for _, name := range []string{"schema-eval", "checks-eval", "mcp-eval", "llm-eval", "lua-eval", "command-eval"} {
		_, err := install.Add(w.T.Context(), filepath.Join(from, name), install.AddOptions{
			Place:   install.Place{Lock: filepath.Join(w.Folder, install.LockFile), Dir: filepath.Join(w.Folder, "data", "plugins")},
			Approve: func(install.Request) error { return nil },
		})
		w.Must(err)
	}
}

// workAndRemember is two days of work.
func (l *life) workAndRemember() {
	l.T.Helper()
	notes, contacts := filepath.Join(l.Folder, "workflow.yaml"), root+"/examples/extract-contact/workflow.yaml"
	for i := range 44 {
		l.clock.Advance(time.Duration(10+l.random.IntN(45)) * time.Minute)
		if i%3 == 1 {
			l.run(contacts, "sales/contacts", l.mail(), "")
		} else {
			l.run(notes, "examples/delivery-notes", l.note(), map[bool]string{true: `{"recall": false}`}[i%11 == 8])
		}
	}
	for i, text := range []string{
		"The north gate opens at six. Lorries over 12 t use the south gate.", "Call Ms Lindqvist before glass is delivered.", "Before glass is delivered, call Ms Lindqvist.",
		"The label printer of dock 2 needs 30 s after a jam.", "The label printer of dock 2 needs thirty seconds after a jam.", "Bergmann & Co takes pallets back on Fridays.",
		"The north gate closes at 18:00.", "The north gate closes at 20:00.", "The forklift was repaired yesterday, and is due again in two weeks.", "Ada Works wants one delivery note for each order.",
	} {
		l.clock.Advance(3 * time.Minute)
		operationtest.Try[core.Memory](l.World, "memory_observe", &core.ObserveRequest{Namespace: place, Content: text, Attributes: core.Attributes{Importance: new([]float64{.5, .8}[i%2])}})
	}
	l.agent()
	for i, question := range []string{"when does the north gate open?", "whom to call before glass is delivered?", "the label printer is jammed", "which gate for a lorry of 18 t?", "who takes pallets back?", "when does the north gate close?"} {
		l.clock.Advance(11 * time.Minute)
		found := operationtest.Try[operation.Recalled](l.World, "memory_recall", &core.RecallRequest{Query: question, Session: "yard", Turn: int64(i + 1), RecallFilter: core.RecallFilter{Namespace: place}})
		used := []string{}
		if len(found.Memories) > 0 {
			used = append(used, found.Memories[0].ID)
		}
		outcome := core.OutcomeSuccess
		if i == 5 {
			outcome = core.OutcomeFailure
		}
		operationtest.Try[core.FeedbackResult](l.World, "memory_feedback", &core.FeedbackRequest{Session: "yard", Turn: int64(i + 1), Outcome: outcome, Used: used})
	}
	l.tidy()
}

// run runs a workflow file.
func (l *life) run(file, namespace, input, overlay string) {
	l.T.Helper()
	source, err := workflow.Read(file)
	l.Must(err)
	text, err := json.Marshal(input)
	l.Must(err)
	in := &operation.RunStart{Workflow: source.Text, SourceFiles: operation.SourceFiles{File: source.File, Files: source.Files}, Namespace: namespace, Overlay: state.Overlay{Input: text}}
	if overlay != "" {
		in.State = json.RawMessage(overlay)
	}
	operationtest.Try[operation.RunEnded](l.World, "run_start", in)
}

// note is a delivery note, in one of the forms in which customers write them.
func (l *life) note() string {
	pick := func(list ...string) string { return list[l.random.IntN(len(list))] }
	order, day, month, euros, cents := 1000+l.random.IntN(9000), 1+l.random.IntN(28), 1+l.random.IntN(12), 1+l.random.IntN(9), l.random.IntN(90)
	who := pick("Bergmann & Co", "Ada Works", "Mira Lindqvist", "Northgate Instruments", "Holm & Daughters")
	return []string{
		fmt.Sprintf("Delivery note for order %d of %s, due %d.%d.2026, total %d.%d,50 EUR.", order, who, day, month, euros, 100+cents),
		fmt.Sprintf("Order #%d by %s is due 2026-%02d-%02d and comes to a total %d € including freight.", order, who, month, day, 10*euros+cents),
		fmt.Sprintf("Order ORD-%d / due 2026-%02d-%02d / total %d.%d,00 EUR", order, month, day, euros, 100+cents),
		fmt.Sprintf("Please deliver order %d to the north gate, due %d.%d.2026, total %d.%d,00 euros.", order, day, month, euros, 100+cents),
	}[l.random.IntN(4)]
}

// mail is the example's mail, from one of several senders.
func (l *life) mail() string {
	l.T.Helper()
	text, err := os.ReadFile(root + "/examples/extract-contact/message.eml")
	l.Must(err)
	who := [][4]string{
		{"Miriam", "Okafor", "Northgate Instruments Ltd.", "0814"}, {"Jonas", "Bergmann", "Bergmann & Co", "0377"}, {"Mira", "Lindqvist", "Lindqvist Glass", "0291"}, {"Ida", "Holm", "Holm & Daughters", "0655"},
	}[l.random.IntN(4)]
	return strings.NewReplacer("Miriam", who[0], "Okafor", who[1], "Northgate Instruments Ltd.", who[2], "0814", who[3]).Replace(string(text))
}

// agent has the parcel agent of the examples work for two sessions, with a token of its own.
func (l *life) agent() {
	l.T.Helper()
	operationtest.Try[operation.NewToken](l.World, "token_new", &operation.TokenNew{Subject: "dashboards", Label: "Prometheus", Scopes: []core.Scope{core.ScopeMetrics}, Namespaces: []string{"**"}})
	issued, err := l.Host.Access.Issue(l.Ctx, access.Request{Subject: "parcel-agent", Label: "sorts parcels", Scopes: []core.Scope{core.ScopeMemoryRead, core.ScopeMemoryWrite, core.ScopeOperate}, Namespaces: []string{"examples/parcels/**"}})
	l.Must(err)
	command := exec.CommandContext(l.T.Context(), "go", "run", "./examples/agent-turns", "--url", l.at, "--token-file", l.File("agent.token", string(issued.Secret)))
	command.Dir = root
	out, err := command.CombinedOutput()
	if err != nil {
		l.T.Fatalf("%v: %s", err, out)
	}
	_, last, _ := strings.Cut(strings.TrimSpace(string(out)), "tuesday: ")
	_, l.turn, _ = strings.Cut(last, "last snapshot ")
}

// tidy has housekeeping done, a reflection wait for approval, and the gate asked about the lesson.
func (l *life) tidy() {
	l.T.Helper()
	l.clock.Advance(time.Hour)
	l.signIn() // a session lasts for half a day
	pass, err := l.Host.Memories.Dreams.Plan(l.Ctx, memory.DreamRequest{Namespace: place})
	l.Must(err)
	_, err = l.Host.Memories.Dreams.Apply(l.Ctx, pass.ID, nil)
	l.Must(err)
	l.pass = pass.ID
	for _, text := range []string{"Dock 3 is closed until Friday.", "Dock 3 is closed until Thursday.", "Pallets of Holm & Daughters are blue.", "The pallets of Holm & Daughters are blue."} {
		l.clock.Advance(5 * time.Minute)
		operationtest.Try[core.Memory](l.World, "memory_observe", &core.ObserveRequest{Namespace: place, Content: text})
	}
	plan, err := l.Host.Memories.Dreams.Plan(l.Ctx, memory.DreamRequest{Namespace: place})
	l.Must(err)
	l.plan = plan.ID
	_, err = l.Host.Governance.Set(l.Ctx, place, "require_approval_above_depth=0")
	l.Must(err)
	kept := operationtest.Try[operation.Memories](l.World, "memory_list", &operation.MemoryList{Namespace: place, Paging: operation.Paging{Limit: 2}})
	_, err = l.Host.Memories.Reflect(l.Ctx, &core.ReflectRequest{
		SourceIDs: []string{kept.Items[0].ID, kept.Items[1].ID}, Namespace: place, Title: "Ask the gate before a lorry comes", Content: "Gates and docks change their hours: ask before a lorry is sent.",
	})
	l.Must(err)
	for _, kind := range []job.Type{job.Compact, job.Revalidate} {
		l.ended(operationtest.Try[operation.JobQueued](l.World, "job_enqueue", &operation.JobEnqueue{Type: kind}).JobID)
	}
}

// ended waits for the end of a job.
func (l *life) ended(id string) {
	l.T.Helper()
	l.open(jobURL(id))
	l.wait(`document.querySelector("#job-body .tag").innerText === "completed"`)
}

// shot is a page of which pictures are made.
type shot struct{ name, path, screens string }

// shots are the pages of the life, each with the screens whose pictures the documents have.
func (l *life) shots() []shot {
	l.T.Helper()
	here, parcels := url.QueryEscape(place), url.QueryEscape("examples/parcels")
	decisions := l.get("/decisions?format=json&point=gate").body
	_, decision, _ := strings.Cut(decisions, `"id": "`)
	decision, _, _ = strings.Cut(decision, `"`)
	replay := l.post("/policies/replay", url.Values{"file": {"gate/candidate.yaml"}, "text": {candidate}}).Header.Get("Location")
	l.ended(strings.TrimPrefix(replay, "/jobs/"))
	return []shot{
		{"overview", "/", "light dark 390"}, {"runs", "/runs?limit=12", "light"}, {"run", "/runs/" + l.first, "light 390"}, {"run-unified", "/runs/" + l.first + "?from=1&to=2&view=unified", ""},
		{"memories", "/memory", "light"}, {"memory", memoryURL(l.lesson), "light"}, {"approvals", "/approvals", ""}, {"knowledge", "/knowledge", ""},
		{"decisions", "/decisions?limit=20", "light"}, {"decision", decisionURL(decision), "dark"}, {"policies", "/policies", ""}, {"replay", replay, ""},
		{"jobs", "/jobs", "light"}, {"dreams", "/dream?namespace=" + here, "light"}, {"dream", "/dream/" + l.pass, "dark"}, {"dream-plan", "/dream/" + l.plan, ""},
		{"conflicts", "/dream/conflicts?namespace=" + here, ""}, {"snapshots", "/snapshots?namespace=" + parcels + "&limit=12", "light"}, {"snapshot", "/snapshots/" + l.turn, "light"},
		{"sessions", "/sessions", ""}, {"session", "/sessions/yard", ""}, {"snapshot-diff", "/snapshots/" + l.turn + "/diff", ""}, {"plugins", "/plugins", "light"}, {"plugin", "/plugins/reflectory/lua-eval", "light"},
		{"audit", "/audit?limit=20", "light"}, {"audit-stream", "/audit/entries?stream=namespace/" + here, ""}, {"search", "/search?q=delivery", "light"}, {"settings", "/settings", "light"}, {"governance", governanceURL(place), "light"},
		{"question", "/dream/" + l.pass + "/undo", ""}, {"none-such", "/runs/none-such", ""}, {"sign-in", "/login", "light"},
	}
}

// candidate is a policy of the gate's that promotes only what was used very often.
const candidate = `rule:
  match:
    - condition: uses >= 100
      output: '{"verdict": "promote", "confidence": 1.0, "reason": "used very often"}'
    - output: '{"verdict": "retain", "confidence": 0.9, "reason": "not used often enough"}'
`
