package wasm

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero/sys"

	"github.com/reflectory/reflectory/sdk"
)

// failed describes what an error of a guest's call means, and does what follows from
// it. Four things differ: an answer that can't be used, which leaves the
// guest as it is; an end of the call by the host, which costs the guest; fuel
// that is used up, and an end by the guest's own doing, which both end the
// instance.
func (i *instance) failed(ctx context.Context, err error) error {
	var answer *sdk.Error
	var stop stopped
	var exit exited
	var engine *sys.ExitError
	switch {
	case errors.As(err, &stop):
		return i.cutShort(ctx, stop.reason)
	case errors.As(err, &exit):
		return i.exited(fmt.Sprintf("exited with code %d", exit.code), err)
	case errors.As(err, &engine): // the engine ended an unmetered guest
		if cause := context.Cause(i.life); cause != nil {
			return i.cutShort(ctx, cause)
		}
		return i.cutShort(ctx, ctx.Err())
	case errors.As(err, &answer):
		return answer
	}
	return i.exited("trapped: "+trapHeadline(err), err)
}

// cutShort is a call that the host has ended.
func (i *instance) cutShort(ctx context.Context, reason error) error {
	i.closeGuest()
	switch {
	case i.life.Err() != nil:
		return i.endedError()
	case errors.Is(reason, context.DeadlineExceeded):
		<-ctx.Done() // the guest's own look at the clock may come first
		return i.callEnded(context.DeadlineExceeded)
	case errors.Is(reason, context.Canceled):
		return i.callEnded(context.Canceled)
	case sdk.ReasonOf(reason) == "fuel_exhausted":
		i.end(reason)
	}
	return reason
}

// exited is a guest that ended by its own doing.
func (i *instance) exited(how string, err error) error {
	i.closeGuest()
	i.output.Flush()
	tail, headline := i.logs.End()
	message := "plugin " + i.plugin.Name + " " + how
	if headline != "" {
		message += "; it wrote: " + headline
	}
	e := sdk.Errorf(sdk.Unavailable, "plugin_exited", "%s", message).
		WithHint("this is a fault of the plugin; its log says more")
	if tail != "" {
		e.WithDetail("stderr", tail)
	}
	if line := firstLine(err.Error()); line != "" {
		e.WithDetail("trap", line)
	}
	i.end(e)
	return e
}
