package operation

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// TestLimit_EndsAsATimeoutDoes, whether something waits for it from the start, later or never.
func TestLimit_EndsAsATimeoutDoes(t *testing.T) {
	type key struct{}
	for name, end := range map[string]struct {
		do   func(l *limited, cancel func())
		want error
	}{
		"not yet":                      {func(*limited, func()) { time.Sleep(Deadline - 1) }, nil},
		"at its time":                  {func(*limited, func()) { time.Sleep(Deadline) }, context.DeadlineExceeded},
		"with its parent":              {func(_ *limited, cancel func()) { cancel() }, context.Canceled},
		"with its operation":           {func(l *limited, _ func()) { l.end() }, context.Canceled},
		"with its operation, and late": {func(l *limited, _ func()) { l.end(); l.end(); time.Sleep(2 * Deadline) }, context.Canceled},
	} {
		for waits, wait := range map[string]func(context.Context) context.Context{
			"never":  func(ctx context.Context) context.Context { return ctx },
			"before": func(ctx context.Context) context.Context { isDone(ctx); return ctx },
			"by a context made from it": func(ctx context.Context) context.Context {
				before := runtime.NumGoroutine()
				made, cancel := context.WithCancel(ctx)
				t.Cleanup(cancel)
				if runtime.NumGoroutine() != before {
					t.Error("a context made from it starts a goroutine")
				}
				return made
			},
		} {
			t.Run(name+", waited for "+waits, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					parent, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "v"))
					defer cancel()
					l := withLimit(parent, Deadline)
					defer l.end()
					at := wait(l)
					end.do(l, cancel)
					synctest.Wait()
					//nolint:errorlint // package context returns it as it is
					if got := at.Err(); got != end.want || isDone(at) != (end.want != nil) || l.Err() != end.want || at.Value(key{}) != "v" {
						t.Errorf("%v (done: %v), want %v", got, isDone(at), end.want)
					}
				})
			})
		}
	}
}

// TestLimit_IsNoLaterThanItsParents.
func TestLimit_IsNoLaterThanItsParents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sooner, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		l := withLimit(sooner, Deadline)
		defer l.end()
		if at, is := l.Deadline(); !is || time.Until(at) != time.Second {
			t.Errorf("it ends at %s, %v", at, is)
		}
		time.Sleep(time.Second)
		if err := l.Err(); err != context.DeadlineExceeded { //nolint:errorlint // as above
			t.Error(err)
		}
	})
}

func isDone(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return true
	default:
		return false
	}
}
