package loop_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/reflectory/reflectory/core/loop"
)

func TestBreakerAdmitsExactlyItsNumberUnderRacingCallers(t *testing.T) {
	for _, n := range []int{0, 1, 99, 100, 5000} {
		breaker := loop.NewBreaker(n)
		var admitted atomic.Int64
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				for range 100 {
					if breaker.Admit() {
						admitted.Add(1)
					}
				}
			})
		}
		wg.Wait()
		if got := admitted.Load(); got != int64(n) {
			t.Errorf("a breaker of %d admitted %d", n, got)
		}
		if breaker.Admit() {
			t.Errorf("a breaker of %d closed again", n)
		}
	}
}
