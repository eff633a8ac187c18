package host

import (
	"cmp"
	"context"
	"encoding/json"
	"sync"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/share"
	"github.com/reflectory/reflectory/core/workflow"
)

// modelPlaces bound the calls of each model that are made at once. They are the host's, so they are the same
// for runs, judges, reflections and whatever else asks a model.
type modelPlaces struct {
	limits map[string]int64 // config.Limits.CallsPerModel

	mu sync.Mutex
	of map[string]*modelShare // the models that are called now
}

// modelShare is the places of a model, and how many calls have one or wait for it.
type modelShare struct {
	*share.Share
	calls int
}

func newModelPlaces(limits map[string]int64) *modelPlaces {
	return &modelPlaces{limits: limits, of: map[string]*modelShare{}}
}

// take waits for a place of the model that a call asks; done gives it back. A run that waits lets another one
// have its worker.
func (m *modelPlaces) take(ctx context.Context, t core.Target) (done func(), err error) {
	if t.Plugin != workflow.LLMPlugin {
		return func() {}, nil
	}
	var config struct {
		Model string `json:"model"`
		LLM   struct {
			Model   string   `json:"model"`
			Models  []string `json:"models"`
			BaseURL string   `json:"base_url"`
		} `json:"llm"`
	}
	_ = json.Unmarshal(t.Config, &config) // the plugin says what is wrong
	models := append(config.LLM.Models, "")
	model := cmp.Or(config.Model, config.LLM.Model, models[0])
	limit, named := m.limits[model]
	if !named {
		limit = m.limits["*"]
	}
	if limit == 0 {
		return func() {}, nil
	}
	caller := core.CallerOf(ctx)
	tenant, user, key := core.Tenant(plugin.ScopeOf(ctx).Namespace), caller.Account(), config.LLM.BaseURL+" "+model
	places := m.enter(key, limit)
	at := func(ctx context.Context) (func(), error) { return places.TakeFor(ctx, tenant, user, 1) }
	now, cancel := context.WithCancel(ctx)
	cancel() // a place that is free is given all the same
	given, err := at(now)
	if err != nil {
		back := job.Waits(ctx)
		given, err = at(ctx)
		back()
	}
	if err != nil {
		m.leave(key)
		return nil, err
	}
	return func() {
		given()
		m.leave(key)
	}, nil
}

func (m *modelPlaces) enter(key string, places int64) *share.Share {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of[key] == nil {
		m.of[key] = &modelShare{Share: share.New(share.Options{Places: places})}
	}
	m.of[key].calls++
	return m.of[key].Share
}

// leave forgets a model that nobody calls any more: callers may name any number of models.
func (m *modelPlaces) leave(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of[key].calls--; m.of[key].calls == 0 {
		delete(m.of, key)
	}
}
