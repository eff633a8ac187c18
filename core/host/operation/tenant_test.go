package operation_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/governance"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

// newTenants is a world whose tenants team and users/ana have a database of their own.
func newTenants(t *testing.T) (*world, core.Store) {
	t.Helper()
	w, own := newWorld(t), mem.Open()
	w.Config.Shared, w.Config.Tenants = true, map[string]core.Store{"team": own, "users/ana": own}
	w.Reopen()
	return w, own
}

// observeIn observes a memory in a namespace.
func observeIn(w *world, namespace, title string) *core.Memory {
	w.T.Helper()
	return try[core.Memory](w, "memory_observe", &core.ObserveRequest{Namespace: namespace, Title: title, Content: "It is " + title})
}

// namespacesIn are the namespaces with a stream in a store, but for the one of *.
func namespacesIn(w *world, s core.Store) (list []string) {
	w.T.Helper()
	w.Must(s.View(w.Ctx, func(r core.Reader) (err error) {
		list, err = core.Suffixes(r, []byte("event-head/namespace/"), 100)
		list = slices.DeleteFunc(list, func(n string) bool { return n == "*" })
		return err
	}))
	return list
}

// What concerns a tenant is done in its database, whether the request names a namespace or an id.
func TestTenants_HaveTheirOwnDatabase(t *testing.T) {
	w, own := newTenants(t)
	team, main, ana := observeIn(w, "team/a", "harbour"), observeIn(w, "staff", "lighthouse"), observeIn(w, "users/ana/notes", "pier")
	observeIn(w, "users/bob", "mole")
	if got := fmt.Sprint(namespacesIn(w, own), namespacesIn(w, w.Config.Store)); got != "[team/a users/ana/notes] [staff users/bob]" {
		t.Errorf("the databases have %s", got)
	}
	for _, m := range []*core.Memory{team, main, ana} {
		if got := try[operation.Memory](w, "memory_get", &operation.MemoryGet{ID: m.ID}); got.Title != m.Title {
			t.Errorf("%s is %q", m.ID, got.Title)
		}
		found := try[operation.Recalled](w, "memory_recall", &core.RecallRequest{Query: m.Title, RecallFilter: core.RecallFilter{Namespace: m.Namespace}})
		if len(found.Memories) != 1 || found.Memories[0].ID != m.ID {
			t.Errorf("in %s, %d memories are found", m.Namespace, len(found.Memories))
		}
	}
	_, err := w.Do(core.Operator("ada"), "memory_get", &operation.MemoryGet{ID: "none"})
	w.Refused(err, sdk.NotFound, "memory_not_found")
	queued := try[operation.JobQueued](w, "job_enqueue", &operation.JobEnqueue{Namespace: "team", Type: job.Revalidate})
	if got := try[job.Job](w, "job_get", &operation.JobGet{ID: queued.JobID}); got.Namespace != "team" {
		t.Errorf("the job is in %s", got.Namespace)
	}
	one := core.Caller{Subject: "one", Scopes: core.Scopes(), Namespaces: []string{"team/**"}}
	out, err := w.Do(one, "memory_list", &operation.MemoryList{Namespace: "team", Subtree: true})
	w.Must(err)
	if list := out.(*operation.Memories); len(list.Items) != 1 || list.Items[0].ID != team.ID {
		t.Errorf("the tenant's caller sees %+v", list.Items)
	}
	_, err = w.Do(one, "memory_get", &operation.MemoryGet{ID: main.ID})
	w.Refused(err, sdk.NotFound, "memory_not_found")
	_, err = w.Do(one, "memory_observe", &core.ObserveRequest{Namespace: "staff", Title: "x", Content: "x"})
	w.Refused(err, sdk.Denied, "namespace_denied")
}

