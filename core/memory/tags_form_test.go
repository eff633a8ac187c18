package memory_test

import (
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory"
)

// A tag is found whichever way its letters were typed: as one character, or as a letter and a mark.
func TestTags_AreFoundInEveryUnicodeForm(t *testing.T) {
	for name, forms := range map[string][2]string{
		"é": {"caf\u00e9", "cafe\u0301"}, "ü": {"M\u00fcnchen", "Mu\u0308nchen"}, "å": {"\u00e5r", "a\u030ar"},
		"ñ": {"ma\u00f1ana", "man\u0303ana"}, "Hangul": {"\ud55c", "\u1112\u1161\u11ab"}, "が": {"\u304c", "\u304b\u3099"},
		"ệ": {"Vi\u1ec7t", "Vie\u0323\u0302t"}, "two marks in another order": {"a\u0323\u0301", "a\u0301\u0323"}, "the Ångström sign": {"\u00c5", "\u212b"},
	} {
		for i := range forms {
			w := newWorld(t, openPebble(t), nil)
			kept := w.observe(t, core.ObserveRequest{Content: "the harbour, " + name, Attributes: core.Attributes{Tags: []string{"x", forms[i]}}})
			for _, asked := range forms {
				listed, err := w.List(t.Context(), memory.ListFilter{Namespace: kept.Namespace, Tags: []string{asked}})
				if err != nil || len(listed.Memories) != 1 {
					t.Errorf("%s written as %+q: listed by %+q: %+v, %v", name, forms[i], asked, listed, err)
				}
				found, err := w.Recall(t.Context(), &core.RecallRequest{Query: "harbour", RecallFilter: core.RecallFilter{Namespace: kept.Namespace, Tags: []string{asked}}})
				if err != nil || len(found.Memories) != 1 {
					t.Errorf("%s written as %+q: recalled by %+q: %+v, %v", name, forms[i], asked, found, err)
				}
			}
		}
	}
}
