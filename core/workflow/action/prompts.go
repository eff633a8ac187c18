package action

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/reflectory/reflectory/core"
)

// promptRecorder records attempts with the prompts of the calls since the record before, and with the
// versions of the loop's plugins.
type promptRecorder struct {
	core.AttemptRecorder
	versions map[string]string
	mu       sync.Mutex
	pending  []core.Prompt
}

// heardByAttempts is the request of a loop, whose prompts belong to its attempts, and their
// recorder. end reports the prompts that no attempt was recorded with.
func heardByAttempts(req *Request, versions map[string]string) (_ *Request, record core.AttemptRecorder, end func()) {
	if req.Attempts == nil {
		return req, nil, func() {}
	}
	r := &promptRecorder{AttemptRecorder: req.Attempts, versions: versions}
	if req.Prompt == nil {
		return req, r, func() {}
	}
	of := *req
	of.Prompt = r.add
	return &of, r, func() { r.rest(req.Prompt) }
}

// versions are the versions of the plugins of a loop, and of what its models may call. It reports those that
// the last attempt of an interrupted run had otherwise. A plugin that can't be described fails its call.
func (a *Actions) versions(ctx context.Context, req *Request, s *LoopSpec) map[string]string {
	if req.Attempts == nil {
		return nil
	}
	all := map[string]string{}
	for _, u := range usesOf(s) {
		if m, err := a.Plugins.Describe(ctx, u.step.Plugin); err == nil && m.Version != "" {
			all[u.step.Plugin] = m.Version
		}
	}
	if n := len(req.Done); n > 0 && a.Events != nil {
		for _, name := range slices.Sorted(maps.Keys(req.Done[n-1].Plugins)) {
			if was, now := req.Done[n-1].Plugins[name], all[name]; now != "" && now != was {
				a.Events(core.PluginChanged{Node: req.Node, Plugin: name, Was: was, Now: now})
			}
		}
	}
	return all
}

func (r *promptRecorder) add(p core.Prompt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = append(r.pending, p)
}

// with is an attempt with the pending prompts. The loop's own attempt doesn't hold them, since
// they are recorded once.
func (r *promptRecorder) with(a *core.Attempt) *core.Attempt {
	r.mu.Lock()
	defer r.mu.Unlock()
	prompted := *a
	prompted.Prompts, prompted.Plugins, r.pending = slices.Clone(r.pending), r.versions, nil
	return &prompted
}

// rest reports the prompts that belong to no recorded attempt: the prompts of the calls that ended the
// loop with their error.
func (r *promptRecorder) rest(report func(core.Prompt)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.pending {
		report(p)
	}
	r.pending = nil
}

// RecordOutput implements [core.AttemptRecorder].
func (r *promptRecorder) RecordOutput(ctx context.Context, a *core.Attempt) error {
	return r.AttemptRecorder.RecordOutput(ctx, r.with(a))
}

// RecordVerdict implements [core.AttemptRecorder].
func (r *promptRecorder) RecordVerdict(ctx context.Context, a *core.Attempt) error {
	return r.AttemptRecorder.RecordVerdict(ctx, r.with(a))
}
