package operation_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory"
	corerun "github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/core/store/postgres/postgrestest"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/sdk"
)

// database is what the tests on PostgreSQL share.
var database postgrestest.Shared

func TestMain(m *testing.M) {
	operationtest.ServeJudge()
	os.Exit(database.Main(coretest.WithPlain(m)))
}

// list are the ids of the runs that a caller sees, page by page.
func list(w *world, c core.Caller, in operation.RunList) (ids []string) {
	w.T.Helper()
	for {
		out, err := w.Do(c, "run_list", &in)
		w.Must(err)
		page := out.(*operation.Page[operation.RunSummary])
		for _, r := range page.Items {
			ids = append(ids, r.RunID)
		}
		if in.PageToken = page.NextPageToken; in.PageToken == "" {
			return ids
		}
	}
}

func TestRunStart_RunsATextWithItsState(t *testing.T) {
	w := operationtest.NewWithJudge(t, mem.Open())
	var heard []string
	in := &operation.RunStart{Workflow: operationtest.LoopYAML, Namespace: here}
	in.File, in.State, in.Input = "folder/count.yaml", []byte(`{"kept": false}`), []byte(`"read"`)
	in.Set = append(in.Set, struct {
		Path  string          `json:"path"`
		Value json.RawMessage `json:"value"`
	}{"from", []byte(`7`)})
	out, err := operation.Do(w.Ctx, operation.Call{Host: w.Host, Events: func(e core.Event) {
		if judged, ok := e.(core.AttemptJudged); ok {
			heard = append(heard, string(judged.Attempt.Output))
		}
	}}, "run_start", in)
	w.Must(err)
	run := out.(*operation.RunEnded)
	if run.Status != core.StatusPassed || run.Namespace != here || run.Workflow != "count" || !slices.Equal(heard, []string{"7", "2"}) {
		t.Errorf("the run is %+v, and its outputs %v", run.Run, heard)
	}
	if got := string(run.State); got != `{"from":7,"input":"read","kept":false}` {
		t.Errorf("it began with %s", got)
	}
	if shown := string(jsontext.MustEncode(run)); shown != string(run.Result) || !strings.Contains(shown, `"output":2`) {
		t.Errorf("it is shown as %s", shown)
	}
	got := try[operation.Run](w, "run_get", &operation.RunGet{ID: run.ID[:corerun.MinPrefix]})
	if got.RunID != run.ID || len(got.Loops) != 1 || len(got.Loops[0].Attempts) != 2 || got.Source.File != "folder/count.yaml" {
		t.Errorf("it is stored as %+v with %+v", got.Run, got.Loops)
	}
}

func TestRunStart_RefusesBeforeARunIsMade(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		in     operation.RunStart
		reason string
	}{
		{operation.RunStart{}, "workflow_invalid"},
		{operation.RunStart{Workflow: "nodes: []"}, "workflow_invalid"},
		{operation.RunStart{Workflow: operationtest.LostYAML, Namespace: "a//b"}, "namespace_invalid"},
		{operation.RunStart{Workflow: operationtest.LostYAML, SourceFiles: operation.SourceFiles{File: strings.Repeat("x", 5000)}}, "file_invalid"},
		{operation.RunStart{Workflow: strings.Replace(operationtest.LostYAML, "action: memory.reflect, with: {source_ids: [lost-memory], title: t, content: c}",
			"action: plugin.call, with: {plugin: test/none}", 1)}, "plugin_not_found"},
	} {
		_, err := w.Do(core.Operator(""), "run_start", &c.in)
		if sdk.ReasonOf(err) != c.reason {
			t.Errorf("%+v: %v, want %s", c.in, err, c.reason)
		}
	}
	in := operation.RunStart{Workflow: operationtest.LostYAML}
	in.State = []byte(`{"reflection_output": 1}`)
	_, err := w.Do(core.Operator(""), "run_start", &in)
	w.Refused(err, sdk.Invalid, "state_key_invalid")
	if ids := list(w, core.Operator(""), operation.RunList{}); len(ids) > 0 {
		t.Errorf("there are runs: %v", ids)
	}
}

