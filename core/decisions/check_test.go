package decisions_test

import (
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/decisions"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/core/store/mem"
)

func TestCheckHoldsRecordsToTheirEvents(t *testing.T) {
	firstOf := func(r core.Reader, prefix string) (key []byte, err error) {
		err = core.ScanPrefix(r, []byte(prefix), func(k, _ []byte) (bool, error) {
			key = append(key, k...)
			return false, nil
		})
		return key, err
	}
	first := func(t *testing.T, s core.Store) (key []byte) {
		err := s.View(t.Context(), func(r core.Reader) (err error) {
			key, err = firstOf(r, "decision/")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	cases := []struct {
		name   string
		tamper func(tx core.Tx, key []byte) error
		says   string
	}{
		{"whole", func(core.Tx, []byte) error { return nil }, ""},
		{"a record is gone", func(tx core.Tx, key []byte) error { return tx.Delete(key) }, "is gone"},
		{"a record was changed", func(tx core.Tx, key []byte) error { return tx.Put(key, []byte(`"three"`)) }, "was changed"},
		{"a record without an event", func(tx core.Tx, key []byte) error { return tx.Put(append(key, '0'), []byte(`"one"`)) }, "no event names 1 of the records"},
		{"an event that is no decision", func(tx core.Tx, _ []byte) error {
			return journal.Append(t.Context(), tx, journal.DecisionStream(string(policypoint.Points()[0])), coretest.Epoch(), journal.RunResumed{})
		}, "the event isn't a decision"},
		{"a broken journal, which is told elsewhere", func(tx core.Tx, _ []byte) error {
			key, err := firstOf(tx, "event/")
			return core.JoinErrors(err, tx.Put(key, []byte("{")))
		}, "no event names 2 of the records"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := mem.Open()
			log := decisions.NewLog(decisions.Options{IDs: &core.SystemIDs{}, Writer: &journal.Writer{Store: s}})
			log.Add(decided("one"))
			log.Add(decided("two"))
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
			key := first(t, s)
			if err := s.Update(t.Context(), func(tx core.Tx) error { return c.tamper(tx, key) }); err != nil {
				t.Fatal(err)
			}
			var found []string
			err := s.View(t.Context(), func(r core.Reader) error {
				return decisions.Checker{}.Check(t.Context(), r, func(p core.Problem) { found = append(found, p.Message) })
			})
			if err != nil {
				t.Fatal(err)
			}
			if c.says == "" && len(found) > 0 || c.says != "" && (len(found) != 1 || !strings.Contains(found[0], c.says)) {
				t.Errorf("found %q, want %q", found, c.says)
			}
		})
	}
}
