package operation_test

import (
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/sdk"
)

// TestPages_AreOfAListAndACaller: a token is valid for the list and the caller that it was
// given to, also after the host was opened again, and for nothing else.
func TestPages_AreOfAListAndACaller(t *testing.T) {
	w := newWorld(t)
	w.Memory()
	w.Memory()
	me := core.Caller{Subject: "me", Scopes: core.Scopes(), Namespaces: []string{here}}
	other, wider := me, me
	other.Subject, wider.Namespaces = "other", []string{here, elsewhere}
	one := operation.Paging{Limit: 1}
	list := func(c core.Caller, in *operation.MemoryList) (*operation.Memories, error) {
		out, err := w.Do(c, "memory_list", in)
		if err != nil {
			return nil, err
		}
		return out.(*operation.Memories), nil
	}
	first, err := list(me, &operation.MemoryList{Namespace: here, Paging: one})
	w.Must(err)
	next := operation.Paging{Limit: 1, PageToken: first.NextPageToken}
	w.Reopen()
	second, err := list(me, &operation.MemoryList{Namespace: here, Paging: next})
	w.Must(err)
	if len(second.Items) != 1 || second.Items[0].ID == first.Items[0].ID {
		t.Errorf("the second page is %+v", second)
	}
	for name, c := range map[string]struct {
		caller core.Caller
		in     operation.MemoryList
	}{
		"another subject":          {other, operation.MemoryList{Namespace: here, Paging: next}},
		"who reaches more now":     {wider, operation.MemoryList{Namespace: here, Paging: next}},
		"another filter":           {me, operation.MemoryList{Namespace: here, AgentID: "a", Paging: next}},
		"a token with more behind": {me, operation.MemoryList{Namespace: here, Paging: operation.Paging{PageToken: next.PageToken + "AA"}}},
	} {
		if _, err := list(c.caller, &c.in); sdk.ReasonOf(err) != "invalid_page_token" {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = w.Do(me, "knowledge_list", &operation.KnowledgeList{Namespace: here, Paging: next})
	w.Refused(err, sdk.Invalid, "invalid_page_token")
}
