package web

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestParts_AreMadeOnceForAllWhoAskAtOnce, and after each of them asked.
func TestParts_AreMadeOnceForAllWhoAskAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p parts
		var mu sync.Mutex
		made := 0
		render := func() ([]byte, error) {
			began := time.Now()
			time.Sleep(time.Second)
			mu.Lock()
			defer mu.Unlock()
			made++
			return []byte(began.Format(time.RFC3339Nano)), nil
		}
		var all sync.WaitGroup
		for i := range 30 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 100 * time.Millisecond)
				asked := time.Now()
				got, err := p.get("a", render)
				began, _ := time.Parse(time.RFC3339Nano, string(got))
				if err != nil || began.Before(asked) {
					t.Errorf("asked at %s, begun at %s, %v", asked, began, err)
				}
			})
		}
		all.Go(func() {
			if _, err := p.get("b", func() ([]byte, error) { return nil, errors.New("no") }); err == nil {
				t.Error("it has no error")
			}
		})
		all.Wait()
		if made > 5 || len(p.making) != 0 {
			t.Errorf("%d were made, %d are left", made, len(p.making))
		}
	})
}

// TestParts_WhereOneFailsOthersAskThemselves: the reason why the first failed needn't apply
// to them.
func TestParts_WhereOneFailsOthersAskThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p parts
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				_, err := p.get("a", func() ([]byte, error) {
					time.Sleep(time.Second)
					if i < 2 {
						return nil, errors.New("gone")
					}
					return []byte("a"), nil
				})
				if (err != nil) != (i < 2) {
					t.Errorf("%d: %v", i, err)
				}
			})
		}
		all.Wait()
	})
}
