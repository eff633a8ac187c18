package loop_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/core/work"
)

// TestLoop_IterationsAreObserved, the iterations of a resumed loop by the numbers that they
// have in all, and a loop that has used up its iterations begins none.
func TestLoop_IterationsAreObserved(t *testing.T) {
	var told []string
	observer := func(ctx context.Context, w work.Work) (context.Context, func(work.Outcome)) {
		return ctx, func(out work.Outcome) {
			attempt := 0
			if out.Attempt != nil && out.Attempt.Judged {
				attempt = out.Attempt.Iteration
			}
			told = append(told, fmt.Sprintf("%s %s/%s %d: attempt %d, best %.1f, %v", w.Kind, w.RunID, w.Name, w.Iteration, attempt, out.BestScore, out.Err != nil))
		}
	}
	run := func(o *loop.Options, done []core.Attempt) []string {
		told = nil
		o.Observer, o.Node, o.Done = observer, "draft", done
		_, _ = loop.Run(t.Context(), o) // how it ends isn't the matter
		return told
	}
	limits := loop.Limits{MaxIterations: 3}
	kept := &tape{failAt: 4} // the verdict on the second attempt
	o := (&world{}).options(limits)
	o.Recorder = kept
	for _, test := range []struct {
		name string
		got  []string
		want []string
	}{
		{"interrupted", run(o, nil), []string{
			"iteration run/draft 1: attempt 1, best 0.1, false", "iteration run/draft 2: attempt 2, best 0.2, true",
		}},
		{"resumed", run((&world{}).options(limits), kept.attempts), []string{
			"iteration run/draft 2: attempt 2, best 0.2, false", "iteration run/draft 3: attempt 3, best 0.3, false",
		}},
	} {
		if !slices.Equal(test.got, test.want) {
			t.Errorf("%s:\n%q, want\n%q", test.name, test.got, test.want)
		}
	}
}
