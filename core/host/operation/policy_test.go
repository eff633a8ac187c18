package operation_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/sdk"
)

func TestThePoliciesThatDecideAreListed(t *testing.T) {
	w, dir := newWorld(t), t.TempDir()
	if got := try[operation.Policies](w, "policy_list", &operation.PolicyList{}); got.Items == nil || len(got.Items) != 0 {
		t.Errorf("the defaults alone give %+v", got)
	}
	w.Must(os.Mkdir(filepath.Join(dir, "retention"), 0o700))
	text := `{namespace: team/here, rule: {match: [{output: '{"ttl_score": 0.5, "state": state}'}]}}`
	w.Must(os.WriteFile(filepath.Join(dir, "retention", "own.yaml"), []byte(text), 0o600))
	settings, err := config.Load(config.Sources{Folder: t.TempDir(), Flags: map[string]string{"data-dir": t.TempDir(), "policy-dir": dir}})
	w.Must(err)
	w.Config.Settings = settings
	w.Reopen()
	got := try[operation.Policies](w, "policy_list", &operation.PolicyList{})
	if len(got.Items) != 1 || got.Digest == "" || got.Items[0].File != "retention/own.yaml" || got.Items[0].Namespace != here || got.Items[0].Cost == 0 {
		t.Errorf("a folder gives %+v", got)
	}
}

// TestACandidateDecidesAgainWhatTheCallerReaches has decisions in two namespaces.
func TestACandidateDecidesAgainWhatTheCallerReaches(t *testing.T) {
	w := newWorld(t)
	in := w.Replay()
	observed(w, "foreign-memory", elsewhere)
	for range 3 { // after the third it waits for the gate, which is recorded
		out, err := w.Do(stranger(), "memory_recall", &core.RecallRequest{Session: "s1", Query: "harbour", RecallFilter: core.RecallFilter{Namespace: elsewhere}})
		w.Must(err)
		_, err = w.Do(stranger(), "memory_feedback", &core.FeedbackRequest{
			Session: "s1", Turn: out.(*operation.Recalled).Turn, Outcome: core.OutcomeFailure, Used: []string{"foreign-memory"},
		})
		w.Must(err)
	}
	w.Reopen()
	decided := func(c core.Caller) (decided, changed int) {
		out, err := w.Do(c, "policy_replay", in)
		w.Must(err)
		r := out.(*operation.PolicyReplayed)
		for _, change := range r.Changes {
			if !c.Reaches(change.Namespace) {
				t.Errorf("%s is shown a decision in %s", c.Subject, change.Namespace)
			}
		}
		return r.Decided, r.Changed
	}
	all, changed := decided(core.Operator(""))
	own, _ := decided(core.Caller{Subject: "one", Scopes: []core.Scope{core.ScopePolicy}, Namespaces: []string{here}})
	foreign, _ := decided(stranger())
	if changed == 0 || own == 0 || foreign == 0 || own+foreign > all {
		t.Errorf("of %d decisions, of which %d change, %d are here and %d elsewhere", all, changed, own, foreign)
	}
	w.Config.Clock.(*coretest.Clock).Advance(time.Hour)
	in.Since = coretest.Epoch().Add(time.Minute)
	if late, _ := decided(core.Operator("")); late >= all {
		t.Errorf("%d of %d decisions are from later on", late, all)
	}
}

func TestACandidateThatCantDecideIsRefused(t *testing.T) {
	w := newWorld(t)
	for name, text := range map[string]string{
		"retention/all.yaml": "rule: {match: [{output: '1 +'}]}", "all.yaml": "{}", "nowhere/all.yaml": "{}", "gate/all.txt": "{}",
		"gate/../gate/all.yaml": "{}", "/gate/all.yaml": "{}", "gate/.all.yaml": "{}", "": "",
	} {
		_, err := w.Do(core.Operator(""), "policy_replay", &operation.PolicyReplay{Files: map[string]string{name: text}})
		if sdk.CodeOf(err) != sdk.Invalid || sdk.ReasonOf(err) != "policy_invalid" {
			t.Errorf("%q: %v", name, err)
		}
	}
}