// A request that concerns tenants of two databases is refused, and writes nothing.
func TestTenants_ApartAreRefused(t *testing.T) {
	w, own := newTenants(t)
	team, main := observeIn(w, "team", "harbour"), observeIn(w, "staff", "lighthouse")
	for name, in := range map[string]any{
		"memory_link":    &memory.LinkRequest{From: team.ID, To: main.ID, Relation: "related"},
		"memory_reflect": &core.ReflectRequest{SourceIDs: []string{team.ID, main.ID}, Title: "both", Content: "Both are lit"},
		"memory_recall":  &core.RecallRequest{Query: "harbour", RecallFilter: core.RecallFilter{Subtree: true}},
		"stats":          &operation.StatsGet{},
		"governance_set": &operation.GovernanceSet{Namespace: "users", Assignments: []string{"max_reflection_depth=2"}},
		"store_check":    &operation.StoreCheck{},
		"audit_verify":   &operation.AuditVerify{},
		"policy_replay":  &operation.PolicyReplay{},
	} {
		_, err := w.Do(core.Operator("ada"), name, in)
		if sdk.ReasonOf(err) != host.TenantsApart || sdk.AsError(err).Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := fmt.Sprint(namespacesIn(w, own), namespacesIn(w, w.Config.Store)); got != "[team] [staff]" {
		t.Errorf("the databases have %s", got)
	}
	// Within one database, no part writes to a tenant of another one, such as a node of a run.
	for _, h := range w.Host.Databases.All() {
		there := map[bool]string{true: "team", false: "staff"}[h == w.Host]
		if _, err := h.Memories.Observe(w.Ctx, &core.ObserveRequest{Namespace: there, Title: "x", Content: "x"}); sdk.ReasonOf(err) != host.TenantsApart {
			t.Errorf("%s writes to %s: %v", h.Databases.Name(), there, err)
		}
	}
}

// Lists of several databases list one after the other.
func TestTenants_ListsFollowOneAnother(t *testing.T) {
	w, _ := newTenants(t)
	var want []string
	for i := range 3 {
		want = append(want, observeIn(w, "staff", fmt.Sprint("a", i)).ID, observeIn(w, "team", fmt.Sprint("b", i)).ID)
	}
	var got []string
	in := &operation.MemoryList{Subtree: true, Paging: operation.Paging{Limit: 2}}
	for range 10 {
		page := try[operation.Memories](w, "memory_list", in)
		for _, m := range page.Items {
			got = append(got, m.ID)
		}
		if in.PageToken = page.NextPageToken; in.PageToken == "" {
			break
		}
	}
	slices.Sort(want)
	if in.PageToken != "" || !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		t.Errorf("listed are %d memories of %d", len(got), len(want))
	}
	for _, token := range []string{"9.", "x", "0.x"} {
		_, err := w.Do(core.Operator("ada"), "memory_list", &operation.MemoryList{Subtree: true, Paging: operation.Paging{PageToken: token}})
		w.Refused(err, sdk.Invalid, "invalid_page_token")
	}
	namespaces := try[operation.Page[memory.NamespaceCount]](w, "memory_namespaces", &operation.MemoryNamespaces{})
	if len(namespaces.Items) != 2 {
		t.Errorf("the namespaces are %+v", namespaces.Items)
	}
}

// Each list of the table that can be of several databases has what merges it.
func TestTenants_ListsCanBeMerged(t *testing.T) {
	w, _ := newTenants(t)
	for _, o := range operation.Table() {
		if !o.ReadOnly {
			continue
		}
		if _, err := w.Do(core.Operator("ada"), o.Name, reflect.New(o.In()).Interface()); sdk.CodeOf(err) == sdk.Internal {
			t.Errorf("%s: %v", o.Name, err)
		}
	}
}

// A session, and an outcome with an idempotency key, are found where they were made.
func TestTenants_IDsWithoutNamespace(t *testing.T) {
	w, _ := newTenants(t)
	m := observeIn(w, "team", "harbour")
	try[operation.Recalled](w, "memory_recall", &core.RecallRequest{Query: "harbour", Session: "s", Turn: 1, RecallFilter: core.RecallFilter{Namespace: "team"}})
	if s := try[operation.Session](w, "session_get", &operation.SessionGet{Session: "s"}); len(s.Items) != 1 {
		t.Errorf("the session has %d turns", len(s.Items))
	}
	stream := try[operation.StreamEntries](w, "audit_entries", &operation.AuditEntries{Stream: "namespace/team"})
	if len(stream.Items) == 0 {
		t.Error("the namespace has no events")
	}
	_, err := w.Do(core.Operator("ada"), "audit_entries", &operation.AuditEntries{Stream: "root"})
	w.Refused(err, sdk.Invalid, host.TenantsApart)
	_, err = w.Do(core.Operator("ada"), "session_get", &operation.SessionGet{Session: "none"})
	w.Refused(err, sdk.NotFound, "session_not_found")
	try[core.FeedbackResult](w, "memory_feedback", &core.FeedbackRequest{Session: "s", Turn: 1, Outcome: core.OutcomeSuccess, Used: []string{m.ID}})
	erase := func() (replayed bool) {
		var by *host.Host
		call := operation.Call{Host: w.Host, IdempotencyKey: "once", Replayed: &replayed, By: &by}
		_, err := operation.Do(w.Ctx, call, "gate_request", &operation.GateRequest{ID: m.ID, Erase: true, Reason: "a test"})
		w.Must(err)
		if by == w.Host {
			t.Error("the main database did it")
		}
		return replayed
	}
	if erase() || !erase() {
		t.Error("the second call isn't answered with the first one's outcome")
	}
}

