package store_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

// closable is a store in memory that counts how often it is closed.
type closable struct {
	core.Store
	closed int
}

func (c *closable) Close() error { c.closed++; return nil }

func TestOnDemand_IsOpenedOnceByWhatNeedsIt(t *testing.T) {
	inner := &closable{Store: mem.Open()}
	opens := 0
	s := store.NewOnDemand(func(context.Context) (store.Closable, error) {
		opens++
		if opens == 1 {
			return nil, errors.New("locked")
		}
		return inner, nil
	})
	view := func() error { return s.View(t.Context(), func(core.Reader) error { return nil }) }
	if err := view(); err == nil || err.Error() != "locked" {
		t.Errorf("the open failed, and the transaction gave %v", err)
	}
	select {
	case <-s.Opened():
		t.Error("it says that it is open")
	default:
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := view(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	<-s.Opened()
	if opens != 2 {
		t.Errorf("opened %d times", opens)
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil || inner.closed != 1 {
		t.Errorf("closed %d times: %v", inner.closed, err)
	}
	if err := view(); sdk.ReasonOf(err) != "store_closed" {
		t.Errorf("after its end: %v", err)
	}
}

func TestOnDemand_ThatNobodyNeededIsNeverOpened(t *testing.T) {
	s := store.NewOnDemand(func(context.Context) (store.Closable, error) {
		t.Error("opened")
		return nil, errors.New("no")
	})
	if held, err := s.Scrub(t.Context()); held != "" || err != nil {
		t.Errorf("nothing to scrub: %q, %v", held, err)
	}
	if err := errors.Join(s.MarkPurged(nil, "x", nil), s.Compact(t.Context(), nil, nil), s.Close()); err != nil {
		t.Error(err)
	}
}
