//go:build !unix

package exec

import (
	"context"
	"runtime"

	"github.com/reflectory/reflectory/sdk"
)

// Missing says that nothing runs here.
func (r *Runner) Missing() []string {
	return []string{"programs aren't run on " + runtime.GOOS}
}

// run refuses: the processes of a program can't be ended together here.
func (r *Runner) run(context.Context, *job) (*sdk.ExecResponse, error) {
	return nil, sdk.Errorf(sdk.Unavailable, "sandbox_missing", "programs aren't run on %s", runtime.GOOS).WithHint("run the host on Linux")
}
