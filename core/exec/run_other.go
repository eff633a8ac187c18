//go:build !linux || !(amd64 || arm64)

package exec

import (
	"context"
	"runtime"

	"github.com/reflectory/reflectory/sdk"
)

// Missing says that nothing is bounded here.
func (r *Runner) Missing() []string {
	return []string{"there is no sandbox for programs on " + runtime.GOOS + " on " + runtime.GOARCH}
}

// run refuses: nothing bounds a program here.
func (r *Runner) run(context.Context, *job) (*sdk.ExecResponse, error) {
	return nil, sdk.Errorf(sdk.Unavailable, "sandbox_missing", "programs aren't run on %s on %s, where nothing bounds them", runtime.GOOS, runtime.GOARCH).
		WithHint("run the host on Linux, on amd64 or arm64")
}