// Two processes with different maps of tenants can't both write a tenant's records.
func TestTenants_MapsOfHostsAgree(t *testing.T) {
	w, _ := newTenants(t)
	observeIn(w, "team", "harbour")
	observeIn(w, "staff", "lighthouse")
	other := w.Config
	open := func(tenants map[string]core.Store) *host.Host {
		other.Tenants = tenants
		h, err := host.Open(w.Ctx, other)
		w.Must(err)
		t.Cleanup(func() { w.Must(h.Close()) })
		return h
	}
	observe := func(h *host.Host, namespace string) error {
		_, err := operation.Do(w.Ctx, operation.Call{Host: h}, "memory_observe", &core.ObserveRequest{Namespace: namespace, Title: "x", Content: "x"})
		return err
	}
	without := open(nil)
	w.Refused(observe(without, "team"), sdk.Conflict, store.TenantElsewhere)
	w.Must(observe(without, "staff"))
	wrong := open(map[string]core.Store{"team": mem.Open()})
	w.Refused(observe(wrong, "team"), sdk.Conflict, store.TenantElsewhere)
	later := open(map[string]core.Store{"staff": mem.Open()})
	w.Refused(observe(later, "staff"), sdk.Conflict, "tenant_has_data")
	// A tenant that is assigned after a host began: its commits are refused too.
	assigned := open(map[string]core.Store{"port": mem.Open()})
	w.Must(observe(assigned, "port/x"))
	w.Refused(observe(without, "port"), sdk.Conflict, store.TenantElsewhere)
}

// While a tenant is moved, hosts with the old and with the new map begin. The old ones read what it
// has, and the new ones refuse what concerns it until it is there.
func TestTenants_HostsBeginDuringAMove(t *testing.T) {
	w, own := newTenants(t)
	m := observeIn(w, "team", "harbour")
	observeIn(w, "users/ana", "pier")
	id := func(s core.Store) (id string) {
		w.Must(s.View(w.Ctx, func(r core.Reader) error {
			value, _, err := r.Get([]byte("meta/database"))
			id = string(value)
			return err
		}))
		return id
	}
	say := func(state, in, other string) {
		for _, s := range []core.Store{w.Config.Store, own} {
			w.Must(s.Update(w.Ctx, func(tx core.Tx) error {
				return tx.Put([]byte("tenant/team"), fmt.Appendf(nil, `{"database":%q,"epoch":1,"state":%q,"other":%q}`, in, state, other))
			}))
		}
	}
	newer := w.Config
	newer.Tenants = map[string]core.Store{"users/ana": own}
	moved, err := host.Open(w.Ctx, newer)
	w.Must(err)
	defer func() { w.Must(moved.Close()) }()
	say("copying", id(own), id(w.Config.Store))
	w.Reopen()
	if got := try[operation.Memory](w, "memory_get", &operation.MemoryGet{ID: m.ID}); got.Title != m.Title {
		t.Errorf("%s is %q", m.ID, got.Title)
	}
	_, err = w.Do(core.Operator("ada"), "memory_observe", &core.ObserveRequest{Namespace: "team", Title: "x", Content: "x"})
	w.Refused(err, sdk.Unavailable, store.TenantMoving)
	observeIn(w, "users/ana", "mole")
	list := func() error {
		_, err := operation.Do(w.Ctx, operation.Call{Host: moved}, "memory_list", &operation.MemoryList{Namespace: "team"})
		return err
	}
	w.Refused(list(), sdk.Unavailable, store.TenantMoving)
	say("switched", id(w.Config.Store), id(own))
	w.Must(list())
	_, err = operation.Do(w.Ctx, operation.Call{Host: moved}, "memory_observe", &core.ObserveRequest{Namespace: "team", Title: "x", Content: "x"})
	w.Must(err)
	_, err = w.Do(core.Operator("ada"), "memory_observe", &core.ObserveRequest{Namespace: "team", Title: "x", Content: "x"})
	w.Refused(err, sdk.Conflict, store.TenantElsewhere)
}

