package cli

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestMain_EndsLateAtLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var ended time.Time
		endLate(ctx, func() { ended = time.Now() })
		time.Sleep(time.Hour)
		synctest.Wait()
		if !ended.IsZero() {
			t.Fatal("it ended before it was cancelled")
		}
		cancelled := time.Now()
		cancel()
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := ended.Sub(cancelled); got != lastResort {
			t.Errorf("it ended after %s, want %s", got, lastResort)
		}
	})
}
