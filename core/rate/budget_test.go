package rate_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/rate"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

// TestSpending_IsADaysAndOutlivesItsHost: several hosts count together, a host that starts again goes on,
// and the next day begins with nothing.
func TestSpending_IsADaysAndOutlivesItsHost(t *testing.T) {
	store, clock := mem.Open(), &coretest.Clock{}
	ctx := t.Context()
	host := func() *rate.Spending { return &rate.Spending{Store: store, Clock: clock} }
	want := func(what string, s *rate.Spending, name string, tokens int64, usd float64) {
		t.Helper()
		got, err := s.Used(ctx, name)
		if err != nil || got.TokensIn+got.TokensOut != tokens || got.CostUSD != usd {
			t.Errorf("%s: %s used %+v, %v; want %d tokens and $%v", what, name, got, err, tokens, usd)
		}
	}
	add := func(s *rate.Spending, in, out int64, usd float64, names ...string) {
		t.Helper()
		if err := s.Add(ctx, sdk.Usage{TokensIn: in, TokensOut: out, CostUSD: usd}, names...); err != nil {
			t.Fatal(err)
		}
	}
	a, b := host(), host()
	want("before", a, "token/1", 0, 0)
	add(a, 10, 5, 0.25, "token/1", "model/m")
	add(b, 1, 0, 0.5, "token/1")
	add(b, 0, 0, 0, "token/2")
	add(b, -5, 0, -1, "token/2")
	want("two hosts", a, "token/1", 16, 0.75)
	want("two hosts", b, "model/m", 15, 0.25)
	want("nothing", b, "token/2", 0, 0)
	want("a name that begins alike", b, "token/11", 0, 0)
	want("a host that started again", host(), "token/1", 16, 0.75)
	clock.Advance(24 * time.Hour)
	want("the next day", a, "token/1", 0, 0)
	add(a, 3, 0, 0, "token/1")
	want("the next day", b, "token/1", 3, 0)

	var all sync.WaitGroup
	for range 40 {
		all.Go(func() { add(a, 1, 0, 0.000000001, "many") })
	}
	all.Wait()
	want("at once", b, "many", 40, 0.00000004)
}

// TestSpending_OldDaysGo while new ones come, so that they don't pile up.
func TestSpending_OldDaysGo(t *testing.T) {
	store, clock := mem.Open(), &coretest.Clock{}
	s := rate.Spending{Store: store, Clock: clock}
	for day := range 20 {
		for i := range 5 {
			if err := s.Add(t.Context(), sdk.Usage{TokensIn: 1}, fmt.Sprintf("token/%d/%d", day, i)); err != nil {
				t.Fatal(err)
			}
		}
		clock.Advance(24 * time.Hour)
	}
	kept := 0
	err := store.View(context.Background(), func(r core.Reader) error {
		return core.ScanPrefix(r, []byte("spent/"), func(_, _ []byte) (bool, error) { kept++; return true, nil })
	})
	if err != nil || kept != 10 {
		t.Errorf("%d are kept, %v; want yesterday's and today's", kept, err)
	}
}
