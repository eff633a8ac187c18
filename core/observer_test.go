package core_test

import (
	"context"
	"slices"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/policypoint"
)

// TestObserver_Nothing: work without an observer keeps its context, and costs no memory.
func TestObserver_Nothing(t *testing.T) {
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() {
		inner, end := core.JoinObservers(nil, nil).Begin(ctx, core.Work{Kind: core.WorkCall, Name: "p"})
		end(core.WorkOutcome{})
		if inner != ctx {
			t.Error("the context is another one")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestObserver_JoinedOnesNest: the first begins first and ends last, and each sees the
// context of the one before.
func TestObserver_JoinedOnesNest(t *testing.T) {
	type key struct{}
	var told []string
	observer := func(name string) core.Observer {
		return func(ctx context.Context, w core.Work) (context.Context, func(core.WorkOutcome)) {
			outer, _ := ctx.Value(key{}).(string)
			told = append(told, "begin "+outer+name+" "+w.Name)
			return context.WithValue(ctx, key{}, outer+name), func(core.WorkOutcome) { told = append(told, "end "+name) }
		}
	}
	ctx, end := core.JoinObservers(observer("a"), nil, observer("b")).Begin(t.Context(), core.Work{Name: "w"})
	end(core.WorkOutcome{})
	if want := []string{"begin a w", "begin ab w", "end b", "end a"}; !slices.Equal(told, want) || ctx.Value(key{}) != "ab" {
		t.Errorf("%q, in the context %v", told, ctx.Value(key{}))
	}
}

// TestTrace_IsReadFromTraceparent, or the header is ignored as a whole.
func TestTrace_IsReadFromTraceparent(t *testing.T) {
	const id, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for header, want := range map[string]core.Trace{
		"00-" + id + "-" + parent + "-01":                       {ID: id, Parent: parent},
		"00-" + id + "-" + parent + "-00":                       {ID: id, Parent: parent, Unsampled: true},
		"cc-" + id + "-" + parent + "-0b":                       {ID: id, Parent: parent}, // a later version
		"ff-" + id + "-" + parent + "-01":                       {},
		"00-" + id + "-0000000000000000-01":                     {},
		"00-00000000000000000000000000000000-" + parent + "-01": {},
		"00-" + id[1:] + "-" + parent + "-01":                   {},
		"00-" + id + "-" + parent:                               {},
		"00-" + id + "-" + parent + "-01\n":                     {},
		"":                                                      {},
	} {
		if got, ok := core.ParseTraceparent(header); got != want || ok != (want != core.Trace{}) {
			t.Errorf("%q: %+v, %v", header, got, ok)
		}
	}
	if got := core.TraceOf(core.WithTrace(t.Context(), core.Trace{ID: id})); got.ID != id || core.TraceOf(t.Context()) != (core.Trace{}) {
		t.Errorf("a context has %+v", got)
	}
}

// TestDecision_HasAWord for each outcome.
func TestDecision_HasAWord(t *testing.T) {
	for want, got := range map[string]interface{ Word() string }{
		"cooling": policypoint.RetentionOutcome{State: "cooling"}, "promote": policypoint.GateOutcome{Verdict: "promote"},
		"allow": policypoint.Permission{Allow: true}, "deny": policypoint.Permission{}, "single": policypoint.InjectionOutcome{Mode: "single"},
		"accept": policypoint.LoopOutcome{Accept: true, Stop: true}, "stop": policypoint.LoopOutcome{Stop: true}, "continue": policypoint.LoopOutcome{},
		"high": policypoint.RoutingOutcome{Confidence: "high"},
	} {
		if got.Word() != want {
			t.Errorf("%+v is %q", got, got.Word())
		}
	}
}
