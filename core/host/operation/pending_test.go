package operation_test

import (
	"slices"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

func TestWhatWaitsIsListedPageByPage(t *testing.T) {
	w := newWorld(t)
	ids := []string{w.Pending(here), w.Pending(elsewhere), w.Pending(here), w.Pending(here)}
	own := []string{ids[0], ids[2], ids[3]}
	one := core.Caller{Subject: "one", Scopes: []core.Scope{core.ScopeApprove}, Namespaces: []string{here}}
	for _, c := range []struct {
		who  core.Caller
		in   operation.MemoryPending
		want []string
	}{
		{core.Operator(""), operation.MemoryPending{}, ids},
		{core.Operator(""), operation.MemoryPending{Namespace: here}, own},
		{one, operation.MemoryPending{}, own},
		{one, operation.MemoryPending{Namespace: here}, own},
	} {
		var got []string
		in := c.in
		for in.Limit = 2; ; {
			out, err := w.Do(c.who, "memory_pending", &in)
			w.Must(err)
			page := out.(*operation.Page[*memory.Pending])
			for _, p := range page.Items {
				got = append(got, p.ID)
			}
			if in.PageToken = page.NextPageToken; in.PageToken == "" {
				break
			}
			if len(page.Items) != 2 {
				t.Fatalf("a page that isn't the last has %d items", len(page.Items))
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s sees %v of %+v, not %v", c.who.Subject, got, c.in, c.want)
		}
	}
	_, err := w.Do(one, "memory_pending", &operation.MemoryPending{Namespace: elsewhere})
	w.Refused(err, sdk.Denied, "namespace_denied")
}

func TestWhatWaitsIsApprovedOrRejected(t *testing.T) {
	w := newWorld(t)
	id := w.Pending(here)
	if made := try[core.ReflectResult](w, "memory_approve", &operation.MemoryApprove{ID: id}); made.ID == "" || made.Namespace != here {
		t.Errorf("an approval gives %+v", made)
	}
	_, err := w.Do(core.Operator(""), "memory_approve", &operation.MemoryApprove{ID: id})
	w.Refused(err, sdk.NotFound, "pending_not_found")
	id = w.Pending(here)
	if gone := try[memory.Pending](w, "memory_reject", &operation.MemoryReject{ID: id, Reason: "too far"}); gone.ID != id {
		t.Errorf("a rejection gives %+v", gone)
	}
	_, err = w.Do(core.Operator(""), "memory_reject", &operation.MemoryReject{ID: id})
	w.Refused(err, sdk.NotFound, "pending_not_found")
}

// TestWhatWaitsElsewhereIsntFoundByItsBeginning is for short ids, which are looked up among
// all there are.
func TestWhatWaitsElsewhereIsntFoundByItsBeginning(t *testing.T) {
	w, empty := newWorld(t), newWorld(t)
	ids := []string{w.Pending(elsewhere), w.Pending(elsewhere)}
	one := core.Caller{Subject: "one", Scopes: []core.Scope{core.ScopeApprove}, Namespaces: []string{here}}
	for _, id := range []string{ids[0], ids[0][:len(ids[0])-1], ids[0][:20], ids[0][:4], "", "no id"} {
		for name, in := range map[string]any{"memory_approve": &operation.MemoryApprove{ID: id}, "memory_reject": &operation.MemoryReject{ID: id}} {
			if there, absent := answer(w.Do(one, name, in)), answer(empty.Do(one, name, in)); there != absent {
				t.Errorf("%s of %q is answered\n%s\nand where it isn't\n%s", name, id, there, absent)
			}
		}
	}
	beginning := w.Pending(here)
	_, err := w.Do(one, "memory_approve", &operation.MemoryApprove{ID: beginning[:len(beginning)-1]})
	w.Refused(err, sdk.NotFound, "pending_not_found")
}
