package operation_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/plugin/install"
	corerun "github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/process"
)

const (
	// judgeYAML is a step of the plugin that this test binary serves.
	judgeYAML = "plugin: test/judge\nconfig: {want: 2}\n"
	// lostYAML needs no plugin, and its run ends with an error, so that it can be resumed.
	lostYAML = "name: lost\nnodes:\n  - {name: derive, action: memory.reflect, with: {source_ids: [lost-memory], title: t, content: c}}\n"
	// loopYAML corrects 1 to 2, which its schema's file, a prompt in the state, has no part in.
	loopYAML = `name: count
state: {from: 1, kept: true}
nodes:
  - name: count
    action: reflection.loop
    with:
      generator: {plugin: test/judge, config: {want: "{{ state.from }}"}}
      corrector: {plugin: test/judge, config: {want: 2}}
      evaluator: {plugin: test/judge, config: {want: 2}}
`
)

// servesPlugin has this test binary be the plugin.
const servesPlugin = "REFLECTORY_TEST_JUDGE"

func TestMain(m *testing.M) {
	if os.Getenv(servesPlugin) != "" {
		process.Main(judge())
		return
	}
	os.Exit(m.Run())
}

// judge is a plugin for which an output passes that is what its config wants. It generates
// and corrects to that; a correction with errors is their messages.
func judge() sdk.Plugin {
	wanted := func(config json.RawMessage) (json.RawMessage, error) {
		var c struct {
			Want json.RawMessage `json:"want"`
		}
		return c.Want, json.Unmarshal(config, &c)
	}
	return sdk.Plugin{
		Manifest: sdk.Manifest{Name: "judge", Version: "1.0.0"},
		Generator: func(_ context.Context, config json.RawMessage) (sdk.Generator, error) {
			want, err := wanted(config)
			return sdk.GeneratorFunc(func(context.Context, *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
				return &sdk.GenerateResponse{Output: want}, nil
			}), err
		},
		Corrector: func(_ context.Context, config json.RawMessage) (sdk.Corrector, error) {
			want, err := wanted(config)
			return sdk.CorrectorFunc(func(_ context.Context, req *sdk.CorrectRequest) (*sdk.CorrectResponse, error) {
				if req.RunID != "" || len(req.Errors) == 0 {
					return &sdk.CorrectResponse{Output: want}, nil
				}
				var texts []string
				for _, f := range req.Errors {
					texts = append(texts, f.Message)
				}
				return &sdk.CorrectResponse{Output: core.MustJSON(texts)}, nil
			}), err
		},
		Evaluator: func(_ context.Context, config json.RawMessage) (sdk.Evaluator, error) {
			want, err := wanted(config)
			return sdk.EvaluatorFunc(func(_ context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
				if string(req.Output) == string(want) {
					return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Valid: true, Score: 1}}, nil
				}
				return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Errors: []sdk.Finding{{Message: "not " + string(want)}}}}, nil
			}), err
		},
	}
}

// newJudgeWorld is newWorld with the plugin, on a store; nil is the one of the data folder.
func newJudgeWorld(t *testing.T, s core.Store) *world {
	t.Helper()
	w := &world{t: t, ctx: core.WithCaller(t.Context(), core.Operator("tester"))}
	program, err := os.Executable()
	w.must(err)
	dir := t.TempDir()
	folder := filepath.Join(dir, "test", "judge")
	w.must(os.MkdirAll(folder, 0o755))
	for file, text := range map[string]string{
		install.PackageFile: "name: test/judge\nversion: 1.0.0\nkinds: [generator, evaluator, corrector]\nentry: [sh, run.sh]\ncapabilities: {fs: [system]}\n",
		"run.sh":            fmt.Sprintf("%s=1 exec '%s'\n", servesPlugin, program),
	} {
		w.must(os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600))
	}
	place := install.Place{Lock: filepath.Join(dir, install.LockFile), Dir: dir}
	_, err = install.Add(t.Context(), folder, install.AddOptions{Place: place, InPlace: true})
	w.must(err)
	settings, err := config.Load(config.Sources{Folder: dir, Flags: map[string]string{
		"data-dir": t.TempDir(), "lock": place.Lock, "plugin-dir": dir, "sandbox": "off",
	}})
	w.must(err)
	w.host, err = host.Open(t.Context(), host.Config{Settings: settings, Store: s, Clock: &coretest.Clock{}, IDs: &coretest.IDs{}})
	w.must(err)
	t.Cleanup(func() { w.must(w.host.Close()) })
	return w
}

