package cli

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestStopServer_EndsInTime, whatever its requests and jobs do: what hangs doesn't add up.
func TestStopServer_EndsInTime(t *testing.T) {
	const second = time.Second
	for name, tt := range map[string]struct {
		requests, jobs, want time.Duration
	}{
		"nothing runs":                          {0, 0, 0},
		"a short request":                       {3 * second, 0, 3 * second},
		"a short job":                           {0, 8 * second, 8 * second},
		"a job that is put back":                {0, 10 * second, 10 * second},
		"a job that doesn't notice":             {0, poolTime, poolTime},
		"a slow client":                         {22 * second, 0, 22 * second},
		"a request that doesn't notice":         {24 * second, 0, 24 * second},
		"a slow client and a job":               {22 * second, 10 * second, 22 * second},
		"a request and a job, neither notices":  {24 * second, poolTime, 24 * second},
		"a request that ends before jobs begin": {9 * second, poolTime, 9*second + poolTime},
		"a request that ends while jobs end":    {12 * second, poolTime, 10*second + poolTime},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var stops atomic.Int32
				ended := make(chan struct{})
				work := func() error { // sync.OnceValue, whose lock would stop the clock of the bubble
					if stops.Add(1) == 1 {
						time.Sleep(tt.jobs)
						close(ended)
					}
					<-ended
					return nil
				}
				began := time.Now()
				err := errors.Join(stopServer(func() error { time.Sleep(tt.requests); return nil }, work), work())
				if took := time.Since(began); err != nil || took != tt.want || took >= lastResort {
					t.Errorf("%v after %s, want %s", err, took, tt.want)
				}
			})
		})
	}
}

// TestApp_ExitCodeOfALateEnd is 0 for a server that was stopped, and for nothing else.
func TestApp_ExitCodeOfALateEnd(t *testing.T) {
	for stopping, want := range map[bool]int{true: 0, false: exitFailure} {
		var said strings.Builder
		a := &App{Stderr: &said}
		a.stopping.Store(stopping)
		if got := a.endLate(); got != want || !strings.Contains(said.String(), "25s") {
			t.Errorf("stopping %t: %d, %q", stopping, got, said.String())
		}
	}
}

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

// TestCollectLater_OnlyTheFirst collection comes later, and none if the operator has set GOGC.
func TestCollectLater_OnlyTheFirst(t *testing.T) {
	const usual = 150
	defer debug.SetGCPercent(debug.SetGCPercent(usual))
	collectLater(func(string) string { return "150" })
	if now := percentOfGC(); now != usual {
		t.Errorf("with an operator's GOGC it is %d", now)
	}
	collectLater(func(string) string { return "" })
	if now := percentOfGC(); now != firstCollection {
		t.Errorf("before the first collection it is %d", now)
	}
	for percentOfGC() != usual { // or the test hangs
		runtime.GC()
	}
}

// percentOfGC is the GOGC that holds now.
func percentOfGC() uint64 {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
