package host_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/sdk"
)

// TestTurn_TenantsTakeTurns: however many subjects of one tenant make requests, another tenant's
// request begins once one or two of theirs have ended.
func TestTurn_TenantsTakeTurns(t *testing.T) {
	for _, c := range []struct {
		name     string
		patterns func(n int) []string // of the flood's n-th subject
		within   time.Duration
	}{
		{"one namespace", func(int) []string { return []string{"evil"} }, 2 * time.Second},
		{"a tree", func(int) []string { return []string{"evil/**"} }, 2 * time.Second},
		{"a namespace for each subject", func(n int) []string { return []string{fmt.Sprint("evil/", n)} }, 2 * time.Second},
		{"several of one tenant", func(n int) []string { return []string{"evil/a", fmt.Sprint("evil/b", n, "/**")} }, 2 * time.Second},
		{"a user", func(n int) []string { return []string{fmt.Sprint("users/eve/", n)} }, 2 * time.Second},
		{"two tenants", func(n int) []string { return []string{[]string{"evil", "bad"}[n%2]} }, 3 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var limits host.Limits
				limits.WorkAtOnce(4)
				ctx, stop := context.WithCancel(t.Context())
				var all sync.WaitGroup
				for n := range 500 {
					all.Go(func() {
						for ctx.Err() == nil {
							done, err := limits.Turn(ctx, core.Caller{Subject: fmt.Sprint("eve-", n), Namespaces: c.patterns(n)})
							if err == nil {
								time.Sleep(time.Second)
								done()
							}
						}
					})
				}
				time.Sleep(2500 * time.Millisecond)
				for range 5 {
					began := time.Now()
					done, err := limits.Turn(ctx, core.Caller{Subject: "bob", Namespaces: []string{"good/**"}})
					if err != nil || time.Since(began) > c.within {
						t.Errorf("the other tenant waits %s: %v", time.Since(began), err)
					}
					done()
				}
				stop()
				all.Wait()
			})
		})
	}
}

// TestTurn_Refuses a request that waits for too long, and names the limit and whose turn it is.
func TestTurn_Refuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var limits host.Limits
		bob := core.Caller{Subject: "bob", Namespaces: []string{"good/**"}}
		for range 100 { // without a limit nobody waits
			if _, err := limits.Turn(t.Context(), bob); err != nil {
				t.Fatal(err)
			}
		}
		limits.WorkAtOnce(1)
		done, err := limits.Turn(t.Context(), bob)
		if err != nil {
			t.Fatal(err)
		}
		_, err = limits.Turn(t.Context(), bob)
		e := sdk.AsError(err)
		if sdk.CodeOf(err) != sdk.Exhausted || e.Reason != "turns_exhausted" || e.Details["limit"] != "at_once" || e.Details["key"] != "good" || sdk.RetryAfter(err) <= 0 {
			t.Errorf("%v %+v", err, e)
		}
		done()
		if done, err = limits.Turn(t.Context(), bob); err != nil {
			t.Error(err)
		}
		done()
	})
}