// TestRunStart_TakesTheFilesThatAreNamed: a workflow may bring any, and what isn't named
// isn't stored.
func TestRunStart_TakesTheFilesThatAreNamed(t *testing.T) {
	w := newWorld(t)
	in := &operation.RunStart{Workflow: "settings: {llm: {model: m}}\nnodes:\n  - {name: ask, action: llm.call, with: {prompt_file: ask.txt}}\n"}
	_, err := w.Do(core.Operator(""), "run_start", in)
	if w.Refused(err, sdk.Invalid, "workflow_invalid"); err != nil && !strings.Contains(err.Error(), `there is no file "ask.txt"`) {
		t.Error(err)
	}
	in.Files = map[string]string{"ask.txt": "Hi", "other.txt": "unnamed"}
	_, err = w.Do(core.Operator(""), "run_start", in)
	w.Refused(err, sdk.NotFound, "plugin_not_found") // the workflow is whole
}

func TestRunResume_GoesOnOnlyWithWhatEndedSo(t *testing.T) {
	w := newWorld(t)
	id := w.Run(here)
	run := try[operation.RunEnded](w, "run_resume", &operation.RunResume{ID: id})
	if run.ID != id || run.Status != core.StatusError || !strings.Contains(string(jsontext.MustEncode(run)), `"code":"source_not_found"`) {
		t.Errorf("resumed, it ended %s: %s", run.Status, jsontext.MustEncode(run))
	}
	w.Must(w.Host.Runs.Create(w.Ctx, &core.Run{ID: "held-by-this-program", Workflow: "w", State: []byte("{}"), Source: core.Source{Text: operationtest.LostYAML}}))
	_, err := w.Do(core.Operator(""), "run_resume", &operation.RunResume{ID: "held-by-this-program"})
	w.Refused(err, sdk.Conflict, "run_active")
	w.Must(w.Host.Runs.Create(w.Ctx, &core.Run{ID: "needs-a-plugin", Workflow: "w", State: []byte("{}"), Source: core.Source{Text: operationtest.LoopYAML}}))
	failed := &core.Run{ID: "needs-a-plugin", Status: core.StatusError, Error: &core.ErrorInfo{Code: "as_before", Message: "as before"}}
	w.Must(w.Host.Runs.Recorder(failed).RecordEnd(w.Ctx, failed, nil))
	_, err = w.Do(core.Operator(""), "run_resume", &operation.RunResume{ID: "needs-a-plugin"})
	w.Refused(err, sdk.NotFound, "plugin_not_found") // not the error that it ended with before
}

func TestRunReplay_TakesAnotherEvaluatorAsText(t *testing.T) {
	w := operationtest.NewWithJudge(t, mem.Open())
	id := try[operation.RunEnded](w, "run_start", &operation.RunStart{Workflow: operationtest.LoopYAML, Namespace: here}).ID
	for _, c := range []struct {
		in      operation.RunReplay
		changed int
	}{
		{operation.RunReplay{}, 0},
		{operation.RunReplay{Evaluator: "evaluator: {plugin: test/judge, config: {want: 1}}"}, 2},
		{operation.RunReplay{Accept: "true"}, 1},
	} {
		c.in.ID = id
		if got := try[host.Replayed](w, "run_replay", &c.in); got.RunID != id || got.Changed != c.changed {
			t.Errorf("%+v: %+v, want %d changed", c.in, got, c.changed)
		}
	}
	_, err := w.Do(core.Operator(""), "run_replay", &operation.RunReplay{ID: id, Accept: "scor > 1"})
	if sdk.CodeOf(err) != sdk.Invalid || sdk.AsError(err).Details["field"] != "accept" {
		t.Errorf("a rule that doesn't compile: %v", err)
	}
	_, err = w.Do(core.Operator(""), "run_replay", &operation.RunReplay{ID: id, Evaluator: "plugin: nameless"})
	w.Refused(err, sdk.Invalid, "workflow_invalid")
}

