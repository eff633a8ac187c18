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

// A host that has read no set yet decides nothing, not even by the defaults.
func TestSharedPolicies_DecideNothingBeforeTheyAreRead(t *testing.T) {
	points, s := policy.AllPoints(), mem.Open()
	files := map[string]string{"access/all.yaml": `rule: {match: [{output: '{"allow": false, "code": "closed", "reason": "no"}'}]}`}
	set, err := points.LoadFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	err = (&journal.Writer{Store: s}).Update(t.Context(), func(tx *journal.Tx) error {
		_, _, err := policyset.Put(tx, policyset.Set{Digest: set.Digest(), Files: files, Policies: 1})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	fresh := func(s core.Store) *sharedPolicies {
		return &sharedPolicies{points: points, store: s, replace: func(*policy.Set) {}, newest: compiledSet{Set: points.Defaults()}}
	}
	if got, err := fresh(s).current(t.Context(), nil); err != nil || got.Digest() != set.Digest() {
		t.Errorf("it decides by %v: %v", got, err)
	}
	if got, err := fresh(awayStore{s}).current(t.Context(), nil); !errors.Is(err, errAway) {
		t.Errorf("without its store it decides by %v: %v", got, err)
	}
}

// delayed is a store whose view begins, and then waits until it is released.
type delayed struct {
	core.Store
	began, goOn chan struct{}
}

func (s delayed) View(ctx context.Context, fn func(core.Reader) error) error {
	err := s.Store.View(ctx, fn)
	close(s.began)
	<-s.goOn
	return err
}

// A set that can't be used, and that was read before a newer one, doesn't replace that.
func TestSharedPolicies_AnOlderFailureReplacesNothing(t *testing.T) {
	points, s := policy.AllPoints(), mem.Open()
	push := func(digest string, files map[string]string) {
		err := (&journal.Writer{Store: s}).Update(t.Context(), func(tx *journal.Tx) error {
			_, _, err := policyset.Put(tx, policyset.Set{Digest: digest, Files: files, Policies: 1})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	good := map[string]string{"access/all.yaml": `rule: {match: [{output: '{"allow": false, "code": "closed", "reason": "no"}'}]}`}
	set, err := points.LoadFiles(good)
	if err != nil {
		t.Fatal(err)
	}
	p := &sharedPolicies{points: points, store: s, replace: func(*policy.Set) {}, newest: compiledSet{Set: points.Defaults()}}
	push("sha256:other", good) // which isn't its digest
	late := delayed{s, make(chan struct{}), make(chan struct{})}
	p.store = late
	failed := make(chan error)
	go func() { failed <- p.refresh(t.Context()) }()
	<-late.began
	p.store = s
	push(set.Digest(), good)
	if err := p.refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	close(late.goOn)
	if err := <-failed; err != nil {
		t.Errorf("the later one is in force: %v", err)
	}
	if active, err := p.active(); err != nil || active.Epoch != 2 || active.Digest != set.Digest() {
		t.Errorf("the newest is %+v: %v", active, err)
	}
}
