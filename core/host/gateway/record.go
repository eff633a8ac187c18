package gateway

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/conversation"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/sdk"
)

// createStep stores a run, whose caller is the context's.
func createStep(ctx context.Context, runs *run.Repository, r *core.Run) conversation.Step {
	ctx, first := context.WithoutCancel(ctx), *r
	return conversation.Step{Run: r.ID, Size: len(r.State), Do: func(tx core.Tx) error {
		runs.Leave(first.ID) // of a try before
		stored := first
		return runs.In(tx).CreateWith(ctx, &stored, run.Needs{Ends: true})
	}}
}

// recorder lets what happens in a run wait for the next commit. It implements [core.RunRecorder] and, for
// the attempts, [core.AttemptRecorder].
type recorder struct {
	log     *conversation.Log
	runs    *run.Repository
	run     string
	digests bool
	// pass is whether a request goes on although its run isn't recorded.
	pass bool
}

func (c recorder) add(ctx context.Context, size int, do func(context.Context, core.RunRecorder) error) error {
	ctx = context.WithoutCancel(ctx)
	err := c.log.Add(conversation.Step{Run: c.run, Size: size, Do: func(tx core.Tx) error {
		return do(ctx, c.runs.In(tx).Recorder(&core.Run{ID: c.run}))
	}})
	if c.pass {
		return nil
	}
	return err
}

// RecordVisit implements [core.RunRecorder].
func (c recorder) RecordVisit(ctx context.Context, v *core.Visit) error {
	visit := *v
	return c.add(ctx, len(v.Result), func(ctx context.Context, to core.RunRecorder) error { return to.RecordVisit(ctx, &visit) })
}

// RecordEnd implements [core.RunRecorder].
func (c recorder) RecordEnd(ctx context.Context, r *core.Run, open *core.Visit) error {
	end := *r
	if open != nil {
		visit := *open
		open = &visit
	}
	return c.add(ctx, len(r.Result), func(ctx context.Context, to core.RunRecorder) error { return to.RecordEnd(ctx, &end, open) })
}

// Attempts implements [core.RunRecorder].
func (c recorder) Attempts(visit int, node string) core.AttemptRecorder {
	return attempts{c, visit, node}
}

type attempts struct {
	recorder
	visit int
	node  string
}

// RecordOutput implements [core.AttemptRecorder].
func (c attempts) RecordOutput(ctx context.Context, a *core.Attempt) error {
	return c.record(ctx, a, core.AttemptRecorder.RecordOutput)
}

// RecordVerdict implements [core.AttemptRecorder].
func (c attempts) RecordVerdict(ctx context.Context, a *core.Attempt) error {
	return c.record(ctx, a, core.AttemptRecorder.RecordVerdict)
}

func (c attempts) record(ctx context.Context, a *core.Attempt, record func(core.AttemptRecorder, context.Context, *core.Attempt) error) error {
	attempt := *a
	if c.digests {
		attempt.Output, attempt.Raw, attempt.Feedback = digested(attempt.Output), digested(attempt.Raw), ""
		attempt.Errors, attempt.Children = namesOnly(attempt.Errors), nil
		if e := attempt.CorrectorError; e != nil {
			attempt.CorrectorError = &namesOnly([]sdk.Finding{*e})[0]
		}
	}
	return c.add(ctx, len(attempt.Output)+len(attempt.Raw), func(ctx context.Context, to core.RunRecorder) error {
		return record(to.Attempts(c.visit, c.node), ctx, &attempt)
	})
}

// withoutContent leaves digests and numbers in the result of a loop.
func withoutContent(r *core.LoopResult) {
	r.Output, r.Errors = digested(r.Output), namesOnly(r.Errors)
	for i := range r.History {
		h := &r.History[i]
		h.Output, h.Raw, h.Errors, h.Feedback = digested(h.Output), digested(h.Raw), namesOnly(h.Errors), ""
	}
	if r.Error != nil {
		e := *r.Error
		e.Message, e.Hint, e.Details = e.Code, "", nil
		r.Error = &e
	}
}

// digested is the digest and the size of an output.
func digested(output json.RawMessage) json.RawMessage {
	if len(output) == 0 || string(output) == "null" {
		return output
	}
	return jsontext.MustEncode(map[string]any{"digest": core.Digest(output), "bytes": len(output)})
}

// namesOnly are findings without what they quote.
func namesOnly(list []sdk.Finding) []sdk.Finding {
	names := make([]sdk.Finding, len(list))
	for i, f := range list {
		names[i] = sdk.Finding{Message: f.Code, SchemaPath: f.SchemaPath, Code: f.Code, Type: f.Type, Severity: f.Severity, Source: f.Source}
	}
	return names
}
