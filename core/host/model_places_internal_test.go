package host

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/workflow"
)

func TestModelPlaces_BoundTheCallsOfEachModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModelPlaces(map[string]int64{"*": 2, "small": 1, "any": 0})
		ask := func(config string) core.Target {
			return core.Target{Plugin: workflow.LLMPlugin, Config: []byte(config)}
		}
		var ends []func()
		for _, c := range []struct {
			target core.Target
			free   bool
		}{
			{ask(`{"llm": {"model": "large"}}`), true}, {ask(`{"llm": {"models": ["large", "small"]}}`), true}, {ask(`{"model": "large", "llm": {"model": "small"}}`), false},
			{ask(`{"llm": {"model": "small"}}`), true}, {ask(`{"llm": {"model": "small"}}`), false}, {ask(`{"llm": {"model": "small", "base_url": "http://other"}}`), true},
			{ask(`{"llm": {"model": "any"}}`), true}, {ask(`{"llm": {"model": "any"}}`), true}, {ask(`{"llm": {"model": "any"}}`), true},
			{core.Target{Plugin: "acme/other"}, true},
		} {
			ctx, cancel := context.WithCancel(t.Context())
			given := make(chan error, 1)
			go func() {
				done, err := m.take(ctx, c.target)
				if err == nil {
					ends = append(ends, done)
				}
				given <- err
			}()
			synctest.Wait()
			if len(given) == 0 {
				cancel()
			}
			if err := <-given; (err == nil) != c.free {
				t.Errorf("%s: %v", c.target.Config, err)
			}
			cancel()
		}
		if len(m.of) != 3 {
			t.Errorf("%d models are called", len(m.of))
		}
		for _, end := range ends {
			end()
		}
		for i := range 100 {
			done, err := m.take(t.Context(), ask(fmt.Sprintf(`{"llm": {"model": "m%d"}}`, i)))
			if err != nil {
				t.Fatal(err)
			}
			done()
		}
		if len(m.of) > 0 {
			t.Errorf("%d models are remembered", len(m.of))
		}
	})
}
