package host

import (
	"context"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/policyset"
	"github.com/reflectory/reflectory/policy"
	"github.com/reflectory/reflectory/sdk"
)

// sharedPolicies are the policies of a store that several hosts share, which `policyset` stores. A decision
// within a transaction is made with the set that the transaction reads, so it can't be committed once another
// set is in force. Other decisions are made with the newest set that this host has seen, since it
// follows the pushes.
type sharedPolicies struct {
	points *policy.Points
	store  core.Store
	feed   *journal.Feed
	// opened is closed once the store is open; nil if the store is open from the start.
	opened <-chan struct{}
	// replace is called with a newer set.
	replace func(*policy.Set)
	warn    func(error)

	mu sync.Mutex
	// compiled are sets by their pushes, or the reasons why they can't be used: the newest set, and a
	// few earlier sets that transactions may still read.
	compiled map[policyset.Active]compiledSet
	// seen is the newest set that was read. Before the first read, known is false, and the set is the
	// defaults, which then decide nothing.
	known  bool
	seen   policyset.Active
	newest compiledSet
}

// compiledSet is a set, or the reason why it can't be used.
type compiledSet struct {
	*policy.Set
	failure error
}

// maxCompiled bounds the sets that are kept. A full map is emptied: pushes are rare.
const maxCompiled = 4

// current is the source of the set that decides.
func (s *sharedPolicies) current(ctx context.Context, r core.Reader) (*policy.Set, error) {
	if r != nil {
		_, set, err := s.read(r)
		return set, err
	}
	s.mu.Lock()
	known := s.known
	s.mu.Unlock()
	if !known { // the defaults mustn't allow what a set in the store forbids
		if err := s.refresh(ctx); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newest.Set, s.newest.failure
}

// read reads which set decides, and compiles it, unless that was done before.
func (s *sharedPolicies) read(r core.Reader) (policyset.Active, *policy.Set, error) {
	active, err := policyset.ReadActive(r)
	if err != nil || active.Epoch == 0 {
		return active, s.points.Defaults(), err
	}
	s.mu.Lock()
	done, ok := s.compiled[active]
	s.mu.Unlock()
	if ok {
		return active, done.Set, done.failure
	}
	files, err := policyset.ReadFiles(r, active.Digest)
	if err != nil {
		return active, nil, err
	}
	set, err := s.points.LoadFiles(files)
	if err == nil && set.Digest() != active.Digest {
		err = sdk.Errorf(sdk.Internal, "policy_set_damaged", "its files aren't those that were pushed").
			WithHint("check the store, and push the policies again")
	}
	if err != nil {
		set, err = nil, sdk.Errorf(sdk.Unavailable, "policies_unusable", "the policies that were pushed last, %s, can't be used by this host: %w", active.Digest, err).
			WithHint("use the program's version that pushed them, or push others")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.compiled) >= maxCompiled || s.compiled == nil {
		s.compiled = map[policyset.Active]compiledSet{}
	}
	s.compiled[active] = compiledSet{set, err}
	return active, set, err
}

// ready makes sure that the newest set was read, and returns an error if the set can't be used.
func (s *sharedPolicies) ready(ctx context.Context) error {
	s.mu.Lock()
	known, failure := s.known, s.newest.failure
	s.mu.Unlock()
	if known && failure == nil {
		return nil
	}
	return s.refresh(ctx)
}

// refresh reads the newest set. An error of the store changes nothing.
func (s *sharedPolicies) refresh(ctx context.Context) error {
	var active policyset.Active
	var set *policy.Set
	var failure error
	err := s.store.View(ctx, func(r core.Reader) (err error) {
		active, set, err = s.read(r)
		if isUnusable(err) {
			failure, err = err, nil
		}
		return err
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	unnamed := failure != nil && active.Epoch == 0 // the record of the set in force is damaged
	if s.known && active.Epoch < s.seen.Epoch && !unnamed {
		return s.newest.failure // another call read a newer one meanwhile
	}
	s.known, s.seen, s.newest = true, active, compiledSet{set, failure}
	if failure == nil {
		s.replace(set)
	}
	return failure
}

// isUnusable reports whether an error comes from the set, and not from the store.
func isUnusable(err error) bool {
	reason := sdk.ReasonOf(err)
	return reason == "policies_unusable" || reason == "policy_set_damaged"
}

// active returns the newest set that this host has seen, and the reason if the set can't be used.
func (s *sharedPolicies) active() (policyset.Active, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen, s.newest.failure
}

// followRest is how long following pauses after an error of the store.
const followRest = time.Second

// follow reads each set that is pushed, by whichever host, until the context ends.
func (s *sharedPolicies) follow(ctx context.Context) {
	if s.opened != nil {
		select {
		case <-s.opened:
		case <-ctx.Done():
			return
		}
	}
	for ctx.Err() == nil {
		_ = s.followPushes(ctx) // an unreachable store is reported elsewhere
		rest := time.NewTimer(followRest)
		select {
		case <-rest.C:
		case <-ctx.Done():
			rest.Stop()
		}
	}
}

func (s *sharedPolicies) followPushes(ctx context.Context) error {
	head, err := core.View(ctx, s.store, func(r core.Reader) (journal.Head, error) { return journal.ReadHead(r, journal.PolicyStream) })
	if err != nil {
		return err
	}
	if err := s.reread(ctx); err != nil {
		return err
	}
	return s.feed.Follow(ctx, journal.PolicyStream, head.Seq, func(e journal.Entry) error {
		if e.Is(journal.PoliciesPushed{}) {
			return s.reread(ctx)
		}
		return nil
	})
}

// reread reads the newest set, and warns the operator if it can't be used. An error comes
// from the store.
func (s *sharedPolicies) reread(ctx context.Context) error {
	_, before := s.active()
	err := s.refresh(ctx)
	if !isUnusable(err) {
		return err
	}
	if before == nil {
		s.warn(err)
	}
	return nil
}
