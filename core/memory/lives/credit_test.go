package lives_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
)

// TestLives_OneTokensReports has one user report what is false about the tips that others rely on,
// time and again: the order in which others find them stays.
func TestLives_OneTokensReports(t *testing.T) {
	coretest.Long(t)
	if coretest.Plain(t) {
		return
	}
	n, _ := seeds(t)
	moved := make([]float64, n)
	t.Run("lives", func(t *testing.T) {
		for seed := range n {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				moved[seed] = slandered(t, seedOf(t, seed))
			})
		}
	})
	r := row{name: "one token's reports: questions whose order of proven tips changes for others", less: true, reach: 1e-9}
	r.print(t, moved, nil)
}

// witness is a mind that counts what helped whom.
type witness struct {
	*product
	successes map[string]int
}

func (w *witness) report(r report) {
	w.product.report(r)
	if r.success {
		w.successes[r.named[0]]++
	}
}

// slandered is the share of questions whose order changes.
func slandered(t *testing.T, seed uint64) float64 {
	t.Helper()
	w := &witness{newProduct(t), map[string]int{}}
	life{turns: 300, right: 1, reads: 1, opposed: true}.live(t, seed, w)
	rnd := rand.New(rand.NewPCG(seed, 3))
	var asked []string
	for _, k := range tasks(t) {
		asked = append(asked, k.ask(rnd), k.ask(rnd))
	}
	before := w.orders(asked)
	for turn, question := range slices.Repeat(asked, 5) {
		q := request{who: "mallory", session: fmt.Sprint("mallory-", turn), turn: 1, question: question}
		found := w.recall(q)
		at := rnd.IntN(min(2, len(found)))
		w.product.report(report{request: q, named: found[at : at+1], success: w.successes[found[at]] < 2})
	}
	changed := 0
	for i, order := range w.orders(asked) {
		if !slices.Equal(order, before[i]) {
			changed++
		}
	}
	return float64(changed) / float64(len(asked))
}

// orders are the proven tips that a user finds, question by question, without leaving a trace.
func (w *witness) orders(asked []string) (list [][]string) {
	for _, question := range asked {
		found, err := w.Recall(w.as("user-0"), &core.RecallRequest{Query: question, Limit: 10, RecallFilter: core.RecallFilter{Namespace: namespace}})
		if err != nil {
			w.t.Fatal(err)
		}
		var order []string
		for _, m := range found.Memories {
			if w.successes[m.ID] >= 2 {
				order = append(order, m.ID)
			}
		}
		list = append(list, order)
	}
	return list
}
