package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/gateway"
	"github.com/reflectory/reflectory/sdk"
)

// TestModels_RequestsPerMinute of all callers together, and of each model by itself.
func TestModels_RequestsPerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ms := w.gate.Models(&gateway.Settings{})
		few, other := served("few"), served("other")
		few.RequestsPerMinute, other.RequestsPerMinute = 2, 2
		ask := func(as string, s *gateway.Served) error {
			_, err := ms.Ask(core.WithCaller(t.Context(), caller(as, "team/**")), s, "team/a", &gateway.Request{Messages: []gateway.Message{user("q")}}, says("a"))
			return err
		}
		if err := errors.Join(ask("ann", few), ask("bob", few), ask("ann", other)); err != nil {
			t.Fatal(err)
		}
		err := ask("cid", few)
		if wait := sdk.RetryAfter(err); sdk.ReasonOf(err) != "model_requests_exhausted" || wait <= 0 || wait > 31*time.Second {
			t.Errorf("the third: %v, after %s", err, wait)
		}
		time.Sleep(sdk.RetryAfter(err))
		if err := errors.Join(ask("cid", few), ask("cid", other)); err != nil {
			t.Errorf("after the time that it says: %v", err)
		}
	})
}

// TestModels_Parallel: as many requests as the model takes are with its upstream at once, the next waits for a place,
// and is refused after a while.
func TestModels_Parallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ms := w.gate.Models(&gateway.Settings{})
		s := served("few")
		s.Parallel = 2
		begun, release := make(chan int, 10), make(chan struct{})
		ended := make(chan error, 10)
		ask := func(n int) {
			up := upstreamFunc(func(context.Context, *gateway.Attempt) (*gateway.Reply, error) {
				begun <- n
				<-release
				return text("a"), nil
			})
			_, err := ms.Ask(core.WithCaller(t.Context(), caller("ann", "team/**")), s, "team/a", &gateway.Request{Messages: []gateway.Message{user(fmt.Sprint("q", n))}}, up)
			ended <- err
		}
		go ask(1)
		go ask(2)
		synctest.Wait()
		go ask(3)
		synctest.Wait()
		if len(begun) != 2 {
			t.Errorf("%d are with the upstream", len(begun))
		}
		if err := <-ended; sdk.ReasonOf(err) != "model_full" || sdk.RetryAfter(err) <= 0 {
			t.Errorf("the third: %v", err)
		}
		go ask(4)
		synctest.Wait()
		release <- struct{}{}
		synctest.Wait()
		if err := <-ended; err != nil || len(begun) != 3 {
			t.Errorf("%v, and %d were with the upstream", err, len(begun))
		}
		close(release)
		if err := errors.Join(<-ended, <-ended); err != nil {
			t.Error(err)
		}
	})
}

func served(name string) *gateway.Served {
	return &gateway.Served{Model: gateway.Model{Name: name}}
}