// Policies and the settings of * are in each database, and a host that sees different ones isn't
// ready.
func TestTenants_PoliciesAndSettingsAreCopied(t *testing.T) {
	w, _ := newTenants(t)
	team := w.Host.Databases.All()[1]
	files := map[string]string{"retention/all.yaml": "rule: {match: [{output: '{\"ttl_score\": 0.1, \"state\": state}'}]}"}
	record := try[governance.Record](w, "governance_set", &operation.GovernanceSet{Namespace: "*", Assignments: []string{"max_reflection_depth=2"}})
	copied, err := team.Governance.Get(w.Ctx, "*")
	w.Must(err)
	if copied == nil || copied.Version() != record.Version() {
		t.Errorf("the copy is %+v", copied)
	}
	pushed := try[host.Pushed](w, host.PushOperation, &operation.PolicyPush{Files: files})
	if active, err := team.Policies.Active(); err != nil || active.Digest != pushed.Digest {
		t.Errorf("the tenant's database decides by %+v, %v", active, err)
	}
	look := func(want string) {
		t.Helper()
		for range 2 {
			w.Host.Copies.Compare(w.Ctx)
		}
		if err := w.Host.Unready(); sdk.ReasonOf(err) != want || err != nil && !strings.Contains(err.Error(), "team") {
			t.Errorf("unready: %v, not %q", err, want)
		}
	}
	look("")
	_, err = team.Governance.Set(w.Ctx, "*", "max_reflection_depth=3")
	w.Must(err)
	look("databases_differ")
	try[host.Pushed](w, host.PushOperation, &operation.PolicyPush{Files: files})
	look("") // the push copied them again
	_, err = team.Policies.Push(w.Ctx, map[string]string{})
	w.Must(err)
	look("databases_differ")
	last := try[host.Pushed](w, host.PushOperation, &operation.PolicyPush{Files: files})
	newer := w.Config // a further tenant gets a database
	newer.Tenants = map[string]core.Store{"team": w.Config.Tenants["team"], "users/ana": w.Config.Tenants["team"], "port": mem.Open()}
	h, err := host.Open(w.Ctx, newer)
	w.Must(err)
	defer func() { w.Must(h.Close()) }()
	port := h.Databases.Of("port")
	w.Must(port.Ready(w.Ctx))
	if active, err := port.Policies.Active(); err != nil || active.Digest != last.Digest {
		t.Errorf("a new database decides by %+v, %v", active, err)
	}
	if copied, err = port.Governance.Get(w.Ctx, "*"); err != nil || copied == nil || copied.Version() != record.Version() {
		t.Errorf("the settings of a new database are %+v, %v", copied, err)
	}
	try[governance.Record](w, "governance_unset", &operation.GovernanceUnset{Namespace: "*"})
	look("")
	if copied, err := team.Governance.Get(context.WithoutCancel(w.Ctx), "*"); err != nil || copied != nil {
		t.Errorf("the copy is %+v, %v", copied, err)
	}
}

// A database under two URLs is one, and nothing of a tenant is written to it.
func TestTenants_OneDatabaseIsntTwo(t *testing.T) {
	w := newWorld(t)
	w.Config.Shared, w.Config.Tenants = true, map[string]core.Store{"team": struct{ core.Store }{w.Config.Store}}
	w.Reopen()
	_, err := w.Do(core.Operator("ada"), "memory_observe", &core.ObserveRequest{Namespace: "team/a", Title: "harbour", Content: "It is big"})
	w.Refused(err, sdk.Invalid, "databases_same")
	observeIn(w, "staff", "lighthouse")
}

// far is a database that can't be reached while it is away.
type far struct {
	core.Store
	away atomic.Bool
}

func (f *far) View(ctx context.Context, fn func(core.Reader) error) error {
	if f.away.Load() {
		return errAway
	}
	return f.Store.View(ctx, fn)
}

func (f *far) Update(ctx context.Context, fn func(core.Tx) error) error {
	if f.away.Load() {
		return errAway
	}
	return f.Store.Update(ctx, fn)
}

var errAway = sdk.Errorf(sdk.Unavailable, "store_unreachable", "it is away")

// A database that is away has no effect on what others have, and a refusal names no tenant whom the
// caller doesn't reach.
func TestTenants_OfADatabaseThatIsAwayConcernNobodyElse(t *testing.T) {
	w, own, ana := newWorld(t), mem.Open(), &far{Store: mem.Open()}
	w.Config.Shared, w.Config.Tenants = true, map[string]core.Store{"acme": own, "team": own, "users/ana": ana}
	w.Reopen()
	m := observeIn(w, "team/a", "harbour")
	ana.away.Store(true)
	if got := try[operation.Memory](w, "memory_get", &operation.MemoryGet{ID: m.ID}); got.Title != m.Title {
		t.Errorf("%s is %q", m.ID, got.Title)
	}
	_, err := w.Do(core.Operator("ada"), "memory_get", &operation.MemoryGet{ID: "none"})
	w.Refused(err, sdk.Unavailable, "store_unreachable")
	two := core.Caller{Subject: "two", Scopes: core.Scopes(), Namespaces: []string{"team/**", "staff/**"}}
	_, err = w.Do(two, "stats", &operation.StatsGet{})
	w.Refused(err, sdk.Invalid, host.TenantsApart)
	ana.away.Store(false) // before the host is closed
	if text := fmt.Sprintf("%+v %v", err, sdk.AsError(err).Details); strings.Contains(text, "acme") || !strings.Contains(text, "team") {
		t.Errorf("a caller of team and staff is told %s", text)
	}
}
