//go:build linux

package process_test

import (
	"testing"

	"github.com/reflectory/reflectory/core/plugin/process"
	"github.com/reflectory/reflectory/sdk"
)

func TestTheLastWordsBeforeAnExitAreNeverLost(t *testing.T) {
	for range 10 {
		i := start(t, process.Options{}, self(t, "serve"))
		_, err := evaluate(t, i, do("exit"))
		wantError(t, err, sdk.Unavailable, "plugin_exited", "; it wrote: out of cheese")
		if tail := sdk.AsError(err).Details["stderr"]; tail != "out of cheese" {
			t.Fatalf("the end of the output is %q", tail)
		}
	}
}
