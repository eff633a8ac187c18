package core_test

import (
	"context"
	"slices"
	"testing"

	"github.com/reflectory/reflectory/core"
)

func TestTxHooksRunOnceForTheLastRun(t *testing.T) {
	var done []string
	note := func(ctx context.Context, word string) {
		core.AfterTx(ctx, func() { done = append(done, word) })
	}
	note(t.Context(), "at once")
	var hooks core.TxHooks
	hooks.Run()
	for _, run := range []string{"first", "last"} {
		ctx := hooks.Begin(t.Context(), nil)
		note(ctx, run)
		note(ctx, run+" again")
	}
	if want := []string{"at once"}; !slices.Equal(done, want) {
		t.Errorf("before the end: %v, want %v", done, want)
	}
	hooks.Run()
	hooks.Run()
	if want := []string{"at once", "last", "last again"}; !slices.Equal(done, want) {
		t.Errorf("done %v, want %v", done, want)
	}
}
