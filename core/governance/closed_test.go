package governance_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/governance"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// damaged are records that mustn't be accepted, in place of the record of "a".
var damaged = map[string]string{
	"no JSON":                    `{"namespace":"a","max_reflection`,
	"nothing":                    ``,
	"null":                       `null`,
	"a list":                     `[]`,
	"a field that isn't known":   `{"namespace":"a","max_reflection_dept":0}`,
	"a field in capitals":        `{"namespace":"a","MAX_REFLECTION_DEPTH":9}`,
	"a field twice":              `{"namespace":"a","max_reflection_depth":0,"max_reflection_depth":9}`,
	"more after it":              `{"namespace":"a","max_reflection_depth":9} {}`,
	"of another namespace":       `{"namespace":"b","max_reflection_depth":9}`,
	"a depth below zero":         `{"namespace":"a","max_reflection_depth":-1}`,
	"a broken depth":             `{"namespace":"a","max_reflection_depth":2.5}`,
	"a depth that is text":       `{"namespace":"a","max_reflection_depth":"9"}`,
	"a gate below the engine's":  `{"namespace":"a","gate":{"min_confidence":0.1}}`,
	"a lock of no field":         `{"namespace":"a","locked":["max_reflection_dept"]}`,
	"white space":                `{"namespace": "a"}`,
	"a number in another form":   `{"namespace":"a","max_reflection_depth":9.0}`,
	"the record of another kind": `{"id":"x","title":"y"}`,
}

func TestUnreadableSettingsFailClosed(t *testing.T) {
	for name, value := range damaged {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.set("*", "max_reflection_depth=9")
			b.set("a/b", "max_reflection_depth=9")
			b.put("governance/a", value)
			for _, namespace := range []string{"a", "a/b", "a/b/c"} {
				g := b.resolve(namespace)
				if g.MaxReflectionDepth != 0 || g.DecidedBy != "a" || !g.DepthLocked || g.MinGateConfidence != 1 || sdk.ReasonOf(g.Failure) != "governance_unreadable" {
					t.Errorf("%s: %+v", namespace, g)
					continue
				}
				if try, want := sdk.AsError(g.Failure).Try, sdk.NewAction("governance unset", "namespace", "a"); !reflect.DeepEqual(try, want) {
					t.Errorf("try %v, want %v", try, want)
				}
			}
			if g := b.resolve("c"); g.MaxReflectionDepth != 9 || g.Failure != nil {
				t.Errorf("a namespace that isn't below: %+v", g)
			}
			e, err := b.Explain(t.Context(), "a/b")
			if err != nil || e.Failure == nil || len(e.Fields) != 1 || e.Fields[0].Value == nil || e.Fields[0].Value.String() != "0" || e.Fields[0].Level != "a" {
				t.Errorf("Explain: %+v, %v", e, err)
			}
		})
	}
}

func TestUnreadableSettingsOfAllNamespacesCloseAll(t *testing.T) {
	b := newBench(t)
	b.set("a", "max_reflection_depth=9", "limits.max_bytes=7")
	b.put("governance/*", `{"namespace":"*","max_reflection_depth":`)
	for _, namespace := range []string{"a", "a/b", "c"} {
		if g := b.resolve(namespace); g.MaxReflectionDepth != 0 || g.DecidedBy != "*" || !g.DepthLocked || g.Failure == nil {
			t.Errorf("%s: %+v", namespace, g)
		}
	}
}

