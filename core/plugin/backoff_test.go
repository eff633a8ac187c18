package plugin

import (
	"testing"
	"time"
)

// The breaker opens before the backoff has grown far, so its growth is tested
// here and not through the supervisor.
func TestBackoffDoublesUpToItsLimit(t *testing.T) {
	for n, want := range map[int]time.Duration{
		1: 250 * time.Millisecond, 2: 500 * time.Millisecond, 3: time.Second, 7: 16 * time.Second,
		8: 30 * time.Second, 100: 30 * time.Second, 1 << 30: 30 * time.Second,
	} {
		if got := backoff(n, 0.5); got != want {
			t.Errorf("after %d exits: %s, want %s", n, got, want)
		}
		if low, high := backoff(n, 0), backoff(n, 1); low != want*8/10 || high != want*12/10 {
			t.Errorf("after %d exits: from %s to %s, want 20%% about %s", n, low, high, want)
		}
	}
}
