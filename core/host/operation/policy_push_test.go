package operation_test

import (
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/sdk"
)

// TestPolicyPush_PutsRightWhatIsDamaged: the operator pushes again, although no policy says
// who may.
func TestPolicyPush_PutsRightWhatIsDamaged(t *testing.T) {
	w := newWorld(t)
	w.Config.Shared = true
	w.Reopen()
	in := &operation.PolicyPush{Files: w.Replay().Files}
	first := try[host.Pushed](w, host.PushOperation, in)
	for epoch, key := range []string{"policy-set/" + first.Digest, "policy/active"} {
		w.Must(w.Config.Store.Update(w.Ctx, func(tx core.Tx) error { return tx.Put([]byte(key), []byte("x")) }))
		w.Reopen()
		_, err := w.Do(core.Caller{Subject: "one", Scopes: core.Scopes(), Namespaces: []string{"**"}}, host.PushOperation, in)
		w.Refused(err, sdk.Internal, "policy_set_damaged")
		again := try[host.Pushed](w, host.PushOperation, in)
		if again.Epoch != uint64(epoch)+2 || again.Digest != first.Digest {
			t.Errorf("%s: %+v after %+v", key, again, first)
		}
		if err := w.Host.Ready(w.Ctx); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
}
