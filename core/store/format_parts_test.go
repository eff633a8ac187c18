package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/storetest"
	"github.com/reflectory/reflectory/sdk"
)

// dying is a store that fails after so many commits, as if the program had been killed.
type dying struct {
	core.Store
	commits int
}

var errDied = errors.New("died")

func (s *dying) Update(ctx context.Context, fn func(core.Tx) error) error {
	if s.commits == 0 {
		return errDied
	}
	s.commits--
	return s.Store.Update(ctx, fn)
}

// A migration in parts that is killed after any of its commits is continued by the next
// program, and converts each key once.
func TestFormats_MigrationSurvivesCrashes(t *testing.T) {
	const keys = 2*store.PartKeys + 10
	next := storetest.NextFormat()
	for killed := 0; ; killed++ {
		s := seeded(t, "meta/format", "2")
		storetest.FillOldFormat(t, s, keys)
		err := next.Prepare(t.Context(), &dying{s, killed})
		if err != nil && !errors.Is(err, errDied) {
			t.Fatal(err)
		}
		done := err == nil
		if killed > 0 { // from the first commit on, an older program writes nothing
			check := s.View(t.Context(), func(r core.Reader) error { return store.Known().Check(r) })
			if sdk.ReasonOf(check) != "store_format_newer" {
				t.Errorf("after %d commits, an older program: %v", killed, check)
			}
		}
		if err := next.Prepare(t.Context(), s); err != nil {
			t.Fatalf("after %d commits: %v", killed, err)
		}
		storetest.CheckNextFormat(t, s, keys)
		if done {
			if killed != 4 { // the beginning, and three parts
				t.Errorf("it took %d commits", killed)
			}
			return
		}
	}
}

// Two programs that migrate one store at once convert each key once.
func TestFormats_MigrationIsSharedByHosts(t *testing.T) {
	s := seeded(t, "meta/format", "2")
	storetest.FillOldFormat(t, s, 3*store.PartKeys)
	next := storetest.NextFormat()
	other := &overtaken{s, func() {
		if err := next.Prepare(t.Context(), &dying{s, 2}); !errors.Is(err, errDied) {
			t.Errorf("the first: %v", err)
		}
	}}
	if err := next.Prepare(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	storetest.CheckNextFormat(t, s, 3*store.PartKeys)
}

func TestFormats_CheckTellsOldAndNew(t *testing.T) {
	for format, reason := range map[int]string{1: "store_format_older", 2: "", 3: "store_format_newer"} {
		s := seeded(t, "meta/format", fmt.Sprint(format))
		err := s.View(t.Context(), func(r core.Reader) error { return store.Known().Check(r) })
		if sdk.ReasonOf(err) != reason {
			t.Errorf("format %d: %v", format, err)
		}
	}
	for _, marker := range []string{"x", `{"to":1}`, `{"to":3}`} { // format 3 isn't known
		if err := store.Prepare(t.Context(), seeded(t, "meta/format", "2", "meta/migration", marker)); sdk.ReasonOf(err) != "store_format_unknown" {
			t.Errorf("migration %s: %v", marker, err)
		}
	}
}