func TestRunList_ShowsWhatTheCallerReaches(t *testing.T) {
	w := newWorld(t)
	var mine, all []string // by their ids, as all begin in the same instant
	for range 3 {
		mine = append(mine, w.Run(here))
		all = append(all, mine[len(mine)-1], w.Run(elsewhere))
	}
	me := core.Caller{Subject: "me", Scopes: []core.Scope{core.ScopeRun}, Namespaces: []string{here}}
	for _, c := range []struct {
		caller core.Caller
		in     operation.RunList
		want   []string
	}{
		{core.Operator(""), operation.RunList{}, all},
		{core.Operator(""), operation.RunList{Paging: operation.Paging{Limit: 1}}, all},
		{core.Operator(""), operation.RunList{Namespace: here}, mine},
		{core.Operator(""), operation.RunList{Namespace: "team", Subtree: true}, all},
		{core.Operator(""), operation.RunList{Namespace: "team"}, nil},
		{me, operation.RunList{Paging: operation.Paging{Limit: 2}}, mine},
		{me, operation.RunList{Status: core.StatusError, Workflow: "lost"}, mine},
		{me, operation.RunList{Status: core.StatusPassed}, nil},
	} {
		if got := list(w, c.caller, c.in); !slices.Equal(got, c.want) {
			t.Errorf("%s asks for %+v: %v, want %v", c.caller.Subject, c.in, got, c.want)
		}
	}
	out, err := w.Do(me, "run_list", &operation.RunList{Paging: operation.Paging{Limit: 1}})
	w.Must(err)
	token, err := base64.RawURLEncoding.DecodeString(out.(*operation.Page[operation.RunSummary]).NextPageToken)
	w.Must(err)
	token[len(token)-1] ^= 1
	forged := base64.RawURLEncoding.EncodeToString(token)
	for in, reason := range map[*operation.RunList]string{
		{Status: "lost"}:                              "status_invalid",
		{Paging: operation.Paging{Limit: 201}}:        "limit_invalid",
		{Paging: operation.Paging{PageToken: "none"}}: "invalid_page_token",
		{Paging: operation.Paging{PageToken: forged}}: "invalid_page_token",
	} {
		_, err = w.Do(me, "run_list", in)
		w.Refused(err, sdk.Invalid, reason)
	}
	for _, namespace := range []string{elsewhere, "not/there"} {
		_, err = w.Do(me, "run_list", &operation.RunList{Namespace: namespace})
		w.Refused(err, sdk.Denied, "namespace_denied")
	}
	_, err = w.Do(core.Operator(""), "run_list", &operation.RunList{Namespace: "a//b"})
	w.Refused(err, sdk.Invalid, "namespace_invalid")
}

// TestRun_ElsewhereIsNone: by its id, whole or short, that is there and that isn't.
func TestRun_ElsewhereIsNone(t *testing.T) {
	w := newWorld(t)
	id := w.Run(here)
	for name, in := range map[string]func(id string) any{
		"run_get":    func(id string) any { return &operation.RunGet{ID: id} },
		"run_resume": func(id string) any { return &operation.RunResume{ID: id} },
		"run_replay": func(id string) any { return &operation.RunReplay{ID: id} },
	} {
		for _, named := range []string{id, id[:corerun.MinPrefix], "x", "../../etc"} {
			_, err := w.Do(stranger(), name, in(named))
			w.Refused(err, sdk.NotFound, "run_not_found")
			empty, want := answer(nil, err), answer(nil, corerun.RunNotFound(named))
			if empty != want {
				t.Errorf("%s of %s is answered %s, want %s", name, named, empty, want)
			}
		}
	}
}

