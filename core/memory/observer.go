package memory

import (
	"context"

	"github.com/reflectory/reflectory/core/work"
)

// follow has the observer follow work on memories. The calling function continues with the
// context that follow puts into ctx, and defers the returned function, which gets the error
// of its end:
//
//	defer m.follow(&ctx, work.Work{…}, &err)()
func (m *base) follow(ctx *context.Context, w work.Work, err *error) func() {
	if m.options.Observer == nil {
		return func() {}
	}
	inner, end := m.options.Observer(*ctx, w)
	*ctx = inner
	return func() { end(work.Outcome{Err: *err}) }
}
