package operation_test

import (
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/memory"
)

// TestLinks_OfOtherNamespacesAreNotShown has a memory linked with one elsewhere: a caller
// that reaches only this namespace gets all of the memory except the other's id, and the
// operator gets that too. The entries of the journal are left out of it: a namespace's
// journal is whole, or its hashes prove nothing.
func TestLinks_OfOtherNamespacesAreNotShown(t *testing.T) {
	w := newWorld(t)
	mine, other := w.Memory(), w.Host.Config.IDs.NewID()
	_, err := w.Host.Memories.Observe(w.Ctx, &core.ObserveRequest{ID: other, Namespace: elsewhere, Content: "The harbour closes at two."})
	w.Must(err)
	for _, link := range []memory.LinkRequest{
		{From: other, Relation: "contradicts", To: mine},
		{From: other, Relation: "supersedes", To: mine},
		{From: mine, Relation: "supports", To: other},
	} {
		_, err := w.Host.Memories.Link(w.Ctx, &link)
		w.Must(err)
	}
	recall := w.Recall(mine, "") // in a session it would be the operator's alone
	recall.IncludeSuperseded = true
	for name, in := range map[string]any{
		"memory_get":     &operation.MemoryGet{ID: mine},
		"memory_explain": &operation.MemoryExplain{ID: mine},
		"memory_recall":  recall,
	} {
		shown := answer(w.Do(core.Operator("tester"), name, in))
		if !strings.Contains(shown, other) {
			t.Errorf("%s doesn't show the operator the memory elsewhere: %s", name, shown)
		}
		out, err := w.Do(core.Caller{Subject: "one", Scopes: core.Scopes(), Namespaces: []string{here}}, name, in)
		w.Must(err)
		if e, ok := out.(*memory.Explanation); ok {
			e.History = nil
		}
		shown = answer(out, nil)
		if strings.Contains(shown, other) || !strings.Contains(shown, mine) {
			t.Errorf("%s shows a caller who reaches only here: %s", name, shown)
		}
	}
}

// TestKnowledge_PagesTellNothingElsewhere forges tokens of pages that name an entry
// elsewhere and one that isn't there: both are answered alike.
func TestKnowledge_PagesTellNothingElsewhere(t *testing.T) {
	w := newWorld(t)
	there := w.Promoted()
	list := func(after string) string {
		_, _, err := w.Host.Memories.Knowledge.List(w.Ctx, memory.KnowledgeFilter{Namespace: elsewhere, After: after})
		if err == nil {
			t.Fatalf("a page after %s was listed", after)
		}
		return strings.ReplaceAll(answer(nil, err), after, "ID")
	}
	if known, unknown := list(there.ID), list("01ARZ3NDEKTSV4RRFFQ69G5FAV"); known != unknown {
		t.Errorf("an entry elsewhere is answered\n%s\nand one that isn't there\n%s", known, unknown)
	}
}
