package store_test

import (
	"context"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

func seeded(t *testing.T, pairs ...string) *mem.Store {
	t.Helper()
	s := mem.Open()
	err := s.Update(t.Context(), func(tx core.Tx) error {
		for i := 0; i < len(pairs); i += 2 {
			if err := tx.Put([]byte(pairs[i]), []byte(pairs[i+1])); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func value(t *testing.T, s core.Store, key string) (text string) {
	t.Helper()
	err := s.View(t.Context(), func(r core.Reader) error {
		v, _, err := r.Get([]byte(key))
		text = string(v)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestPrepareStampsAnEmptyStore(t *testing.T) {
	s := mem.Open()
	for range 2 {
		if err := store.Prepare(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if got := value(t, s, "meta/format"); got != "2" {
		t.Errorf("meta/format = %q", got)
	}
	// It has nothing that a step could migrate.
	s, steps := mem.Open(), make([]store.Migration, 2)
	if err := store.PrepareTo(t.Context(), s, 3, steps); err != nil || value(t, s, "meta/format") != "3" {
		t.Errorf("format %q, error %v", value(t, s, "meta/format"), err)
	}
}

func TestPrepareRefuses(t *testing.T) {
	cases := []struct {
		name, key, value, reason, says string
	}{
		{"an older format", "meta/format", "1", "store_format_older", "format 1, this program knows formats from 2"},
		{"a newer format", "meta/format", "7", "store_format_newer", "format 7, this program knows formats up to 2"},
		{"a marker that is no number", "meta/format", "x", "store_format_unknown", `"x"`},
		{"a marker below 1", "meta/format", "0", "store_format_unknown", `"0"`},
		{"a strange store", "foreign", "x", "store_format_unknown", `"foreign"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := store.Prepare(t.Context(), seeded(t, c.key, c.value))
			if sdk.CodeOf(err) != sdk.Incompatible || sdk.ReasonOf(err) != c.reason || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v (%s)", err, sdk.ReasonOf(err))
			}
		})
	}
}

func TestPrepareMigratesStepByStep(t *testing.T) {
	s := seeded(t, "meta/format", "1", "old", "x")
	rename := func(from, to string) store.Migration {
		return func(tx core.Tx) error {
			v, found, err := tx.Get([]byte(from))
			if err != nil || !found {
				return sdk.Errorf(sdk.Internal, "test", "%s is missing: %v", from, err)
			}
			if err := tx.Delete([]byte(from)); err != nil {
				return err
			}
			return tx.Put([]byte(to), v)
		}
	}
	broken := []store.Migration{rename("old", "newer"), rename("absent", "newest")}
	if err := store.PrepareTo(t.Context(), s, 3, broken); sdk.ReasonOf(err) != "test" {
		t.Errorf("a failing step: %v", err)
	}
	if at, v := value(t, s, "meta/format"), value(t, s, "newer"); at != "2" || v != "x" {
		t.Errorf("after the failing step: format %s, value %q", at, v)
	}
	if err := store.PrepareTo(t.Context(), s, 3, []store.Migration{rename("old", "newer"), rename("newer", "newest")}); err != nil {
		t.Fatal(err)
	}
	if at, v := value(t, s, "meta/format"), value(t, s, "newest"); at != "3" || v != "x" {
		t.Errorf("after all steps: format %s, value %q", at, v)
	}
}

// overtaken is a store to which something happens right before its next transaction.
type overtaken struct {
	core.Store
	by func()
}

func (s *overtaken) Update(ctx context.Context, fn func(core.Tx) error) error {
	if by := s.by; by != nil {
		s.by = nil
		by()
	}
	return s.Store.Update(ctx, fn)
}

// TestAStepIsTakenOnce: a process that finds that another was faster doesn't repeat the
// step.
func TestAStepIsTakenOnce(t *testing.T) {
	s := seeded(t, "meta/format", "1")
	taken := 0
	steps := []store.Migration{func(core.Tx) error { taken++; return nil }}
	prepare := func(s core.Store) {
		t.Helper()
		if err := store.PrepareTo(t.Context(), s, 2, steps); err != nil {
			t.Fatal(err)
		}
	}
	prepare(&overtaken{s, func() { prepare(s) }})
	if at := value(t, s, "meta/format"); at != "2" || taken != 1 {
		t.Errorf("format %s after %d steps", at, taken)
	}
}
