package core_test

import (
	"context"
	"slices"
	"testing"

	"github.com/reflectory/reflectory/core"
)

func TestOnlyTheLastRunOfATransactionIsTold(t *testing.T) {
	var told []string
	tell := func(ctx context.Context, word string) {
		core.AfterTx(ctx, func() { told = append(told, word) })
	}
	tell(t.Context(), "at once")
	var later core.Later
	later.Do()
	for _, run := range []string{"first", "last"} {
		ctx := later.Begin(t.Context())
		tell(ctx, run)
		tell(ctx, run+" again")
	}
	if want := []string{"at once"}; !slices.Equal(told, want) {
		t.Errorf("before the end: %v, want %v", told, want)
	}
	later.Do()
	later.Do()
	if want := []string{"at once", "last", "last again"}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
}
