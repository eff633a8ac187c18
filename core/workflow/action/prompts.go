package action

import (
	"context"
	"slices"
	"sync"

	"github.com/reflectory/reflectory/core"
)

// promptRecorder records attempts with the prompts of the calls since the record before.
type promptRecorder struct {
	core.AttemptRecorder
	mu      sync.Mutex
	pending []core.Prompt
}

// heardByAttempts is the request of a loop, whose prompts belong to its attempts, and their
// recorder. end reports the prompts that no attempt was recorded with.
func heardByAttempts(req *Request) (_ *Request, record core.AttemptRecorder, end func()) {
	if req.Attempts == nil || req.Prompt == nil {
		return req, req.Attempts, func() {}
	}
	r := &promptRecorder{AttemptRecorder: req.Attempts}
	of := *req
	of.Prompt = r.add
	return &of, r, func() { r.rest(req.Prompt) }
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
	prompted.Prompts, r.pending = slices.Clone(r.pending), nil
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
