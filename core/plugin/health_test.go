package plugin_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core/plugin"
)

func TestAnIdleInstanceThatHangsIsReplaced(t *testing.T) {
	d := &driver{healthFn: func(ctx context.Context, i *instance) error {
		if i.n > 1 {
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}}
	supervise(t, d, plugin.Limits{}, func(t *testing.T, s *plugin.Supervisor) {
		if err := s.Start(t.Context(), "p"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(36 * time.Second) // a check after 30, and its 5
		synctest.Wait()
		if st := statusOf(t, s); st.Instances != 0 || st.UnaskedExits != 1 || st.Kills != 0 || !d.instances[0].wasKilled() {
			t.Errorf("%+v", st)
		}
		if err := evaluate(t.Context(), s); err != nil || len(d.instances) != 2 {
			t.Errorf("%v, %d instances", err, len(d.instances))
		}
	})
}

func TestABusyInstanceIsNotAskedForItsHealth(t *testing.T) {
	var asked atomic.Int32
	d := &driver{
		callFn:   func(ctx context.Context, i *instance) error { return i.work(ctx, 45*time.Second) },
		healthFn: func(context.Context, *instance) error { asked.Add(1); return nil },
	}
	supervise(t, d, plugin.Limits{Timeout: time.Minute}, func(t *testing.T, s *plugin.Supervisor) {
		if err := evaluate(t.Context(), s); err != nil || asked.Load() != 0 {
			t.Errorf("%v, asked %d times", err, asked.Load())
		}
		time.Sleep(16 * time.Second)
		synctest.Wait()
		if asked.Load() != 1 || statusOf(t, s).Instances != 1 {
			t.Errorf("asked %d times; %+v", asked.Load(), statusOf(t, s))
		}
	})
}
