package operation_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/discover"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

// found asks what fits an intent.
func found(w *world, c core.Caller, intent string) *discover.Answer {
	w.T.Helper()
	out, err := w.Do(c, "discover", &operation.Discover{Intent: intent, Namespace: here})
	w.Must(err)
	return out.(*discover.Answer)
}

// names are the names of candidates.
func names(a *discover.Answer) string {
	var list []string
	for _, r := range a.Candidates {
		list = append(list, r.Name)
	}
	return strings.Join(list, " ")
}

// TestDiscover_Bands: each band says what to do.
func TestDiscover_Bands(t *testing.T) {
	w := newWorld(t)
	if a := found(w, core.Operator(""), "xyzzy plugh"); a.Confidence != discover.Low || !a.ExecutionBlocked || len(a.Candidates) != 0 {
		t.Errorf("what nothing fits is answered %+v", a)
	}
	a := found(w, core.Operator(""), "find memories and knowledge about the text")
	if a.Confidence != discover.Medium || !a.ClarificationRequired || a.Question == "" || a.Candidates[1].Name != "memory_recall" || len(a.Candidates) > discover.MaxCandidates {
		t.Errorf("what one fits is answered %+v", a)
	}
	if r := a.Candidates[1]; r.Usage.Operation != "memory_recall" || len(r.Usage.Arguments) > 2 || r.Usage.Arguments["query"] != "<query>" || r.Reason == "" || r.FailureRate != 0 {
		t.Errorf("the candidate is %+v", r)
	}
}

// TestDiscover_OnlyWhatTheCallerMayUse: an operation without its scope is no candidate.
func TestDiscover_OnlyWhatTheCallerMayUse(t *testing.T) {
	w := newWorld(t)
	reader := core.Caller{Subject: "reader", Scopes: []core.Scope{core.ScopeMemoryRead}, Namespaces: []string{here}}
	o, err := operation.Find("token_new")
	w.Must(err)
	intent := o.Name + " " + o.Doc
	if got := names(found(w, core.Operator(""), intent)); !strings.Contains(got, "token_new") {
		t.Errorf("the operator is offered %s", got)
	}
	if got := names(found(w, reader, intent)); strings.Contains(got, "token") {
		t.Errorf("a reader is offered %s", got)
	}
	_, err = w.Do(stranger(), "discover", &operation.Discover{Intent: intent, Namespace: here})
	w.Refused(err, sdk.Denied, "namespace_denied")
}

// TestDiscover_ByTheOperatorsPhrases: what people here say finds what the operator says they mean.
func TestDiscover_ByTheOperatorsPhrases(t *testing.T) {
	w := operationtest.New(t)
	const intent = "look into the grimoire"
	if a := found(w, core.Operator(""), intent); a.Recommended != nil {
		t.Errorf("before, it is answered %+v", a.Recommended)
	}
	w.File("reflectory.yaml", "settings: {discover: {phrases: ['memory_recall: look into the grimoire', 'nobody: do nothing']}}\n")
	settings, err := config.Load(config.Sources{Folder: w.Folder, Flags: w.Flags(), Getenv: func(string) string { return "" }})
	w.Must(err)
	w.Config.Settings = settings
	w.Reopen()
	if a := found(w, core.Operator(""), intent); a.Recommended == nil || a.Recommended.Name != "memory_recall" || a.Recommended.Score != 1 {
		t.Errorf("it is answered %+v", a)
	}
}

// TestDiscover_WorkflowsThatRan: a workflow is found by its description and examples, by
// callers that reach its namespace, and how its runs went counts once fifty have ended.
func TestDiscover_WorkflowsThatRan(t *testing.T) {
	w := operationtest.New(t)
	ctx := core.WithCaller(w.Ctx, core.Operator(""))
	text := "name: letters\ndescription: Translates business letters.\nexamples: [Turn a German letter into English]\n" +
		"nodes:\n- name: keep\n  action: memory.observe\n  with: {content: a letter}\n"
	run := func() {
		t.Helper()
		if _, err := operation.Do(ctx, operation.Call{Host: w.Host}, "run_start", &operation.RunStart{Workflow: text, Namespace: here}); err != nil {
			t.Fatal(err)
		}
	}
	run()
	a := found(w, core.Operator(""), "german letter into english")
	if len(a.Candidates) == 0 || a.Candidates[0].Name != "letters" || a.Candidates[0].FailureRate != 0 || a.Candidates[0].Usage.Arguments["workflow"] != text {
		t.Fatalf("it is answered %+v", a)
	}
	out, err := w.Do(stranger(), "discover", &operation.Discover{Intent: "german letter into english", Namespace: elsewhere + "/x"})
	w.Must(err)
	if got := names(out.(*discover.Answer)); strings.Contains(got, "letters") {
		t.Errorf("somebody elsewhere is offered %s", got)
	}
	if r := a.Candidates[0]; !strings.Contains(r.Reason, "1 of its last 1 runs passed") {
		t.Errorf("its reason is %s", r.Reason)
	}
	for range 49 {
		run()
	}
	reason := func() string {
		return found(w, core.Operator(""), "german letter into english").Candidates[0].Reason
	}
	if got := reason(); !strings.Contains(got, "1 of its last 1 runs") {
		t.Errorf("before fifty runs ended: %s", got)
	}
	run()
	if got := reason(); !strings.Contains(got, "50 of its last 50 runs") {
		t.Errorf("after fifty runs ended: %s", got)
	}
}

