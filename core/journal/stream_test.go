package journal_test

import (
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/core/store/pebble"
	"github.com/reflectory/reflectory/sdk"
)

// TestCheckGoesOnAfterAProblem: one problem per stream.
func TestCheckGoesOnAfterAProblem(t *testing.T) {
	b, _ := journalOf(t)
	b.change(edit("namespace/n", 1, `"epoch":1`, `"epoch":2`))
	b.change(edit("run/ab", 3, `"epoch":1`, `"epoch":2`))
	var got []string
	err := b.Store.View(t.Context(), func(r core.Reader) error {
		return journal.Checker{}.Check(t.Context(), r, func(p core.Problem) { got = append(got, p.Part+" "+p.Key) })
	})
	if err != nil || strings.Join(got, ", ") != "journal event/namespace/n/1, journal event/run/ab/3" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestHeadsAsText(t *testing.T) {
	_, kept := journalOf(t)
	for _, head := range []journal.Head{kept, {}} {
		if got, err := journal.ParseHead(head.String() + "\n"); err != nil || got != head {
			t.Errorf("%v came back as %v, %v", head, got, err)
		}
	}
	for _, text := range []string{"", "1", "1:", "x:sha256:" + strings.Repeat("0", 64), "1:sha256:0", "-1:" + kept.Hash} {
		if _, err := journal.ParseHead(text); sdk.ReasonOf(err) != "head_invalid" {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestWritersOfDifferentStreamsDontContend commits an entry while another
// transaction, which began before, appends one: it runs again only for an entry of
// its own stream.
func TestWritersOfDifferentStreamsDontContend(t *testing.T) {
	disk, err := pebble.Open(t.Context(), pebble.Options{Dir: t.TempDir(), Durability: pebble.Relaxed})
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	for name, s := range map[string]core.Store{"mem": mem.Open(), "pebble": disk} {
		for other, want := range map[string]int{"namespace/b": 1, "namespace/a/b": 1, "run/a": 1, "namespace/a": 2} {
			b := newBook(t)
			b.Store = s
			b.append("namespace/a", other)
			runs := 0
			err := b.Update(t.Context(), func(tx *journal.Tx) error {
				runs++
				if err := tx.Append("namespace/a", journal.RunResumed{}); err != nil {
					return err
				}
				if runs == 1 {
					b.append(other)
				}
				return nil
			})
			if err != nil || runs != want {
				t.Errorf("%s: beside %s it ran %d times, want %d; %v", name, other, runs, want, err)
			}
		}
	}
}
