package store_test

import (
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/mem"
)

// TestPrune_SaysWhoAsked: the seals do, for a caller and for nobody. The heads that the
// root records on the way are the host's own.
func TestPrune_SaysWhoAsked(t *testing.T) {
	for _, caller := range []core.Caller{core.Operator("ada"), {}} {
		a := newArchive(t, mem.Open())
		_, err := store.Prune(core.WithCaller(t.Context(), caller), a.writer(), a.options(6))
		a.must(err)
		seals := 0
		err = a.store.View(t.Context(), func(r core.Reader) error {
			err := journal.Read(r, journal.PrunedStream, func(e journal.Entry) error {
				seal, is := journal.As[journal.SegmentPruned](&e)
				if seals++; !is || seal.AgentID != caller.Label || e.Subject != caller.Subject {
					t.Errorf("%s of %q: %s", e.Type, e.Subject, e.Data)
				}
				return nil
			})
			if err != nil {
				return err
			}
			return journal.Read(r, journal.RootStream, func(e journal.Entry) error {
				if e.Subject != "" {
					t.Errorf("the root is %s's", e.Subject)
				}
				return nil
			})
		})
		if err != nil || seals == 0 {
			t.Errorf("%d seals, %v", seals, err)
		}
		a.sound()
	}
}