// TestRun_NodesMayWhatTheCallerMay: a workflow is no way around the scopes and namespaces
// of who runs it.
func TestRun_NodesMayWhatTheCallerMay(t *testing.T) {
	w := newWorld(t)
	far, err := w.Host.Memories.Observe(w.Ctx, &core.ObserveRequest{Namespace: elsewhere, Content: "a secret of elsewhere"})
	w.Must(err)
	node := func(action, with string) string {
		return "nodes:\n  - {name: n, action: memory." + action + ", with: {" + with + "}}\n"
	}
	all := []core.Scope{core.ScopeRun, core.ScopeMemoryRead, core.ScopeMemoryWrite}
	for _, c := range []struct {
		scopes         []core.Scope
		workflow, code string // "" is a run that passes
	}{
		{all, node("observe", "content: c"), ""},
		{all, node("recall", "query: secret"), ""},
		{all[:1], node("observe", "content: c"), "scope_denied"},
		{all[:1], node("recall", "query: secret"), "scope_denied"},
		{all, node("observe", "content: c, namespace: "+elsewhere), "namespace_denied"},
		{all, node("recall", "query: secret, namespace: "+elsewhere), "namespace_denied"},
		{all, node("recall", "query: secret, namespace: team, subtree: true"), "namespace_denied"},
		{all, node("reflect", "title: t, content: c, source_ids: ["+far.ID+"]"), "memory_not_found"},
		{all, node("reflect", "title: t, content: c, source_ids: [none-of-this-id]"), "memory_not_found"},
		{all, node("feedback", "session: s, turn: 1, outcome: success, used: ["+far.ID+"]"), "turn_not_found"},
	} {
		caller := core.Caller{Subject: "me", Scopes: c.scopes, Namespaces: []string{here}}
		out, err := w.Do(caller, "run_start", &operation.RunStart{Workflow: c.workflow, Namespace: here})
		w.Must(err)
		run := out.(*operation.RunEnded)
		code := ""
		if run.Error != nil {
			code = run.Error.Code
		}
		if code != c.code || strings.Contains(string(jsontext.MustEncode(run)), "secret of elsewhere") {
			t.Errorf("%v: %s: %s", c.scopes, c.workflow, jsontext.MustEncode(run))
		}
	}
	if got := try[operation.Memories](w, "memory_list", &operation.MemoryList{Namespace: elsewhere}); len(got.Items) != 1 {
		t.Errorf("elsewhere has %d memories", len(got.Items))
	}
	resumed := w.Run(here) // by somebody who may, and now by somebody who may not
	out, err := w.Do(core.Caller{Subject: "me", Scopes: all[:1], Namespaces: []string{here}}, "run_resume", &operation.RunResume{ID: resumed})
	w.Must(err)
	if run := out.(*operation.RunEnded); run.Error.Code != "scope_denied" {
		t.Errorf("resumed: %s", jsontext.MustEncode(run))
	}
}

// TestRun_LeavesTheGraphsOfOtherNamespaces: a run of a workflow with the same name and nodes doesn't
// change the evidence on memories that its caller doesn't reach.
func TestRun_LeavesTheGraphsOfOtherNamespaces(t *testing.T) {
	w := newWorld(t)
	for _, namespace := range []string{here, elsewhere} {
		_, err := w.Host.Memories.Observe(w.Ctx, &core.ObserveRequest{ID: "tip-" + strings.ReplaceAll(namespace, "/", "-"), Namespace: namespace, Content: "a tip"})
		w.Must(err)
	}
	const recall = "name: same\nnodes:\n  - {name: %s, action: memory.recall, with: {query: tip}, goto: [{to: end}]}\n"
	caller := core.Caller{Subject: "me", Scopes: []core.Scope{core.ScopeRun, core.ScopeMemoryRead, core.ScopeMemoryWrite}, Namespaces: []string{here}}
	for _, run := range []struct {
		caller    core.Caller
		namespace string
		workflow  string
	}{
		{core.Operator(""), elsewhere, fmt.Sprintf(recall, "tips")},
		{caller, here, fmt.Sprintf(recall, "mine") + "  - {name: tips, action: memory.recall, with: {query: tip}}\n"}, // which nothing leads to
	} {
		_, err := w.Do(run.caller, "run_start", &operation.RunStart{Workflow: run.workflow, Namespace: run.namespace})
		w.Must(err)
	}
	d, err := w.Host.Memories.Gate.Weigh(w.Ctx, "tip-"+strings.ReplaceAll(elsewhere, "/", "-"), memory.RevalidateRequest{})
	w.Must(err)
	if n := d.Numbers; !n.GraphKnown || !n.PathReachable || n.Workflow != elsewhere+" same" {
		t.Errorf("its graph is known: %v, reachable: %v, of %q", n.GraphKnown, n.PathReachable, n.Workflow)
	}
}

