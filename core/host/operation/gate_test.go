package operation_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

func TestTheGateDecidesOnWhatWaits(t *testing.T) {
	w := newWorld(t)
	id, bad := w.Waiting(), 0.0
	low := policypoint.OmegaFactors{UpstreamStatus: &bad, CodebaseVerification: &bad, RuntimeUtilityTrend: &bad}
	dry := try[verdict.GateAnswer](w, "gate_run", &operation.GateRun{ID: id, OmegaFactors: low, Notes: []string{"outdated"}, DryRun: true})
	if dry.ID != "" || dry.MemoryID != id || !strings.Contains(string(jsontext.MustEncode(dry)), "outdated") {
		t.Errorf("a dry run gives %+v", dry)
	}
	made := try[verdict.GateAnswer](w, "gate_run", &operation.GateRun{ID: id})
	if made.ID == "" || made.MemoryID != id || made.Verdict != policypoint.VerdictRetain {
		t.Errorf("a run gives %+v", made)
	}
	_, err := w.Do(core.Operator(""), "gate_run", &operation.GateRun{ID: id})
	w.Refused(err, sdk.Conflict, "state_conflict")
	_, err = w.Do(core.Operator(""), "gate_run", &operation.GateRun{ID: "no-such-memory"})
	w.Refused(err, sdk.NotFound, "memory_not_found")
}

// TestADecisionIsExplainedUntilNowIsAskedFor is for what asks for now: that, a factor, a
// note, or that nothing was decided.
func TestADecisionIsExplainedUntilNowIsAskedFor(t *testing.T) {
	w := newWorld(t)
	id, well := w.Waiting(), 0.9
	explain := func(in operation.GateExplain) string {
		in.ID = id
		return try[gate.Explanation](w, "gate_explain", &in).Decision.ID
	}
	if was := explain(operation.GateExplain{}); was != "" {
		t.Errorf("decision %s is explained before one was made", was)
	}
	made := try[verdict.GateAnswer](w, "gate_run", &operation.GateRun{ID: id})
	if was := explain(operation.GateExplain{}); was != made.ID {
		t.Errorf("decision %q is explained, not %s", was, made.ID)
	}
	for _, now := range []operation.GateExplain{
		{Now: true}, {Notes: []string{"a note"}}, {OmegaFactors: policypoint.OmegaFactors{UpstreamStatus: &well}},
	} {
		if was := explain(now); was != "" {
			t.Errorf("decision %s is explained for %+v", was, now)
		}
	}
	erased := try[verdict.GateAnswer](w, "gate_request", &operation.GateRequest{ID: id, Erase: true, Reason: "it is wrong"})
	if was := explain(operation.GateExplain{}); was != erased.ID {
		t.Errorf("of a purged memory decision %q is explained, not %s", was, erased.ID)
	}
	_, err := w.Do(core.Operator(""), "gate_explain", &operation.GateExplain{ID: id, Now: true})
	w.Refused(err, sdk.NotFound, "memory_purged")
}

func TestAnErasureSaysWhy(t *testing.T) {
	w := newWorld(t)
	id := w.Memory()
	_, err := w.Do(core.Operator(""), "gate_request", &operation.GateRequest{ID: id, Reason: "it is wrong"})
	w.Refused(err, sdk.Invalid, "erase_missing")
	if _, err = w.Do(core.Operator(""), "gate_request", &operation.GateRequest{ID: id, Erase: true, Reason: " "}); sdk.CodeOf(err) != sdk.Invalid {
		t.Errorf("without a reason: %v", err)
	}
	d := try[verdict.GateAnswer](w, "gate_request", &operation.GateRequest{ID: id, Erase: true, Reason: "it is wrong"})
	if d.NextAction != verdict.NextPurge || !strings.Contains(d.Reason, "it is wrong") {
		t.Errorf("an erasure gives %+v", d)
	}
}

// TestWhoWasGivenIsNamedAsFarAsTheCallerReaches erases a memory that a reflection in
// another namespace is made of.
func TestWhoWasGivenIsNamedAsFarAsTheCallerReaches(t *testing.T) {
	w := newWorld(t)
	reflected := func() (source string, ids []string) {
		source = w.Memory()
		for _, namespace := range []string{here, elsewhere} {
			r := w.Reflection(source)
			r.Namespace = namespace
			made, err := w.Host.Memories.Reflect(w.Ctx, r)
			w.Must(err)
			ids = append(ids, made.ID)
		}
		return source, ids
	}
	for who, shown := range map[string]int{"here": 1, "operator": 2} {
		source, ids := reflected()
		c := core.Operator("")
		if who == "here" {
			c.Subject, c.Namespaces = "someone", []string{here}
		}
		out, err := w.Do(c, "gate_request", &operation.GateRequest{ID: source, Erase: true, Reason: "it is wrong"})
		w.Must(err)
		if given := out.(*verdict.GateAnswer).GivenTo; given == nil || !slices.Equal(given.Reflections, ids[:shown]) || given.Runs == nil {
			t.Errorf("%s sees %+v of %v", who, given, ids)
		}
	}
}
