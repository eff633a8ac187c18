package operation_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

// awayStore is a store to which nothing can be written for a while.
type awayStore struct {
	core.Store
	away atomic.Bool
}

func (s *awayStore) Update(ctx context.Context, fn func(core.Tx) error) error {
	if s.away.Load() {
		return errors.New("the store is away")
	}
	return s.Store.Update(ctx, fn)
}

// TestPlugins_WaitForTheHostsBeat: a host that others may believe to be gone calls no plugin,
// also one that it called before, and none for a run that another host has.
func TestPlugins_WaitForTheHostsBeat(t *testing.T) {
	s := &awayStore{Store: mem.Open()}
	w := operationtest.NewWithJudge(t, s)
	w.Config.GoneAfter = 10 * time.Millisecond
	w.Reopen()
	w.Must(w.Host.Membership.Join(w.Ctx, host.JoinOptions{}))
	plugins, err := w.Host.Plugins.Callable()
	w.Must(err)
	call := func(ctx context.Context) error {
		target := core.Target{Plugin: "test/judge", Config: []byte(`{"want": 2}`)}
		_, err := plugins.Evaluate(ctx, target, []*sdk.EvaluateRequest{{Output: []byte(`2`)}})
		return err
	}
	w.Must(call(t.Context()))
	s.away.Store(true)
	for range 1000 { // until its last beat is long ago
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		err = call(ctx)
		cancel()
		if err != nil {
			break
		}
	}
	w.Refused(err, sdk.Timeout, "timeout")
	s.away.Store(false)
	w.Must(call(t.Context()))

	w.Must(w.Host.Runs.Create(w.Ctx, &core.Run{ID: "run-1", Workflow: "w", State: []byte("{}")}))
	ctx := plugin.WithScope(t.Context(), &plugin.Scope{Namespace: here, RunID: "run-1"})
	w.Must(call(ctx))
	_, err = run.NewRepository(s, w.Config.Clock).Resume(w.Ctx, "run-1") // by another host
	w.Must(err)
	w.Refused(call(ctx), sdk.Conflict, "run_taken_over")
}
