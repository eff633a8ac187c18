package work_test

import (
	"context"
	"slices"
	"testing"

	"github.com/reflectory/reflectory/core/work"
)

// TestObserver_Nothing: work without an observer keeps its context, and costs no memory.
func TestObserver_Nothing(t *testing.T) {
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() {
		inner, end := work.Join(nil, nil).Begin(ctx, work.Work{Kind: work.Call, Name: "p"})
		end(work.Outcome{})
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
	observer := func(name string) work.Observer {
		return func(ctx context.Context, w work.Work) (context.Context, func(work.Outcome)) {
			outer, _ := ctx.Value(key{}).(string)
			told = append(told, "begin "+outer+name+" "+w.Name)
			return context.WithValue(ctx, key{}, outer+name), func(work.Outcome) { told = append(told, "end "+name) }
		}
	}
	ctx, end := work.Join(observer("a"), nil, observer("b")).Begin(t.Context(), work.Work{Name: "w"})
	end(work.Outcome{})
	if want := []string{"begin a w", "begin ab w", "end b", "end a"}; !slices.Equal(told, want) || ctx.Value(key{}) != "ab" {
		t.Errorf("%q, in the context %v", told, ctx.Value(key{}))
	}
}