func TestUnreadableSettingsAreChangedOnlyByDroppingThem(t *testing.T) {
	b := newBench(t)
	b.put("governance/a", damaged["no JSON"])
	for _, level := range []string{"a", "a/b"} {
		if _, err := b.Set(t.Context(), level, "max_reflection_depth=9"); sdk.ReasonOf(err) != "governance_unreadable" {
			t.Errorf("set at %s: %v", level, err)
		}
	}
	if _, err := b.Get(t.Context(), "a"); sdk.ReasonOf(err) != "governance_unreadable" {
		t.Errorf("get: %v", err)
	}
	if _, err := b.Unset(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if g := b.resolve("a"); g.Failure != nil || g.MaxReflectionDepth != 3 {
		t.Errorf("after it: %+v", g)
	}
	entries := b.events("namespace/a")
	if len(entries) != 1 || !strings.Contains(string(entries[0].Data), `"before":"`+core.Digest([]byte(damaged["no JSON"]))) {
		t.Errorf("events: %v", entries)
	}
	if _, err := b.Unset(t.Context(), "a"); err != nil || len(b.events("namespace/a")) != 1 {
		t.Errorf("dropping nothing: %v", err)
	}
}

func TestCheckFindsUnreadableSettings(t *testing.T) {
	b := newBench(t)
	b.set("*", "max_reflection_depth=9")
	b.set("fine", "locked=limits")
	b.put("governance/a", damaged["no JSON"])
	b.put("governance/x//y", `{"namespace":"x//y"}`)
	b.put("governance0", "of another kind")
	b.put("governance/added", `{"namespace":"added","max_reflection_depth":9}`)
	b.set("changed", "max_reflection_depth=2")
	b.put("governance/changed", `{"namespace":"changed","max_reflection_depth":200}`)
	b.set("gone", "max_reflection_depth=0")
	b.drop("governance/gone")
	var keys []string
	err := b.store.View(t.Context(), func(r core.Reader) error {
		return b.Check(t.Context(), r, func(p core.Problem) { keys = append(keys, p.Part+" "+p.Key) })
	})
	if diff := cmp.Diff([]string{"governance governance/changed", "governance governance/gone", "governance governance/a", "governance governance/added", "governance governance/x//y"}, keys); diff != "" || err != nil {
		t.Errorf("%s, %v", diff, err)
	}
}

func TestExplainNamesTheLevelOfEachField(t *testing.T) {
	b := newBench(t)
	b.set("a/b", "max_reflection_depth=9", "limits.max_bytes=5", "retention.w_hit=0.9")
	b.set("*", "max_reflection_depth=4", "limits.max_bytes=6")
	b.set("a", "max_reflection_depth=2", "locked=max_reflection_depth")
	e, err := b.Explain(t.Context(), "a/b")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"*", "a", "a/b"}, e.Chain); diff != "" {
		t.Error(diff)
	}
	got := map[string]string{}
	for _, v := range e.Fields {
		got[v.Field] = string(jsontext.MustEncode(v))
	}
	for field, want := range map[string]string{
		"max_reflection_depth": `{"field":"max_reflection_depth","value":2,"level":"a","locked_by":"a","overridden":[` +
			`{"level":"*","value":4},{"level":"a/b","value":9,"locked":true}]}`,
		"limits.max_bytes":             `{"field":"limits.max_bytes","value":5,"level":"a/b","overridden":[{"level":"*","value":6}]}`,
		"retention.w_hit":              `{"field":"retention.w_hit","value":0.9,"level":"a/b"}`,
		"require_approval_above_depth": `{"field":"require_approval_above_depth","value":null,"level":"default"}`,
		"gate.min_confidence":          `{"field":"gate.min_confidence","value":0.7,"level":"default"}`,
	} {
		if got[field] != want {
			t.Errorf("got  %s\nwant %s", got[field], want)
		}
	}
	if want := len(governance.Fields()); len(e.Fields) != want {
		t.Errorf("%d fields, want %d", len(e.Fields), want)
	}
}

func FuzzResolveNeverFailsOpen(f *testing.F) {
	for _, value := range damaged {
		f.Add([]byte(value))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		b := newBench(t)
		b.put("governance/a", string(value))
		g := b.resolve("a")
		record, err := b.Get(t.Context(), "a")
		if (g.Failure == nil) != (err == nil) || g.Failure != nil && g.MaxReflectionDepth != 0 || g.MinGateConfidence < core.DefaultMinGateConfidence {
			t.Errorf("%+v, %+v, %v", g, record, err)
		}
	})
}
