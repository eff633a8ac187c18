package store

import (
	"context"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/table"
	"github.com/reflectory/reflectory/sdk"
)

// A lease records which host does a task that one host does for all hosts, such as appending to
// the journal's root. Whenever a host takes or releases the lease, the lease's epoch is raised.
// The holder writes through [Fenced], so a holder that was suspended, and continues without
// knowing that another host has the lease, writes nothing.

// LeaseRoot is the lease of the journal's root stream.
const LeaseRoot = "root"

// LeaseLost is the reason for refusing a write under a lease that now belongs to another host, or
// to no host.
const LeaseLost = "lease_lost"

// LeaseRecord is the record of a lease, at the key lease/ and the lease's name.
type LeaseRecord struct {
	// Holder is a host's id; "" means that no host holds the lease, so any host may take it at once.
	Holder string `json:"holder"`
	// Epoch counts how often the lease changed hands.
	Epoch uint64 `json:"epoch"`
	// Beat is raised together with its holder's beat.
	Beat uint64 `json:"beat"`
	// Time is the time that the beats give, in milliseconds: see [Time].
	Time int64 `json:"time,omitempty"`
}

// Time is a time that all hosts of a shared store agree on, whatever their clocks show. It begins
// with the clock of the first holder of [LeaseRoot], and advances by 2 s with each of a holder's
// beats. So it never runs faster than real time, and it stops while no server is alive. The zero
// time means that there was no beat yet, or that the lease's record is damaged.
func Time(r core.Reader) (time.Time, error) {
	l, err := ReadLease(r, LeaseRoot)
	if table.Corrupt(err) || err == nil && l.Time == 0 {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	return time.UnixMilli(l.Time).UTC(), nil
}

// raise raises the beat. A holder's first beat doesn't advance a time that is already set,
// since it may follow the previous holder's last beat by less than the time between two beats.
func (l *LeaseRecord) raise(every time.Duration) {
	switch {
	case l.Time == 0:
		l.Time = time.Now().UnixMilli()
	case l.Beat > 0:
		l.Time += every.Milliseconds()
	}
	l.Beat++
}

func leaseKey(what string) []byte { return []byte(leasePrefix + what) }

// Leases returns the leases of a shared store by name, without damaged ones. A check reports
// damaged leases, and a host that tries to take one gets the error.
func Leases(r core.Reader) (map[string]LeaseRecord, error) {
	all := map[string]LeaseRecord{}
	return all, leases.Scan(r, "", "", func(what string, l *LeaseRecord) (bool, error) {
		if l != nil {
			all[what] = *l
		}
		return true, nil
	})
}

// ReadLease returns a lease; the zero value if nobody has held it yet.
func ReadLease(r core.Reader, what string) (l LeaseRecord, err error) {
	value, found, err := r.Get(leaseKey(what))
	if err != nil || !found {
		return l, err
	}
	held, err := leases.Parse(what, value)
	if err == nil {
		l = *held
	}
	return l, err
}

// TakeLease makes a host the holder of a lease that hasn't changed since it was seen, and returns
// the new epoch; taken is false if the lease has changed. The caller must make sure that the
// holder in seen is gone, or that seen has no holder.
func TakeLease(ctx context.Context, s core.Store, what, holder string, seen LeaseRecord) (epoch uint64, taken bool, err error) {
	err = s.Update(ctx, func(tx core.Tx) error {
		l, err := ReadLease(tx, what)
		if taken = err == nil && l == seen; !taken {
			return err
		}
		epoch = l.Epoch + 1
		return tx.Put(leaseKey(what), jsontext.MustEncode(LeaseRecord{Holder: holder, Epoch: epoch, Time: l.Time}))
	})
	return epoch, taken && err == nil, sdk.Wrap("take the lease of "+what, err)
}

// ReleaseLease gives up a lease that was taken with an epoch, unless another host has taken
// it.
func ReleaseLease(ctx context.Context, s core.Store, what string, epoch uint64) error {
	return sdk.Wrap("release the lease of "+what, s.Update(ctx, func(tx core.Tx) error {
		l, err := ReadLease(tx, what)
		if err != nil || l.Epoch != epoch {
			return err
		}
		return tx.Put(leaseKey(what), jsontext.MustEncode(LeaseRecord{Epoch: epoch + 1, Time: l.Time}))
	}))
}

// WithLease takes a lease, calls fn with a store that is fenced by it, and releases it. It is for
// a program that writes no beats. If the lease's holder is a host that writes beats, WithLease
// does nothing: the holder does the work. If the holder is a program without beats, WithLease
// takes the lease at once, since it can't be seen whether that program still runs. If it still
// runs, the fence stops it, and fn does its work too.
func WithLease(ctx context.Context, s core.Store, what, holder string, fn func(core.Store) error) error {
	var seen LeaseRecord
	held := false
	err := s.View(ctx, func(r core.Reader) (err error) {
		if seen, err = ReadLease(r, what); err == nil && seen.Holder != "" {
			held, err = HasHost(r, seen.Holder)
		}
		return err
	})
	if err != nil || held {
		return err
	}
	epoch, taken, err := TakeLease(ctx, s, what, holder, seen)
	if err != nil || !taken {
		return err
	}
	err = fn(Fenced(s, what, epoch))
	return core.JoinErrors(err, ReleaseLease(context.WithoutCancel(ctx), s, what, epoch))
}

// Fence is a condition that every transaction of some work checks first. If it returns an
// error, nothing is written.
type Fence func(core.Reader) error

// Fenced is a store whose every Update reads a lease first, and is refused with
// sdk.Conflict, reason [LeaseLost], if the lease's epoch isn't the given one. The
// read is part of the transaction: if another host takes the lease before the commit, that
// is a conflict, and the transaction runs again.
func Fenced(s core.Store, lease string, epoch uint64) core.Store {
	return &fenced{s, func(r core.Reader) error { return leaseHeld(r, lease, epoch) }}
}

// leaseHeld returns an error if a lease has another epoch.
func leaseHeld(r core.Reader, lease string, epoch uint64) error {
	l, err := ReadLease(r, lease)
	if err == nil && l.Epoch != epoch {
		err = sdk.Errorf(sdk.Conflict, LeaseLost, "the lease of %s isn't held in epoch %d any more (it is %d)", lease, epoch, l.Epoch).
			WithHint("stop this work: another host does it now").WithDetail("lease", lease).WithDetail("epoch", epoch)
	}
	return err
}

type fenced struct {
	core.Store
	fence Fence
}

// Update implements [core.Store].
func (s *fenced) Update(ctx context.Context, fn func(core.Tx) error) error {
	return s.Store.Update(ctx, func(tx core.Tx) error {
		if err := s.fence(tx); err != nil {
			return err
		}
		return fn(tx)
	})
}

// MarkPurged implements [core.Scrubber]. If the store keeps no files, it does nothing.
func (s *fenced) MarkPurged(tx core.Tx, name string, keys [][]byte) error {
	if scrubber, ok := s.Store.(core.Scrubber); ok {
		return scrubber.MarkPurged(tx, name, keys)
	}
	return nil
}

// Scrub implements [core.Scrubber].
func (s *fenced) Scrub(ctx context.Context) (held string, err error) {
	if scrubber, ok := s.Store.(core.Scrubber); ok {
		return scrubber.Scrub(ctx)
	}
	return "", nil
}

// RetainedIn implements [core.ScrubberWithCopies]. It returns nothing for a store without other
// copies.
func (s *fenced) RetainedIn() []string {
	if scrubber, ok := s.Store.(core.ScrubberWithCopies); ok {
		return scrubber.RetainedIn()
	}
	return nil
}

type fenceKey struct{}

// WithFence returns a context whose transactions on an [OnDemand] or [Fenceable] store also check
// this fence, in addition to the fences of the store itself. So a fence applies to everything
// that is written for a piece of work, whichever part writes it.
func WithFence(ctx context.Context, f Fence) context.Context {
	if outer := fenceOf(ctx); outer != nil {
		inner := f
		f = func(r core.Reader) error {
			if err := outer(r); err != nil {
				return err
			}
			return inner(r)
		}
	}
	return context.WithValue(ctx, fenceKey{}, f)
}

func fenceOf(ctx context.Context) Fence {
	f, _ := ctx.Value(fenceKey{}).(Fence)
	return f
}
