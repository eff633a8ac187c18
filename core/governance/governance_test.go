package governance_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/governance"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

// bench is a governor on an empty store.
type bench struct {
	*testing.T
	store core.Store
	*governance.Governor
}

func newBench(t *testing.T) *bench {
	s := mem.Open()
	return &bench{t, s, governance.New(&journal.Writer{Store: s, Clock: &coretest.Clock{}})}
}

// set changes a level, and fails the test if that is refused.
func (b *bench) set(namespace string, assignments ...string) {
	b.Helper()
	if _, err := b.Set(b.Context(), namespace, assignments...); err != nil {
		b.Fatalf("set %s %v: %v", namespace, assignments, err)
	}
}

func (b *bench) resolve(namespace string) (g *core.Governance) {
	b.Helper()
	err := b.store.View(b.Context(), func(r core.Reader) (err error) {
		g, err = b.Resolve(r, namespace)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return g
}

// put writes behind the governor's back.
func (b *bench) put(key, value string) {
	b.Helper()
	err := b.store.Update(b.Context(), func(tx core.Tx) error { return tx.Put([]byte(key), []byte(value)) })
	if err != nil {
		b.Fatal(err)
	}
}

// drop removes behind the governor's back.
func (b *bench) drop(key string) {
	b.Helper()
	if err := b.store.Update(b.Context(), func(tx core.Tx) error { return tx.Delete([]byte(key)) }); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) events(stream string) (list []journal.Entry) {
	b.Helper()
	err := b.store.View(b.Context(), func(r core.Reader) error {
		return journal.Read(r, stream, func(e journal.Entry) error { list = append(list, e); return nil })
	})
	if err != nil {
		b.Fatal(err)
	}
	return list
}

func TestDefaultsHoldWhereNothingIsSet(t *testing.T) {
	want := &core.Governance{
		Namespace: "a/b", MaxReflectionDepth: 3, DecidedBy: "default",
		Retention: core.DefaultRetentionWeights(), MinGateConfidence: 0.7, Language: core.DefaultLanguage, Credit: core.CreditShared, Experiment: core.ExperimentOff, RegretBudget: 10,
		Reflection: core.ReflectionThresholds{Importance: 150, Observations: 100, Hours: 24}, MinP: 0.15, InjectionMinP: 0.3, Cut: 0.4,
	}
	if diff := cmp.Diff(want, newBench(t).resolve("a/b")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEveryFieldReachesTheResult(t *testing.T) {
	b := newBench(t)
	b.set("a", "max_reflection_depth=2", "require_approval_above_depth=1",
		"retention.w_hit=0.1", "retention.w_utility=0.2", "retention.w_miss=0.3", "retention.w_stale=0.4",
		"retention.active_threshold=0.6", "retention.revalidate_threshold=0.5", "retention.hysteresis=0.7",
		"gate.min_confidence=0.9", "limits.max_memories=10", "limits.max_bytes=20", "limits.max_links_per_memory=30",
		"reflection.importance=40.5", "reflection.observations=0", "reflection.hours=12", "language=french", "credit=per_subject", "experiment=on", "regret_budget=20", "max_staleness=1.5",
		"recall.min_p=0.2", "recall.cut=0.8", "injection.min_p=0",
		"locked=max_reflection_depth")
	one := 1
	want := &core.Governance{
		Namespace: "a/b", MaxReflectionDepth: 2, DecidedBy: "a", DepthLocked: true, RequireApprovalAbove: &one,
		Retention:         core.RetentionWeights{Hit: 0.1, Utility: 0.2, Miss: 0.3, Stale: 0.4, Active: 0.6, Revalidate: 0.5, Hysteresis: 0.7},
		MinGateConfidence: 0.9, Limits: core.NamespaceLimits{MaxMemories: 10, MaxBytes: 20, MaxLinksPerMemory: 30},
		Reflection: core.ReflectionThresholds{Importance: 40.5, Hours: 12}, Language: "french", Credit: core.CreditPerSubject, Experiment: core.ExperimentOn, RegretBudget: 20, MaxStaleness: 1500 * time.Millisecond,
		MinP: 0.2, Cut: 0.8,
		Quotas: []core.Quota{
			{Namespace: "a", Limit: core.QuotaMemories, Most: 10, Level: "a"}, {Namespace: "a", Limit: core.QuotaBytes, Most: 20, Level: "a"},
		},
		SetBy: map[string]string{},
	}
	got := b.resolve("a/b")
	for _, f := range governance.Fields() {
		if want.SetBy[f.Name] = "a"; got.SetBy[f.Name] != "a" {
			t.Fatalf("set %s here, to something else than its default, and want it in the result", f.Name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTheCap: each row sets levels in order, and says which limit applies where.
func TestTheCap(t *testing.T) {
	type change struct{ level, text string }
	cases := []struct {
		name      string
		set       []change
		in        string
		cap       int
		decidedBy string
		locked    bool
	}{
		{"of all namespaces", []change{{"*", "max_reflection_depth=5"}}, "x", 5, "*", false},
		{"the most specific level wins", []change{{"*", "max_reflection_depth=5"}, {"a", "max_reflection_depth=4"}, {"a/b", "max_reflection_depth=1"}}, "a/b/c", 1, "a/b", false},
		{"a child may raise it", []change{{"a", "max_reflection_depth=0"}, {"a/b", "max_reflection_depth=9"}}, "a/b", 9, "a/b", false},
		{"a child that sets other fields keeps the parent's", []change{{"a", "max_reflection_depth=0"}, {"a/b", "limits.max_memories=5"}}, "a/b", 0, "a", false},
		{"a sibling isn't concerned", []change{{"a/b", "max_reflection_depth=0"}}, "a/c", 3, "default", false},
		{"a name that only begins alike isn't concerned", []change{{"a", "max_reflection_depth=0"}}, "ab", 3, "default", false},
		{"a lock holds at its own level too", []change{{"a", "max_reflection_depth=0"}, {"a", "locked=max_reflection_depth"}}, "a", 0, "a", true},
		{"a later lock undoes what is set below", []change{{"a/b", "max_reflection_depth=9"}, {"a", "max_reflection_depth=0"}, {"a", "locked=max_reflection_depth"}}, "a/b", 0, "a", true},
		{"a lock without a value locks the inherited one", []change{{"a/b", "max_reflection_depth=9"}, {"*", "max_reflection_depth=1"}, {"a", "locked=max_reflection_depth"}}, "a/b", 1, "*", true},
		{"a lock without any value locks the default", []change{{"a", "max_reflection_depth=9"}, {"*", "locked=max_reflection_depth"}}, "a", 3, "default", true},
		{"the level that locks keeps its own value", []change{{"*", "max_reflection_depth=1"}, {"a", "max_reflection_depth=2"}, {"a", "locked=max_reflection_depth"}}, "a/b", 2, "a", true},
		{"what a child locks doesn't unlock", []change{{"a", "max_reflection_depth=0"}, {"a", "locked=max_reflection_depth"}, {"a/b", "locked=limits"}}, "a/b", 0, "a", true},
		{"a lock among others holds", []change{{"a", "max_reflection_depth=0"}, {"a", "locked=limits,max_reflection_depth,retention"}}, "a/b/c", 0, "a", true},
		{"an own cap of 0 under another", []change{{"a", "max_reflection_depth=9"}, {"a/b", "max_reflection_depth=0"}}, "a/b/c", 0, "a/b", false},
		{"a lock of another field doesn't hold", []change{{"a", "locked=limits"}, {"a/b", "max_reflection_depth=9"}}, "a/b", 9, "a/b", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			for _, s := range c.set {
				b.set(s.level, s.text)
			}
			g := b.resolve(c.in)
			if g.MaxReflectionDepth != c.cap || g.DecidedBy != c.decidedBy || g.DepthLocked != c.locked || g.Failure != nil {
				t.Errorf("%d by %s, locked %t, failure %v", g.MaxReflectionDepth, g.DecidedBy, g.DepthLocked, g.Failure)
			}
		})
	}
}

// TestALockHoldsForEveryField sets each field below and then above, and locks it
// above, by its name and by its group's.
func TestALockHoldsForEveryField(t *testing.T) {
	values := map[string][2]string{
		"gate.min_confidence": {"0.8", "0.9"}, "retention.active_threshold": {"0.5", "0.6"}, "retention.revalidate_threshold": {"0.1", "0.05"},
		"language": {"french", "none"}, "credit": {core.CreditPerSubject, core.CreditShared}, "experiment": {core.ExperimentOn, core.ExperimentOff},
		"recall.min_p": {"0", "1"}, "recall.cut": {"0", "1"}, "injection.min_p": {"0", "1"},
	}
	for _, f := range governance.Fields() {
		value, ok := values[f.Name]
		if !ok {
			value = [2]string{"1", "2"}
		}
		group, _, grouped := strings.Cut(f.Name, ".")
		locks := []string{f.Name}
		if grouped {
			locks = append(locks, group)
		}
		for _, lock := range locks {
			b := newBench(t)
			b.set("a/b", f.Name+"="+value[1])
			if v := b.value("a/b", f.Name); v.Level != "a/b" || v.LockedBy != "" {
				t.Errorf("%s before the lock: %+v", f.Name, v)
			}
			b.set("a", f.Name+"="+value[0], "locked="+lock)
			b.set("a/b", "locked="+lock) // the most general lock wins
			for _, namespace := range []string{"a", "a/b", "a/b/c"} {
				if v := b.value(namespace, f.Name); v.Level != "a" || v.LockedBy != "a" || v.Value.String() != value[0] {
					t.Errorf("%s locked by %s, in %s: %+v", f.Name, lock, namespace, v)
				}
			}
			_, err := b.Set(t.Context(), "a/b", f.Name+"="+value[1])
			if sdk.CodeOf(err) != sdk.Denied || sdk.ReasonOf(err) != "field_locked" {
				t.Errorf("setting %s below: %v", f.Name, err)
				continue
			}
			if d := sdk.AsError(err).Details; d["locked_by"] != "a" || d["field"] != f.Name || d["namespace"] != "a/b" {
				t.Errorf("setting %s below: details %v", f.Name, d)
			}
		}
	}
}

// value is what holds for a field in a namespace.
func (b *bench) value(namespace, field string) (v governance.Value) {
	b.Helper()
	e, err := b.Explain(b.Context(), namespace)
	if err != nil {
		b.Fatal(err)
	}
	at := slices.IndexFunc(e.Fields, func(v governance.Value) bool { return v.Field == field })
	if at < 0 {
		b.Fatalf("no field %s in %+v", field, e.Fields)
	}
	return e.Fields[at]
}

func TestSetReportsAllProblemsAndChangesNothing(t *testing.T) {
	b := newBench(t)
	b.set("a", "limits.max_bytes=7", "locked=limits,gate.min_confidence")
	_, err := b.Set(t.Context(), "a/b", "max_reflection_dept=1", "max_reflection_depth=1.5", "require_approval_above_depth=-1",
		"retention.w_hit=NaN", "retention.w_miss=Inf", "gate.min_confidence=0.6", "limits.max_bytes=8", "locked=retentions", "nonsense", "hysteresis=1",
		"limits.max_memories=1e400", "max_reflection_depth=2", "retention.hysteresis=0.1")
	if sdk.CodeOf(err) != sdk.Invalid || sdk.ReasonOf(err) != "several_problems" {
		t.Fatalf("%v (%s)", err, sdk.ReasonOf(err))
	}
	for _, want := range []string{
		`no field "max_reflection_dept" (did you mean max_reflection_depth?)`,
		"max_reflection_depth must be a whole number from 0 to 1000, not 1.5",
		"require_approval_above_depth must be a whole number from 0 to 1000, not -1",
		"retention.w_hit must be a number from 0 to 100, not NaN",
		`retention.w_miss must be a number, not "Inf"`,
		"gate.min_confidence must be a number from 0.7 to 1, not 0.6",
		"limits.max_bytes can't be set in a/b: a locks it",
		`no field "retentions" (did you mean retention?)`,
		`"nonsense" isn't of the form FIELD=VALUE`,
		`no field "hysteresis"`,
		`limits.max_memories must be a number, not "1e400"`,
		"max_reflection_depth is given twice",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("missing: %s\nin: %v", want, err)
		}
	}
	if record, err := b.Get(t.Context(), "a/b"); record != nil || err != nil {
		t.Errorf("stored: %v, %v", record, err)
	}
	if n := len(b.events("namespace/a/b")); n != 0 {
		t.Errorf("%d events", n)
	}
}

func TestSetRefuses(t *testing.T) {
	cases := []struct {
		name, level, text, reason string
		code                      sdk.Code
	}{
		{"a locked field", "a/b", "max_reflection_depth=9", "field_locked", sdk.Denied},
		{"a field of a locked group", "a/b/c", "retention.w_hit=1", "field_locked", sdk.Denied},
		{"a lower gate than the engine's", "x", "gate.min_confidence=0.69", "governance_invalid", sdk.Invalid},
		{"thresholds that cross", "x", "retention.revalidate_threshold=0.4", "governance_invalid", sdk.Invalid},
		{"no namespace", "x//y", "max_reflection_depth=1", "namespace_invalid", sdk.Invalid},
	}
	b := newBench(t)
	b.set("a", "locked=max_reflection_depth,retention")
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := b.Set(t.Context(), c.level, c.text)
			if sdk.CodeOf(err) != c.code || sdk.ReasonOf(err) != c.reason || sdk.AsError(err).Hint == "" {
				t.Errorf("%v (%s)", err, sdk.ReasonOf(err))
			}
		})
	}
}

// TestSettingsOfANameThatIsNoneCanBeDropped: an earlier program took names that
// aren't allowed any more.
func TestSettingsOfANameThatIsNoneCanBeDropped(t *testing.T) {
	b := newBench(t)
	b.put("governance/a\u200b", `{"namespace":"a\u200b","max_reflection_depth":9}`)
	if _, err := b.Unset(t.Context(), "a\u200b"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Unset(t.Context(), "a\u200b"); sdk.ReasonOf(err) != "namespace_invalid" {
		t.Errorf("it is still there: %v", err)
	}
}

func TestEachChangeIsOneEvent(t *testing.T) {
	b := newBench(t)
	ctx := core.WithCaller(t.Context(), core.Operator("ops"))
	for _, assignment := range []string{"max_reflection_depth=2", "max_reflection_depth=2" /* no change */, "limits.max_bytes=9"} {
		if _, err := b.Set(ctx, "a", assignment); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Unset(ctx, "a", "max_reflection_depth"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Unset(ctx, "a", "limits.max_bytes"); err != nil {
		t.Fatal(err)
	}
	if record, err := b.Get(t.Context(), "a"); record != nil || err != nil {
		t.Errorf("a record that sets nothing is kept: %v, %v", record, err)
	}
	one := `{"namespace":"a","max_reflection_depth":2}`
	two := `{"namespace":"a","max_reflection_depth":2,"limits":{"max_bytes":9}}`
	three := `{"namespace":"a","limits":{"max_bytes":9}}`
	want := [][2]string{{"null", one}, {one, two}, {two, three}, {three, "null"}}
	entries := b.events("namespace/a")
	if len(entries) != len(want) {
		t.Fatalf("%d events", len(entries))
	}
	for i, e := range entries {
		var data journal.GovernanceChanged
		if err := json.Unmarshal(e.Data, &data); err != nil {
			t.Fatal(err)
		}
		if e.Type != "agent.governance.changed" || data.AgentID != "ops" || e.Subject != core.OperatorSubject || string(data.Before) != want[i][0] || string(data.After) != want[i][1] {
			t.Errorf("event %d: %s %s", i, e.Type, e.Data)
		}
	}
}
