package host

import (
	"context"
	"errors"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/policyset"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/policy"
)

// awayStore is a store that can't be read.
type awayStore struct{ core.Store }

var errAway = errors.New("the store is away")

func (awayStore) View(context.Context, func(core.Reader) error) error { return errAway }

// A host that has read no set yet decides by none, and not by the defaults.
func TestSharedPolicies_DecideNothingBeforeTheyAreRead(t *testing.T) {
	points, s := policy.NewPoints(), mem.Open()
	files := map[string]string{"access/all.yaml": `rule: {match: [{output: '{"allow": false, "code": "closed", "reason": "no"}'}]}`}
	set, err := points.LoadFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	err = (&journal.Writer{Store: s}).Update(t.Context(), func(tx *journal.Tx) error {
		_, _, err := policyset.Put(tx, set.Digest(), files, 1)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	fresh := func(s core.Store) *sharedPolicies {
		return &sharedPolicies{points: points, store: s, replace: func(*policy.Set) {}, newest: compiledSet{Set: points.Defaults()}}
	}
	if got, err := fresh(s).current(t.Context()); err != nil || got.Digest() != set.Digest() {
		t.Errorf("it decides by %v: %v", got, err)
	}
	if got, err := fresh(awayStore{s}).current(t.Context()); !errors.Is(err, errAway) {
		t.Errorf("without its store it decides by %v: %v", got, err)
	}
}
