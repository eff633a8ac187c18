package store_test

import (
	"context"
	"errors"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/mem"
)

// openings is a store that is opened several times, of which some fail.
type openings struct {
	fails  []bool // what each opening does
	opened int
	closed int
}

type opening struct {
	core.Store
	of *openings
}

func (o *opening) Close() error {
	o.of.closed++
	return errors.New("the disk is full")
}

func (o *openings) open(context.Context) (store.Closable, error) {
	n := o.opened
	o.opened++
	if n < len(o.fails) && o.fails[n] {
		return nil, errors.New("the disk is still full")
	}
	return &opening{mem.Open(), o}, nil
}

// TestOnDemand_Reopen replaces a store that fails, and only one that is open.
func TestOnDemand_Reopen(t *testing.T) {
	const view, reopen, shut = "view", "reopen", "close"
	for name, tt := range map[string]struct {
		fails          []bool
		do             []string
		failed         int // how many of these fail
		opened, closed int
	}{
		"never opened":               {do: []string{reopen}},
		"never opened, then used":    {do: []string{reopen, view}, opened: 1},
		"open":                       {do: []string{view, reopen}, opened: 2, closed: 1},
		"open, then used":            {do: []string{view, reopen, view}, opened: 2, closed: 1},
		"twice":                      {do: []string{view, reopen, reopen}, opened: 3, closed: 2},
		"it can't be opened again":   {fails: []bool{false, true}, do: []string{view, reopen}, failed: 1, opened: 2, closed: 1},
		"it can be opened later":     {fails: []bool{false, true}, do: []string{view, reopen, reopen, view}, failed: 1, opened: 3, closed: 2},
		"closed":                     {do: []string{view, shut, reopen}, failed: 1, opened: 1, closed: 1},
		"a closed one isn't used":    {do: []string{view, shut, reopen, view}, failed: 2, opened: 1, closed: 1},
		"the first opening may fail": {fails: []bool{true}, do: []string{view, reopen, view}, failed: 1, opened: 2},
	} {
		t.Run(name, func(t *testing.T) {
			o := &openings{fails: tt.fails}
			s := store.NewOnDemand(o.open)
			failed := 0
			for _, what := range tt.do {
				var err error
				switch what {
				case view:
					err = s.View(t.Context(), func(core.Reader) error { return nil })
				case reopen:
					err = s.Reopen(t.Context())
				case shut:
					err = s.Close()
				}
				if err != nil {
					failed++
				}
			}
			if failed != tt.failed || o.opened != tt.opened || o.closed != tt.closed {
				t.Errorf("%d failed, %d opened, %d closed; want %d, %d, %d", failed, o.opened, o.closed, tt.failed, tt.opened, tt.closed)
			}
		})
	}
}
