package cli

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/cmd/host/internal/httpapi"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/store/mem"
)

// TestCommandWorkers_CarryOutPasses: a command that has the store until it ends, such as mcp, does the
// background work of a server: it queues the passes of housekeeping that are due, and carries them out.
func TestCommandWorkers_CarryOutPasses(t *testing.T) {
	dir := t.TempDir()
	settings, err := config.Load(config.Sources{Folder: dir, Flags: map[string]string{"data-dir": dir}})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		h, err := host.Open(t.Context(), host.Config{Store: mem.Open(), Sole: true, Settings: settings})
		must(err)
		api, err := httpapi.New(httpapi.Config{Host: h})
		must(err)
		work, err := newCommandWorkers(h)
		must(err)
		must(work.begin(t.Context(), api, nil))
		for i := range 5 {
			_, err := h.Memories.Observe(t.Context(), &core.ObserveRequest{Namespace: "team", Content: fmt.Sprint("thing number ", i)})
			must(err)
		}
		time.Sleep(10*time.Minute + 10*time.Second) // the check for passes, and the workers' own
		synctest.Wait()
		runs, _, err := h.Memories.Dreams.List(t.Context(), "team", time.Time{}, "", 10)
		must(err)
		if len(runs) != 1 || runs[0].Status != memory.DreamCompleted {
			t.Errorf("the passes are %+v", runs)
		}
		must(work.stop())
		must(h.Close())
	})
}
