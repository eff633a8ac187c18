package operation_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/sdk"
)

// TestPolicyPush_PutsRightWhatIsDamaged: the operator on this machine pushes again, although no
// policy says who may, which is recorded. Nobody else can, and nothing else is allowed.
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
		_, err = w.Do(core.Operator("ada"), host.PushOperation, in) // over the network, with the operator's token
		w.Refused(err, sdk.Internal, "policy_set_damaged")
		local := operation.Call{Host: w.Host, Local: true}
		if _, err = operation.Do(w.Ctx, local, "policy_list", &operation.PolicyList{}); err == nil {
			t.Error("more than a push is allowed")
		}
		out, err := operation.Do(w.Ctx, local, host.PushOperation, in)
		w.Must(err)
		again := out.(*host.Pushed)
		if again.Epoch != uint64(epoch)+2 || again.Digest != first.Digest {
			t.Errorf("%s: %+v after %+v", key, again, first)
		}
		if err := w.Host.Ready(w.Ctx); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	var unusable []string
	w.Must(w.Config.Store.View(w.Ctx, func(r core.Reader) error {
		return journal.Read(r, journal.PolicyStream, func(e journal.Entry) error {
			var pushed journal.PoliciesPushed
			if e.Is(pushed) {
				w.Must(json.Unmarshal(e.Data, &pushed))
				unusable = append(unusable, e.Subject+" "+pushed.Unusable)
			}
			return nil
		})
	}))
	if got := strings.Join(unusable, ", "); got != "operator , operator policy_set_damaged, operator policy_set_damaged" {
		t.Errorf("recorded is %q", got)
	}
}