// TestDiscover_UnderstandsPeople has the bars of a set of labelled intents, of which every second one of an
// answer was held out when the phrases of operations and the bands were chosen.
func TestDiscover_UnderstandsPeople(t *testing.T) {
	w := operationtest.NewWithJudge(t, mem.Open())
	place := install.Place{Lock: filepath.Join(w.Folder, install.LockFile), Dir: filepath.Join(w.Folder, "plugins")}
	for _, name := range []string{"checks-eval", "llm-eval", "lua-eval", "schema-eval"} { // as they are shipped, but for the program
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "plugins", name, install.PackageFile))
		w.Must(err)
		w.File("plugins/reflectory/"+name+"/"+install.PackageFile, string(text))
		w.File("plugins/reflectory/"+name+"/"+name, "exit 1\n")
		_, err = install.Add(t.Context(), filepath.Join(place.Dir, "reflectory", name), install.AddOptions{Place: place, InPlace: true})
		w.Must(err)
	}
	data, err := os.ReadFile("testdata/intents.txt")
	w.Must(err)
	var halves [2]struct{ high, right, answered, found, unanswered, low float64 }
	seen := map[string]int{}
	for line := range strings.Lines(string(data)) {
		want, intent, is := strings.Cut(strings.TrimSpace(line), " | ")
		if !is || strings.HasPrefix(line, "#") {
			continue
		}
		half := &halves[seen[want]%2]
		seen[want]++
		a := found(w, core.Operator(""), intent)
		fits := func(r discover.Ranked) bool { return slices.Contains(strings.Split(want, ","), r.Name) }
		if a.Confidence == discover.High {
			half.high++
			if fits(*a.Recommended) {
				half.right++
			}
		}
		switch {
		case want == "-":
			half.unanswered++
			if a.Confidence == discover.Low {
				half.low++
			}
		default:
			half.answered++
			if slices.ContainsFunc(a.Candidates, fits) {
				half.found++
			}
		}
	}
	for i, h := range halves {
		t.Logf("half %d: %.0f of %.0f high ones are right, %.0f of %.0f answers found, %.0f of %.0f others refused", i, h.right, h.high, h.found, h.answered, h.low, h.unanswered)
		if h.right < .9*h.high || h.found < .7*h.answered || h.low < .8*h.unanswered || h.high < 20 {
			t.Errorf("half %d is below its bars", i)
		}
	}
}

// TestDiscover_PluginsThatMayRun: a plugin is found by its examples as soon as the lock has it, but not where the
// admission policy keeps it from running.
func TestDiscover_PluginsThatMayRun(t *testing.T) {
	w := operationtest.NewWithJudge(t, mem.Open())
	const intent = "sort the morning mail"
	if got := names(found(w, core.Operator(""), intent)); strings.Contains(got, "sorter") {
		t.Errorf("before it is there, %s are offered", got)
	}
	w.File("plugins/test/sorter/"+install.PackageFile, "name: test/sorter\nversion: 1.0.0\nkinds: [evaluator]\nentry: run.sh\nexamples: [Sort the morning mail by postcode]\n")
	w.File("plugins/test/sorter/run.sh", "exit 1\n")
	place := install.Place{Lock: filepath.Join(w.Folder, install.LockFile), Dir: filepath.Join(w.Folder, "plugins")}
	_, err := install.Add(t.Context(), filepath.Join(place.Dir, "test", "sorter"), install.AddOptions{Place: place, InPlace: true})
	w.Must(err)
	if a := found(w, core.Operator(""), intent); len(a.Candidates) == 0 || a.Candidates[0].Name != "test/sorter" {
		t.Fatalf("it is answered %+v", a)
	}
	w.File("data/policies/admission/mail.yaml", `rule: {match: [{condition: 'plugin == "test/sorter" && ns == "`+here+`"', output: '{"allow": false, "reason": "no mail here"}'}, {output: '{"allow": true}'}]}`)
	w.Reopen()
	if got := names(found(w, core.Operator(""), intent)); strings.Contains(got, "sorter") {
		t.Errorf("where it may not run, %s are offered", got)
	}
	out, err := w.Do(core.Operator(""), "discover", &operation.Discover{Intent: intent, Namespace: elsewhere})
	w.Must(err)
	if got := names(out.(*discover.Answer)); !strings.Contains(got, "sorter") {
		t.Errorf("where it may run, %s are offered", got)
	}
}
