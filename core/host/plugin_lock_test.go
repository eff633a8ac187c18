package host_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/pluginlock"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/sdk"
)

// A host that lacks a package which all should have says so, and takes no call that needs it.
func TestPluginLock_OfAPackageThatIsLacking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := core.WithCaller(t.Context(), core.Operator("ada"))
		s := mem.Open()
		var notices []string
		h := open(t, host.Config{Store: s, Shared: true, Notices: func(n host.Notice) { notices = append(notices, n.Message) }})
		if err := h.Membership.Join(ctx, host.JoinOptions{}); err != nil {
			t.Fatal(err)
		}
		lacks := func(want ...string) {
			t.Helper()
			time.Sleep(store.DefaultGone / 5)
			synctest.Wait()
			list, err := h.Membership.Hosts(ctx)
			if err != nil || len(list) != 1 || !slices.Equal(list[0].Lacking, want) {
				t.Errorf("the hosts are %+v, %v; it should lack %v", list, err, want)
			}
		}
		lacks()
		w := &journal.Writer{Store: s}
		err := w.Update(ctx, func(tx *journal.Tx) error {
			_, _, err := pluginlock.Put(tx, map[string]string{"team/judge": "sha256:1"})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		lacks("team/judge")
		if len(notices) != 1 || !strings.Contains(notices[0], "team/judge") {
			t.Errorf("it says %q", notices)
		}
		_, err = h.Plugins.Scope(ctx, host.Need{Namespace: "n", Uses: []workflow.PluginUse{{Plugin: "team/judge"}}})
		if sdk.ReasonOf(err) != host.PluginLacking {
			t.Errorf("a call that needs it: %v", err)
		}
		if _, err = h.Plugins.Scope(ctx, host.Need{Namespace: "n", Uses: []workflow.PluginUse{{Plugin: "team/other"}}}); sdk.ReasonOf(err) == host.PluginLacking {
			t.Errorf("a call that doesn't: %v", err)
		}
		pushed, err := h.Copies.PushPlugins(ctx) // this host's lock, which pins none
		if err != nil || pushed.Epoch != 2 || len(pushed.Plugins) != 0 || pushed.Unchanged {
			t.Fatalf("pushed %+v: %v", pushed, err)
		}
		if again, err := h.Copies.PushPlugins(ctx); err != nil || !again.Unchanged || again.Epoch != 2 {
			t.Errorf("again: %+v, %v", again, err)
		}
		if _, err := h.Policies.Push(ctx, moving(0.5)); err != nil {
			t.Fatal(err)
		}
		lacks()
		if list, err := h.Membership.Hosts(ctx); err != nil || list[0].PolicyEpoch != 1 {
			t.Errorf("the host says %+v of its policies, %v", list, err)
		}
		if _, err := open(t, host.Config{Store: mem.Open()}).Copies.PushPlugins(ctx); sdk.ReasonOf(err) != "plugins_not_shared" {
			t.Errorf("a host alone: %v", err)
		}
	})
}
