package operation_test

import (
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
)

// TestClock_SetBack: if the machine's clock goes back an hour, everything still works: what
// was written keeps its time, what comes after it is stored and found, and the store agrees.
func TestClock_SetBack(t *testing.T) {
	w := operationtest.New(t)
	clock := w.Config.Clock.(*coretest.Clock)
	clock.Advance(24 * time.Hour)
	operator := core.Operator(operationtest.Agent)
	must := func(name string, in any) any {
		t.Helper()
		out, err := w.Do(operator, name, in)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return out
	}
	observe := func(id string) *core.Memory {
		t.Helper()
		return must("memory_observe", &core.ObserveRequest{ID: id, Namespace: operationtest.Here, Content: "what " + id + " tells"}).(*core.Memory)
	}
	recall := func() *operation.Recalled {
		t.Helper()
		return must("memory_recall", &core.RecallRequest{
			Session: "s1", Query: "what is told", RecallFilter: core.RecallFilter{Namespace: operationtest.Here},
		}).(*operation.Recalled)
	}
	before := observe("memory-before")
	token := must("token_new", &operation.TokenNew{Subject: "ci", Scopes: []core.Scope{core.ScopeRun}, Namespaces: []string{"**"}}).(*operation.NewToken)
	if found := recall(); len(found.Memories) != 1 || found.Turn != 1 {
		t.Fatalf("before: %+v", found)
	}

	clock.Advance(-time.Hour)
	after := observe("memory-after")
	if !after.CreatedAt.Before(before.CreatedAt) {
		t.Fatalf("the clock didn't go back: %v, then %v", before.CreatedAt, after.CreatedAt)
	}
	found := recall()
	if len(found.Memories) != 2 || found.Turn != 2 {
		t.Errorf("after: %+v", found)
	}
	must("memory_feedback", &core.FeedbackRequest{Session: "s1", Turn: found.Turn, Outcome: core.OutcomeSuccess, Used: []string{after.ID}})
	list := must("token_list", &operation.TokenList{}).(*operation.Page[operation.Token])
	if len(list.Items) != 1 || list.Items[0].ID != token.ID || list.Items[0].State != "active" {
		t.Errorf("the token: %+v", list.Items)
	}
	if checked := must("store_check", &operation.StoreCheck{}).(*operation.StoreChecked); !checked.Valid {
		t.Errorf("the store: %+v", checked.Problems)
	}
	if audited := must("audit_verify", &operation.AuditVerify{}).(*operation.Audited); !audited.Valid {
		t.Errorf("the journal: %+v", audited.Problem)
	}
}
