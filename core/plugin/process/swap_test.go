package process_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/process"
	"github.com/reflectory/reflectory/sdk"
)

// 100 callers call real processes without a pause while versions come and go.
func TestNoCallIsLostWhenAProcessIsReplaced(t *testing.T) {
	const callers, swaps = 100, 3
	s := plugin.NewSupervisor(plugin.Options{Installed: []plugin.Installed{self(t, "serve")}, Driver: process.New(process.Options{})})
	var done atomic.Bool
	var all sync.WaitGroup
	c := do("")
	for range callers {
		all.Go(func() {
			for !done.Load() {
				_, err := s.Evaluate(t.Context(), core.Target{Plugin: "probe", Config: c.JSON, Timeout: time.Minute}, []*sdk.EvaluateRequest{{}})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range swaps {
		if err := s.Replace(t.Context(), self(t, "serve")); err != nil {
			t.Error(err)
		}
	}
	done.Store(true)
	all.Wait()
	if st := s.Status()[0]; st.Kills != 0 || st.UnaskedExits != 0 {
		t.Errorf("%+v", st)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
