package journal_test

import (
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
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
