package storetest

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Run runs the suite. Each case opens its own store, which may hold keys
// that start with "meta/"; open closes it when the test ends.
func Run(t *testing.T, open func(t *testing.T) core.Store) {
	cases := []struct {
		name string
		test func(*testing.T, *suite)
	}{
		{"reads its own writes", readsOwnWrites},
		{"scans its own writes in order", scansOwnWrites},
		{"scan bounds", scanBounds},
		{"scans within scans", scansWithinScans},
		{"owns its values", ownsValues},
		{"large values", largeValues},
		{"limits", limits},
		{"rolls back on error", rollsBackOnError},
		{"rolls back on panic", rollsBackOnPanic},
		{"refuses use after the end", refusesUseAfterEnd},
		{"a view is a snapshot", viewIsSnapshot},
		{"a transaction is a snapshot", txIsSnapshot},
		{"a lost update is retried", lostUpdate},
		{"write skew is refused", writeSkew},
		{"a phantom is refused", phantom},
		{"a phantom past an early stop is none", noPhantomPastStop},
		{"the key at which a scan stops is read", stopIsRead},
		{"a deletion conflicts", deletionConflicts},
		{"an absent key is read", absenceIsRead},
		{"blind writes don't conflict", blindWrites},
		{"endless conflict gives up", endlessConflict},
		{"cancellation", cancellation},
		{"concurrent counters", concurrentCounters},
		{"concurrent disjoint writers", concurrentWriters},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.test(t, &suite{t: t, ctx: t.Context(), store: open(t)})
		})
	}
}

// suite is one case's store, with short forms of its calls.
type suite struct {
	t     *testing.T
	ctx   context.Context
	store core.Store
}

func (s *suite) update(fn func(core.Tx) error) {
	s.t.Helper()
	if err := s.store.Update(s.ctx, fn); err != nil {
		s.t.Fatalf("Update: %v", err)
	}
}

func (s *suite) put(pairs ...string) {
	s.t.Helper()
	s.update(func(tx core.Tx) error { return putAll(tx, pairs...) })
}

func (s *suite) want(key, value string) {
	s.t.Helper()
	got := "(absent)"
	err := s.store.View(s.ctx, func(r core.Reader) error {
		v, found, err := r.Get([]byte(key))
		if found {
			got = string(v)
		}
		return err
	})
	if err != nil {
		s.t.Fatalf("View: %v", err)
	}
	if got != value {
		s.t.Errorf("%s = %q, want %q", key, got, value)
	}
}

func (s *suite) wantCode(err error, code sdk.Code, reason string) {
	s.t.Helper()
	if sdk.CodeOf(err) != code || sdk.ReasonOf(err) != reason {
		s.t.Errorf("error %v (%s %s), want %s %s", err, sdk.CodeOf(err), sdk.ReasonOf(err), code, reason)
	}
}

func (s *suite) wantScan(r core.Reader, from, to string, want ...string) {
	s.t.Helper()
	got, err := scanAll(r, from, to)
	if err != nil {
		s.t.Fatalf("Scan: %v", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("Scan(%q, %q) (-want +got):\n%s", from, to, diff)
	}
}

func putAll(tx core.Tx, pairs ...string) error {
	for i := 0; i < len(pairs); i += 2 {
		if err := tx.Put([]byte(pairs[i]), []byte(pairs[i+1])); err != nil {
			return err
		}
	}
	return nil
}

// scanAll returns "key=value" of each pair.
func scanAll(r core.Reader, from, to string) (pairs []string, err error) {
	err = r.Scan([]byte(from), []byte(to), func(key, value []byte) (bool, error) {
		pairs = append(pairs, string(key)+"="+string(value))
		return true, nil
	})
	return pairs, err
}

func getText(r core.Reader, key string) (string, error) {
	v, _, err := r.Get([]byte(key))
	return string(v), err
}