// run is the id of a run in a namespace that ended with an error.
func (w *world) run(namespace string) string {
	w.t.Helper()
	return try[operation.RunEnded](w, "run_start", &operation.RunStart{Workflow: lostYAML, Namespace: namespace}).ID
}

// list are the ids of the runs that a caller sees, page by page.
func (w *world) list(c core.Caller, in operation.RunList) (ids []string) {
	w.t.Helper()
	for {
		out, err := w.do(c, "run_list", &in)
		w.must(err)
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
	w := newJudgeWorld(t, mem.Open())
	var heard []string
	in := &operation.RunStart{Workflow: loopYAML, Namespace: here}
	in.File, in.State, in.Input = "folder/count.yaml", []byte(`{"kept": false}`), []byte(`"read"`)
	in.Set = append(in.Set, struct {
		Path  string          `json:"path"`
		Value json.RawMessage `json:"value"`
	}{"from", []byte(`7`)})
	out, err := operation.Do(w.ctx, operation.Call{Host: w.host, Events: func(e core.Event) {
		if judged, ok := e.(core.AttemptJudged); ok {
			heard = append(heard, string(judged.Attempt.Output))
		}
	}}, "run_start", in)
	w.must(err)
	run := out.(*operation.RunEnded)
	if run.Status != core.StatusPassed || run.Namespace != here || run.Workflow != "count" || !slices.Equal(heard, []string{"7", "2"}) {
		t.Errorf("the run is %+v, and its outputs %v", run.Run, heard)
	}
	if got := string(run.State); got != `{"from":7,"input":"read","kept":false}` {
		t.Errorf("it began with %s", got)
	}
	if shown := string(core.MustJSON(run)); shown != string(run.Result) || !strings.Contains(shown, `"output":2`) {
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
		{operation.RunStart{Workflow: lostYAML, Namespace: "a//b"}, "namespace_invalid"},
		{operation.RunStart{Workflow: lostYAML, SourceFiles: operation.SourceFiles{File: strings.Repeat("x", 5000)}}, "file_invalid"},
		{operation.RunStart{Workflow: strings.Replace(lostYAML, "action: memory.reflect, with: {source_ids: [lost-memory], title: t, content: c}",
			"action: plugin.call, with: {plugin: test/none}", 1)}, "plugin_not_found"},
	} {
		_, err := w.do(core.Operator(""), "run_start", &c.in)
		if sdk.ReasonOf(err) != c.reason {
			t.Errorf("%+v: %v, want %s", c.in, err, c.reason)
		}
	}
	in := operation.RunStart{Workflow: lostYAML}
	in.State = []byte(`{"reflection_output": 1}`)
	_, err := w.do(core.Operator(""), "run_start", &in)
	w.refused(err, sdk.Invalid, "state_key_invalid")
	if ids := w.list(core.Operator(""), operation.RunList{}); len(ids) > 0 {
		t.Errorf("there are runs: %v", ids)
	}
}

// TestRunStart_TakesTheFilesThatAreNamed: a workflow may bring any, and what isn't named
// isn't stored.
func TestRunStart_TakesTheFilesThatAreNamed(t *testing.T) {
	w := newWorld(t)
	in := &operation.RunStart{Workflow: "settings: {llm: {model: m}}\nnodes:\n  - {name: ask, action: llm.call, with: {prompt_file: ask.txt}}\n"}
	_, err := w.do(core.Operator(""), "run_start", in)
	if w.refused(err, sdk.Invalid, "workflow_invalid"); err != nil && !strings.Contains(err.Error(), `there is no file "ask.txt"`) {
		t.Error(err)
	}
	in.Files = map[string]string{"ask.txt": "Hi", "other.txt": "unnamed"}
	_, err = w.do(core.Operator(""), "run_start", in)
	w.refused(err, sdk.NotFound, "plugin_not_found") // the workflow is whole
}

func TestRunResume_GoesOnOnlyWithWhatEndedSo(t *testing.T) {
	w := newWorld(t)
	id := w.run(here)
	run := try[operation.RunEnded](w, "run_resume", &operation.RunResume{ID: id})
	if run.ID != id || run.Status != core.StatusError || !strings.Contains(string(core.MustJSON(run)), `"code":"source_not_found"`) {
		t.Errorf("resumed, it ended %s: %s", run.Status, core.MustJSON(run))
	}
	w.must(w.host.Runs.Create(w.ctx, &core.Run{ID: "held-by-this-program", Workflow: "w", State: []byte("{}"), Source: core.Source{Text: lostYAML}}))
	_, err := w.do(core.Operator(""), "run_resume", &operation.RunResume{ID: "held-by-this-program"})
	w.refused(err, sdk.Conflict, "run_active")
	w.must(w.host.Runs.Create(w.ctx, &core.Run{ID: "needs-a-plugin", Workflow: "w", State: []byte("{}"), Source: core.Source{Text: loopYAML}}))
	failed := &core.Run{ID: "needs-a-plugin", Status: core.StatusError, Error: &core.ErrorInfo{Code: "as_before", Message: "as before"}}
	w.must(w.host.Runs.Recorder(failed).RecordEnd(w.ctx, failed, nil))
	_, err = w.do(core.Operator(""), "run_resume", &operation.RunResume{ID: "needs-a-plugin"})
	w.refused(err, sdk.NotFound, "plugin_not_found") // not the error that it ended with before
}

func TestRunReplay_TakesAnotherEvaluatorAsText(t *testing.T) {
	w := newJudgeWorld(t, mem.Open())
	id := try[operation.RunEnded](w, "run_start", &operation.RunStart{Workflow: loopYAML, Namespace: here}).ID
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
	_, err := w.do(core.Operator(""), "run_replay", &operation.RunReplay{ID: id, Accept: "scor > 1"})
	if sdk.CodeOf(err) != sdk.Invalid || sdk.AsError(err).Details["field"] != "accept" {
		t.Errorf("a rule that doesn't compile: %v", err)
	}
	_, err = w.do(core.Operator(""), "run_replay", &operation.RunReplay{ID: id, Evaluator: "plugin: nameless"})
	w.refused(err, sdk.Invalid, "workflow_invalid")
}

func TestRunList_ShowsWhatTheCallerReaches(t *testing.T) {
	w := newWorld(t)
	var mine, all []string // by their ids, as all begin in the same instant
	for range 3 {
		mine = append(mine, w.run(here))
		all = append(all, mine[len(mine)-1], w.run(elsewhere))
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
		if got := w.list(c.caller, c.in); !slices.Equal(got, c.want) {
			t.Errorf("%s asks for %+v: %v, want %v", c.caller.Subject, c.in, got, c.want)
		}
	}
	out, err := w.do(me, "run_list", &operation.RunList{Paging: operation.Paging{Limit: 1}})
	w.must(err)
	token, err := base64.RawURLEncoding.DecodeString(out.(*operation.Page[operation.RunSummary]).NextPageToken)
	w.must(err)
	forged := base64.RawURLEncoding.EncodeToString(bytes.Replace(token, []byte(`"a":"`), []byte(`"a":"x`), 1))
	for in, reason := range map[*operation.RunList]string{
		{Status: "lost"}:                              "status_invalid",
		{Paging: operation.Paging{Limit: 201}}:        "limit_invalid",
		{Paging: operation.Paging{PageToken: "none"}}: "invalid_page_token",
		{Paging: operation.Paging{PageToken: forged}}: "invalid_page_token",
	} {
		_, err = w.do(me, "run_list", in)
		w.refused(err, sdk.Invalid, reason)
	}
	for _, namespace := range []string{elsewhere, "not/there"} {
		_, err = w.do(me, "run_list", &operation.RunList{Namespace: namespace})
		w.refused(err, sdk.Denied, "namespace_denied")
	}
	_, err = w.do(core.Operator(""), "run_list", &operation.RunList{Namespace: "a//b"})
	w.refused(err, sdk.Invalid, "namespace_invalid")
}

// TestRun_ElsewhereIsNone: by its id, whole or short, that is there and that isn't.
func TestRun_ElsewhereIsNone(t *testing.T) {
	w := newWorld(t)
	id := w.run(here)
	for name, in := range map[string]func(id string) any{
		"run_get":    func(id string) any { return &operation.RunGet{ID: id} },
		"run_resume": func(id string) any { return &operation.RunResume{ID: id} },
		"run_replay": func(id string) any { return &operation.RunReplay{ID: id} },
	} {
		for _, named := range []string{id, id[:corerun.MinPrefix], "x", "../../etc"} {
			_, err := w.do(stranger(), name, in(named))
			w.refused(err, sdk.NotFound, "run_not_found")
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
	far, err := w.host.Memories.Observe(w.ctx, &core.ObserveRequest{Namespace: elsewhere, Content: "a secret of elsewhere"})
	w.must(err)
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
		out, err := w.do(caller, "run_start", &operation.RunStart{Workflow: c.workflow, Namespace: here})
		w.must(err)
		run := out.(*operation.RunEnded)
		code := ""
		if run.Error != nil {
			code = run.Error.Code
		}
		if code != c.code || strings.Contains(string(core.MustJSON(run)), "secret of elsewhere") {
			t.Errorf("%v: %s: %s", c.scopes, c.workflow, core.MustJSON(run))
		}
	}
	if got := try[operation.Memories](w, "memory_list", &operation.MemoryList{Namespace: elsewhere}); len(got.Items) != 1 {
		t.Errorf("elsewhere has %d memories", len(got.Items))
	}
	resumed := w.run(here) // by somebody who may: now by one who may not
	out, err := w.do(core.Caller{Subject: "me", Scopes: all[:1], Namespaces: []string{here}}, "run_resume", &operation.RunResume{ID: resumed})
	w.must(err)
	if run := out.(*operation.RunEnded); run.Error.Code != "scope_denied" {
		t.Errorf("resumed: %s", core.MustJSON(run))
	}
}

func TestEvaluate_JudgesOneOutput(t *testing.T) {
	w := newJudgeWorld(t, mem.Open())
	for output, valid := range map[string]bool{`2`: true, `3`: false} {
		got := try[core.EvaluateResult](w, "evaluate", &operation.Evaluate{Evaluator: judgeYAML, Output: []byte(output)})
		if got.Valid != valid {
			t.Errorf("%s: %+v", output, got)
		}
	}
	if got := try[core.EvaluateResult](w, "evaluate", &operation.Evaluate{Evaluator: judgeYAML, State: []byte(`{"output": 2}`)}); !got.Valid {
		t.Errorf("the state's output: %+v", got)
	}
	for _, c := range []struct {
		in     operation.Evaluate
		reason string
	}{
		{operation.Evaluate{}, "workflow_invalid"},
		{operation.Evaluate{Evaluator: judgeYAML, Output: []byte(`1`), State: []byte(`{`)}, "json_invalid"},
		{operation.Evaluate{Evaluator: judgeYAML, Namespace: "a b"}, "namespace_invalid"},
		{operation.Evaluate{Evaluator: "plugin: test/none", Output: []byte(`1`)}, "plugin_not_found"},
	} {
		out, err := operation.Do(w.ctx, operation.Call{Host: w.host}, "evaluate", &c.in)
		if out != nil || sdk.ReasonOf(err) != c.reason {
			t.Errorf("%+v: %v, %v; want %s", c.in, out, err, c.reason)
		}
	}
}

func TestEvaluate_OpensNoStore(t *testing.T) {
	w := newJudgeWorld(t, nil)
	try[core.EvaluateResult](w, "evaluate", &operation.Evaluate{Evaluator: judgeYAML, Output: []byte(`2`)})
	try[core.CorrectResult](w, "correct", &operation.Correct{Corrector: judgeYAML, Output: []byte(`1`)})
	w.must(w.host.Close())
	if _, err := os.Stat(host.StoreDir(w.host.Settings())); !os.IsNotExist(err) {
		t.Errorf("the store was opened: %v", err)
	}
}

func TestCorrect_TakesErrorsOrAVerdict(t *testing.T) {
	w := newJudgeWorld(t, mem.Open())
	for errors, want := range map[string]string{
		"":                                  `2`,
		`["too short"]`:                     `["too short"]`,
		`{"valid":false,"errors":["long"]}`: `["long"]`,
	} {
		got := try[core.CorrectResult](w, "correct", &operation.Correct{Corrector: judgeYAML, Output: []byte(`1`), Errors: []byte(errors)})
		if string(got.Output) != want || !got.Changed {
			t.Errorf("%s: %s", errors, got.Output)
		}
	}
	_, err := w.do(core.Operator(""), "correct", &operation.Correct{Corrector: judgeYAML})
	w.refused(err, sdk.Invalid, "output_missing")
	_, err = w.do(core.Operator(""), "correct", &operation.Correct{Corrector: "plugin: nameless", Output: []byte(`1`)})
	w.refused(err, sdk.Invalid, "workflow_invalid")
}
