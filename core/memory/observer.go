package memory

import (
	"context"

	"github.com/reflectory/reflectory/core"
)

// follow has the observer follow work on memories. The function goes on in the context
// that it leaves in ctx, and defers what it returns with the error of its end:
//
//	defer m.follow(&ctx, core.Work{…}, &err)()
func (m *Memories) follow(ctx *context.Context, w core.Work, err *error) func() {
	if m.options.Observer == nil {
		return func() {}
	}
	inner, end := m.options.Observer(*ctx, w)
	*ctx = inner
	return func() { end(core.WorkOutcome{Err: *err}) }
}
