package plugin

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// meter sums up what the host spent for a call. The sum is part of the call's usage, so the
// run's budget counts it. It is safe for concurrent use.
type meter struct {
	plugins core.Plugins // through which the call is made

	mu    sync.Mutex
	usage sdk.Usage
	// recalls is whether the called plugin may recall memories by itself, and redactor hides its
	// secrets.
	recalls  bool
	redactor *Redactor
}

// calls notes which plugin is called.
func (m *meter) calls(ctx context.Context, p *Installed) {
	m.recalls = slices.Contains(p.Granted.Host, ServiceRecall)
	m.redactor = NewRedactor(slices.Concat(p.Env, ScopeOf(ctx).Env[p.Name]))
}

// prompt makes the prompt in a response's metadata fit to be recorded: it has no secret of the
// plugin. The prompt of a plugin that recalls memories by itself is removed, since it may have a
// memory that the run never received, so that a purge wouldn't find it.
func (m *meter) prompt(metadata map[string]string) {
	switch prompt, reported := metadata[sdk.MetadataPrompt]; {
	case reported && m.recalls:
		delete(metadata, sdk.MetadataPrompt)
	case reported:
		metadata[sdk.MetadataPrompt] = m.redactor.Text(prompt)
	}
}

// failed makes the prompt in the error of a call fit to be recorded, in the same way.
func (m *meter) failed(err error) error {
	prompt := sdk.PromptOf(err)
	if prompt == "" {
		return err
	}
	e := *sdk.AsError(err)
	e.Details, e.Err = maps.Clone(e.Details), err
	if m.recalls {
		delete(e.Details, sdk.PromptDetail)
		return &e
	}
	return e.WithDetail(sdk.PromptDetail, json.RawMessage(m.redactor.Text(prompt)))
}

type meterKey struct{}

// serving returns the context of one of the supervisor's calls: in it, [Charge] counts for that
// call, and services find the supervisor. A call that is made during another call has its own
// context.
func (s *Supervisor) serving(ctx context.Context) (context.Context, *meter) {
	m := &meter{plugins: s}
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

// bill adds the sum to the usage of the call's first response, which says finds. If there is no
// response, the sum becomes the detail "usage" of the error of the first result, or of the
// call.
func bill[R any](m *meter, results []sdk.Result[R], err error, says func(*R) callReport) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.usage == (sdk.Usage{}) {
		return err
	}
	if err != nil || len(results) == 0 {
		return sdk.WithUsage(err, m.usage)
	}
	for _, r := range results {
		if r.Response != nil {
			u := says(r.Response).usage
			*u = u.Add(m.usage)
			return nil
		}
	}
	results[0].Err = sdk.WithUsage(results[0].Err, m.usage)
	return nil
}
