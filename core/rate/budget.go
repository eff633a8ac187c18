package rate

import (
	"context"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/table"
	"github.com/reflectory/reflectory/sdk"
)

// spentPrefix begins the keys of what was used: spent/, the day, a slash, and the name.
const spentPrefix = "spent/"

// spent are the uses of the last days. The day comes first in a key, so that old ones are found first.
var spent = table.Kind[use]{Part: "rates", Prefix: spentPrefix,
	Doc:     "day `/` name | what a name used of models on a day in UTC, such as `2026-11-28/token/65f0a1b2c3d4e5f6`: `{tokens, cost_nanos}`, the cost in billionths of a US dollar. Only names with a budget are counted, and each new day removes earlier ones",
	Passing: true, Valid: func(id string, rec *use) string {
		day, _, _ := strings.Cut(id, "/")
		if _, err := time.Parse(time.DateOnly, day); err != nil || rec.Tokens < 0 || rec.CostNanos < 0 {
			return "it isn't a use of a day"
		}
		return ""
	}}

// use is what a name used on a day.
type use struct {
	Tokens    int64 `json:"tokens"`
	CostNanos int64 `json:"cost_nanos"`
}

const (
	nanos = 1e9
	// maxDropped is how many uses of earlier days a new one removes: more than it adds, so that they
	// don't pile up, and few enough for any transaction.
	maxDropped = 10
)

// Spending counts what names use of their daily budgets. It is in the store, so it outlives the host,
// and hosts that share a store count together. It is safe for concurrent use.
type Spending struct {
	Store core.Store
	// Clock says which day it is. Required.
	Clock core.Clock
}

func (s *Spending) today() string { return s.Clock.Now().UTC().Format(time.DateOnly) }

// Used is what a name has used today.
func (s *Spending) Used(ctx context.Context, name string) (used sdk.Usage, err error) {
	err = s.Store.View(ctx, func(r core.Reader) error {
		rec, err := spent.Get(r, s.today()+"/"+name)
		if err == nil && rec != nil {
			used = sdk.Usage{TokensIn: rec.Tokens, CostUSD: float64(rec.CostNanos) / nanos}
		}
		return err
	})
	return used, sdk.Wrap("read what was used of a budget", err)
}

// Add counts a use for names, in one transaction.
func (s *Spending) Add(ctx context.Context, used sdk.Usage, names ...string) error {
	add := use{max(0, used.TokensIn+used.TokensOut), max(0, int64(used.CostUSD*nanos+0.5))}
	if len(names) == 0 || add == (use{}) {
		return nil
	}
	err := s.Store.Update(ctx, func(tx core.Tx) error {
		today := s.today()
		for _, name := range names {
			rec, err := spent.Get(tx, today+"/"+name)
			if err != nil {
				return err
			}
			if rec == nil {
				if err := dropBefore(tx, today); err != nil {
					return err
				}
				rec = &use{}
			}
			rec.Tokens, rec.CostNanos = rec.Tokens+add.Tokens, rec.CostNanos+add.CostNanos
			if err := spent.Put(tx, today+"/"+name, rec); err != nil {
				return err
			}
		}
		return nil
	})
	return sdk.Wrap("count what was used of a budget", err)
}

// dropBefore removes some uses of days before yesterday, which may still be today for a host whose clock
// is behind.
func dropBefore(tx core.Tx, today string) error {
	day, err := time.Parse(time.DateOnly, today)
	if err != nil {
		return err
	}
	yesterday := day.AddDate(0, 0, -1).Format(time.DateOnly)
	var old []string
	err = spent.Scan(tx, "", "", func(id string, _ *use) (bool, error) {
		if id >= yesterday || len(old) == maxDropped {
			return false, nil
		}
		old = append(old, id)
		return true, nil
	})
	for _, id := range old {
		if err == nil {
			err = spent.Delete(tx, id)
		}
	}
	return err
}