func TestEvaluate_JudgesOneOutput(t *testing.T) {
	w := operationtest.NewWithJudge(t, mem.Open())
	for output, valid := range map[string]bool{`2`: true, `3`: false} {
		got := try[action.EvaluateResult](w, "evaluate", &operation.Evaluate{Evaluator: operationtest.JudgeYAML, Output: []byte(output)})
		if got.Valid != valid {
			t.Errorf("%s: %+v", output, got)
		}
	}
	if got := try[action.EvaluateResult](w, "evaluate", &operation.Evaluate{Evaluator: operationtest.JudgeYAML, State: []byte(`{"output": 2}`)}); !got.Valid {
		t.Errorf("the state's output: %+v", got)
	}
	for _, c := range []struct {
		in     operation.Evaluate
		reason string
	}{
		{operation.Evaluate{}, "workflow_invalid"},
		{operation.Evaluate{Evaluator: operationtest.JudgeYAML, Output: []byte(`1`), State: []byte(`{`)}, "json_invalid"},
		{operation.Evaluate{Evaluator: operationtest.JudgeYAML, Namespace: "a b"}, "namespace_invalid"},
		{operation.Evaluate{Evaluator: "plugin: test/none", Output: []byte(`1`)}, "plugin_not_found"},
	} {
		out, err := operation.Do(w.Ctx, operation.Call{Host: w.Host}, "evaluate", &c.in)
		if out != nil || sdk.ReasonOf(err) != c.reason {
			t.Errorf("%+v: %v, %v; want %s", c.in, out, err, c.reason)
		}
	}
}

func TestEvaluate_OpensNoStore(t *testing.T) {
	w := operationtest.NewWithJudge(t, nil)
	try[action.EvaluateResult](w, "evaluate", &operation.Evaluate{Evaluator: operationtest.JudgeYAML, Output: []byte(`2`)})
	try[action.CorrectResult](w, "correct", &operation.Correct{Corrector: operationtest.JudgeYAML, Output: []byte(`1`)})
	w.Must(w.Host.Close())
	if _, err := os.Stat(host.StoreDir(w.Host.Config.Settings)); !os.IsNotExist(err) {
		t.Errorf("the store was opened: %v", err)
	}
}

func TestCorrect_TakesErrorsOrAVerdict(t *testing.T) {
	w := operationtest.NewWithJudge(t, mem.Open())
	for errors, want := range map[string]string{
		"":                                  `2`,
		`["too short"]`:                     `["too short"]`,
		`{"valid":false,"errors":["long"]}`: `["long"]`,
	} {
		got := try[action.CorrectResult](w, "correct", &operation.Correct{Corrector: operationtest.JudgeYAML, Output: []byte(`1`), Errors: []byte(errors)})
		if string(got.Output) != want || !got.Changed {
			t.Errorf("%s: %s", errors, got.Output)
		}
	}
	_, err := w.Do(core.Operator(""), "correct", &operation.Correct{Corrector: operationtest.JudgeYAML})
	w.Refused(err, sdk.Invalid, "output_missing")
	_, err = w.Do(core.Operator(""), "correct", &operation.Correct{Corrector: "plugin: nameless", Output: []byte(`1`)})
	w.Refused(err, sdk.Invalid, "workflow_invalid")
}
