package plugin

import (
	"context"
	"maps"
	"sync"

	"github.com/reflectory/reflectory/sdk"
)

// meter sums up what the host spent for a call: it belongs to the call's usage,
// so that the run's budget sees it. It is safe for concurrent use.
type meter struct {
	mu    sync.Mutex
	usage sdk.Usage
}

type meterKey struct{}

// metered returns a context under which [Charge] counts for a call. A call of a
// plugin during another has its own.
func metered(ctx context.Context) (context.Context, *meter) {
	m := new(meter)
	return context.WithValue(ctx, meterKey{}, m), m
}

// Charge adds what a service spent to the call of the plugin that asked for it,
// whose context this is.
func Charge(ctx context.Context, u sdk.Usage) {
	if m, ok := ctx.Value(meterKey{}).(*meter); ok {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.usage = m.usage.Add(u)
	}
}

// bill adds the sum to the call's first response. Without a response it becomes
// the detail "usage" of the first result's error, or of the call's. Of the i-th
// of n results, outcome returns the response's usage or, without one, where the
// error is.
func (m *meter) bill(err error, n int, outcome func(i int) (*sdk.Usage, *error)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.usage == (sdk.Usage{}) {
		return err
	}
	if err != nil || n == 0 {
		return spent(err, m.usage)
	}
	for i := range n {
		if usage, _ := outcome(i); usage != nil {
			*usage = usage.Add(m.usage)
			return nil
		}
	}
	_, itemErr := outcome(0)
	*itemErr = spent(*itemErr, m.usage)
	return nil
}

// spent says in an error what was spent before it.
func spent(err error, u sdk.Usage) error {
	if err == nil {
		return nil
	}
	e := *sdk.AsError(err)
	e.Err = err
	e.Details = maps.Clone(e.Details)
	return e.WithDetail("usage", u)
}

func billEvaluate(m *meter, results []sdk.EvaluateResult, err error) error {
	return m.bill(err, len(results), func(i int) (*sdk.Usage, *error) {
		if r := results[i].Response; r != nil {
			return &r.Usage, nil
		}
		return nil, &results[i].Err
	})
}

func billGenerate(m *meter, results []sdk.GenerateResult, err error) error {
	return m.bill(err, len(results), func(i int) (*sdk.Usage, *error) {
		if r := results[i].Response; r != nil {
			return &r.Usage, nil
		}
		return nil, &results[i].Err
	})
}

func billCorrect(m *meter, results []sdk.CorrectResult, err error) error {
	return m.bill(err, len(results), func(i int) (*sdk.Usage, *error) {
		if r := results[i].Response; r != nil {
			return &r.Usage, nil
		}
		return nil, &results[i].Err
	})
}
