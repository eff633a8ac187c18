package store_test

import (
	"strconv"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

// writeTo writes what a commit to a namespace does.
func writeTo(t *testing.T, s core.Store, here store.Here, namespace string) error {
	t.Helper()
	return store.HereStore(s, here).Update(t.Context(), func(tx core.Tx) error {
		if err := tx.Put([]byte("event-head/run/1"), nil); err != nil {
			return err
		}
		return tx.Put([]byte("event-head/namespace/"+namespace), []byte("{}"))
	})
}

func TestTenants_AreAssignedOnce(t *testing.T) {
	main, n := mem.Open(), 0
	newID := func() string { n++; return strconv.Itoa(n) }
	own, err := store.DatabaseID(t.Context(), mem.Open(), newID)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := store.DatabaseID(t.Context(), main, newID); err != nil || again == own {
		t.Fatalf("two databases have the id %s, %v", again, err)
	}
	if same, err := store.DatabaseID(t.Context(), main, newID); err != nil || same != "2" {
		t.Errorf("a database's id changed to %s, %v", same, err)
	}
	for range 2 {
		if _, err := store.AssignTenants(t.Context(), main, own, []string{"team", "users/ana"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := store.AssignTenants(t.Context(), main, "other", []string{"staff", "team"}); sdk.ReasonOf(err) != store.TenantElsewhere {
		t.Errorf("another database took the tenant: %v", err)
	}
	if err := writeTo(t, main, nil, "staff"); err != nil {
		t.Errorf("a tenant that wasn't assigned: %v", err)
	}
	if _, err := store.AssignTenants(t.Context(), main, own, []string{"staff"}); sdk.ReasonOf(err) != "tenant_has_data" {
		t.Errorf("a tenant with data was assigned: %v", err)
	}
	var list []string
	err = main.View(t.Context(), func(r core.Reader) (err error) {
		list, _, err = store.AssignedTenants(r)
		return err
	})
	if err != nil || len(list) != 2 || list[0] != "team" || list[1] != "users/ana" {
		t.Errorf("assigned are %v, %v", list, err)
	}
}

func TestTenants_CommitsAreRefusedElsewhere(t *testing.T) {
	main := mem.Open()
	if err := writeTo(t, main, nil, "users/bob/x"); err != nil {
		t.Fatal(err)
	}
	if _, err := store.AssignTenants(t.Context(), main, "own", []string{"team", "users/ana"}); err != nil {
		t.Fatal(err)
	}
	for _, namespace := range []string{"team", "team/a/b", "users/ana", "users/ana/x"} {
		if err := writeTo(t, main, nil, namespace); sdk.ReasonOf(err) != store.TenantElsewhere {
			t.Errorf("%s: %v", namespace, err)
		}
	}
	for _, namespace := range []string{"teams", "users/anabel", "users/bob/x", "users", "*"} {
		if err := writeTo(t, main, nil, namespace); err != nil {
			t.Errorf("%s: %v", namespace, err)
		}
	}
	for _, key := range []string{"run/1", "job/1"} {
		write := func(namespace string) error {
			return store.HereStore(main, nil).Update(t.Context(), func(tx core.Tx) error { return tx.Put([]byte(key), []byte(`{"namespace":"`+namespace+`"}`)) })
		}
		if err := write("team/x"); sdk.ReasonOf(err) != store.TenantElsewhere {
			t.Errorf("%s of the tenant: %v", key, err)
		}
		if err := write("runs"); err != nil {
			t.Error(err)
		}
		if _, err := store.AssignTenants(t.Context(), main, "own", []string{"team", "runs"}); sdk.ReasonOf(err) != "tenant_has_data" {
			t.Errorf("a tenant with %s was assigned: %v", key, err)
		}
	}
	only := func(tenant string) error {
		if tenant != "team" {
			return sdk.Errorf(sdk.Conflict, "tenants_apart", "no")
		}
		return nil
	}
	own := mem.Open()
	if err := writeTo(t, own, only, "team/x"); err != nil {
		t.Error(err)
	}
	if err := writeTo(t, own, only, "staff"); sdk.ReasonOf(err) != "tenants_apart" {
		t.Errorf("a tenant that isn't this store's: %v", err)
	}
}

// What shows where a transaction writes is more than the heads of namespaces. What names no
// namespace is in the default one.
func TestTenants_EveryWriteIsSeen(t *testing.T) {
	put := func(key, value string) func(core.Tx) error {
		return func(tx core.Tx) error { return tx.Put([]byte(key), []byte(value)) }
	}
	main := mem.Open()
	err := main.Update(t.Context(), func(tx core.Tx) error {
		return core.JoinErrors(put("session/s", `{"namespace":"team/a"}`)(tx), put("run/2", `{"namespace":"team"}`)(tx), put("run/3", "{}")(tx))
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.AssignTenants(t.Context(), main, "own", []string{"default"}); sdk.ReasonOf(err) != "tenant_has_data" {
		t.Errorf("a tenant with a run that names no namespace was assigned: %v", err)
	}
	for _, tenant := range []string{"team", "default"} {
		if err := main.Update(t.Context(), put("tenant/"+tenant, `{"database":"own"}`)); err != nil {
			t.Fatal(err)
		}
	}
	for name, write := range map[string]func(core.Tx) error{
		"a run without a namespace":    put("run/1", "{}"),
		"a namespace without a name":   put("event-head/namespace/", "{}"),
		"a session":                    put("event-head/session/s", "{}"),
		"the state of reflections":     put("reflection-state/team/a", "{}"),
		"a run that is pruned":         func(tx core.Tx) error { return tx.Delete([]byte("run/2")) },
		"a run of none that is pruned": func(tx core.Tx) error { return tx.Delete([]byte("run/3")) },
	} {
		if err := store.HereStore(main, nil).Update(t.Context(), write); sdk.ReasonOf(err) != store.TenantElsewhere {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, key := range []string{"event-head/session/none", "reflection-state/staff", "policy/active"} {
		if err := store.HereStore(main, nil).Update(t.Context(), put(key, "{}")); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func TestTenants_CheckFindsForgeries(t *testing.T) {
	for key, value := range map[string]string{"tenant/team": "x", "tenant/staff": `{"database":""}`, "tenant/team/a": `{"database":"1"}`, "tenant/port": `{"database":"1","state":"gone","other":"2"}`, "tenant/pier": `{"database":"1","state":"copying"}`} {
		s, found := mem.Open(), 0
		if err := s.Update(t.Context(), func(tx core.Tx) error { return tx.Put([]byte(key), []byte(value)) }); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Check(t.Context(), s, []core.Checker{store.TenantChecker{}}, func(core.Problem) { found++ }); err != nil || found != 1 {
			t.Errorf("%s: %d problems, %v", key, found, err)
		}
	}
}
