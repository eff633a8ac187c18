// Package share divides a number of places among tenants, so that no tenant is in another's
// way.
//
// The rule is the same for whatever the places are, such as the bytes of bodies that are read
// at once, the connections of a server or the instances of a plugin: as long as nobody else
// waits, a tenant may have all of them. While another tenant waits, a tenant gets no more
// than half, and places that become free go to the waiting tenants in turn, however many
// requests each of them has. A place that its holder can lose, such as a stream of events
// whose reader connects again, is taken back for a tenant that has less.
//
// It is internal to Reflectory: its API may change in any release.
package share

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Options determine how places are divided.
type Options struct {
	// Places is how many there are, at least 1.
	Places int64
	// Each is how many a tenant may have even if nobody else waits; 0 is all. It is for places
	// that a tenant could keep for long and that nobody can take back.
	Each int64
	// Lasts is how long a tenant that had places still counts as waiting. With places that
	// are held for long and can't be taken back, a tenant that comes now and then would
	// otherwise find all of them taken each time. 0 is only while it waits.
	Lasts time.Duration
}

// Share divides places. It is safe for concurrent use.
type Share struct {
	options Options

	mu      sync.Mutex
	taken   int64
	tenants map[string]*tenant
	// turn has the tenants that wait; the first gets the next free place.
	turn []*tenant
	// held are the places that can be lost, the oldest first.
	held []*Slot
	// spare is a tenant that was dropped, to be used for the next: one request after the other, each
	// tenant is made and dropped again.
	spare *tenant
	// last are the two tenants that had places last, the last first, if Lasts is set.
	last [2]visit
}

// visit is when a tenant was last given places, or gave some back.
type visit struct {
	name string
	at   time.Time
}

// tenant is a tenant that has places or waits for some.
type tenant struct {
	name  string
	taken int64
	waits []*waiter // in the order in which they get places
	// users has how many requests each of its users has, with places and waiting.
	users map[string]int64
}

// left notes that a request of a user has ended.
func (t *tenant) left(user string) {
	if t.users[user]--; t.users[user] == 0 {
		delete(t.users, user)
	}
}

// waiter waits for places.
type waiter struct {
	n     int64
	given chan struct{} // closed once it has them
	// user is whose it is, and rank how many requests the user had before it.
	user string
	rank int64
}

// New makes a share of which nothing is taken.
func New(o Options) *Share {
	o.Places = max(o.Places, 1)
	if o.Each <= 0 || o.Each > o.Places {
		o.Each = o.Places
	}
	return &Share{options: o, tenants: map[string]*tenant{}}
}

// Half is half of a number of places, at least 1: what a tenant gets while another waits.
func Half(places int64) int64 { return max(places/2, 1) }

// Take takes n places for a tenant, and waits for them until ctx ends. A request for more
// places than a tenant may have gets as many as it may have. done gives the places back; it
// must be called, and may be called twice.
func (s *Share) Take(ctx context.Context, name string, n int64) (done func(), err error) {
	return s.TakeFor(ctx, name, "", n)
}

// TakeFor is [Share.Take] for one of a tenant's users, who take turns for the tenant's places: the next
// goes to the one with the fewest requests.
func (s *Share) TakeFor(ctx context.Context, name, user string, n int64) (done func(), err error) {
	if done, free := s.Free(name, user, n); free {
		return done, nil
	}
	s.mu.Lock()
	n = min(max(n, 0), s.options.Each)
	t := s.tenant(name)
	w := &waiter{n: n, given: make(chan struct{}), user: user, rank: t.users[user]}
	t.users[user]++
	at := len(t.waits)
	for at > 0 && t.waits[at-1].user != user && t.waits[at-1].rank > w.rank {
		at--
	}
	if t.waits = slices.Insert(t.waits, at, w); len(t.waits) == 1 {
		s.turn = append(s.turn, t)
	}
	s.settle() // also what is free is given in turn: a tenant with a large request may wait for it
	s.mu.Unlock()
	select {
	case <-w.given:
		return s.giveBack(t, user, n), nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !t.forget(w) { // it was given them meanwhile
		return s.giveBack(t, user, n), nil
	}
	t.left(user)
	s.settle()
	s.drop(t)
	return nil, ctx.Err()
}

// Free takes places as [Share.TakeFor] does if they are free and nobody waits, which is the usual case.
// Otherwise it takes none.
func (s *Share) Free(name, user string, n int64) (done func(), free bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n = min(max(n, 0), s.options.Each)
	if len(s.turn) > 0 {
		return nil, false
	}
	t := s.tenant(name)
	if !s.may(t, n) {
		s.drop(t)
		return nil, false
	}
	s.give(t, n)
	t.users[user]++
	return s.giveBack(t, user, n), true
}

// Waiting is how many requests wait for places.
func (s *Share) Waiting() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.turn {
		n += len(t.waits)
	}
	return n
}

// Taken is how many places are taken.
func (s *Share) Taken() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken
}

// Standing reports whether a tenant has half of the places or more, and whether another tenant had
// some within the time that this counts. A tenant of which both are true gets no more. It is for a
// holder that chooses whom to give a place instead of waiting for one.
func (s *Share) Standing(name string) (half, others bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tenants[name]
	return t != nil && t.taken >= Half(s.options.Places), s.lately(name)
}

// tenant is a tenant, which may be new.
func (s *Share) tenant(name string) *tenant {
	t := s.tenants[name]
	if t != nil {
		return t
	}
	if t, s.spare = s.spare, nil; t == nil {
		t = &tenant{users: map[string]int64{}}
	}
	t.name, s.tenants[name] = name, t
	return t
}

// may reports whether a tenant may have n more places now.
func (s *Share) may(t *tenant, n int64) bool {
	most := s.options.Each
	if others := len(s.turn); others > 1 || others == 1 && s.turn[0] != t || s.lately(t.name) {
		most = min(most, max(Half(s.options.Places), n)) // one request may be larger than half
	}
	return s.taken+n <= s.options.Places && t.taken+n <= most
}

// visited notes that a tenant gets places or gives some back.
func (s *Share) visited(name string) {
	if s.options.Lasts <= 0 {
		return
	}
	if s.last[0].name != name {
		s.last[1] = s.last[0]
	}
	s.last[0] = visit{name, time.Now()}
}

// lately reports whether another tenant had places within the time that this counts.
func (s *Share) lately(name string) bool {
	other := s.last[0]
	if other.name == name {
		other = s.last[1]
	}
	return !other.at.IsZero() && time.Since(other.at) < s.options.Lasts
}

// Resize changes how many places there are. If that is fewer than are taken, no others are given
// until enough of them are given back.
func (s *Share) Resize(places int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.options.Each == s.options.Places {
		s.options.Each = max(places, 1)
	}
	s.options.Places = max(places, 1)
	s.settle()
}

func (s *Share) give(t *tenant, n int64) {
	s.taken += n
	t.taken += n
	s.visited(t.name)
}

// giveBack is the function that gives back the n places that a user of a tenant was given.
func (s *Share) giveBack(t *tenant, user string, n int64) func() {
	given := true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !given {
			return
		}
		given = false
		s.give(t, -n)
		t.left(user)
		s.settle()
		s.drop(t)
	}
}

// settle gives free places to waiting tenants, in turn. A tenant that was given some waits
// behind the others. One that waits for more than is free keeps its turn, and those behind
// it get nothing that it could use: otherwise small requests would starve a large one.
func (s *Share) settle() {
	for i := 0; i < len(s.turn); {
		t := s.turn[i]
		if len(t.waits) == 0 {
			s.turn = append(s.turn[:i:i], s.turn[i+1:]...)
			continue
		}
		w := t.waits[0]
		if !s.may(t, w.n) {
			if t.taken+w.n <= Half(s.options.Places) { // only room is missing
				return
			}
			i++
			continue
		}
		s.give(t, w.n)
		t.waits = t.waits[1:]
		close(w.given)
		s.turn = append(s.turn[:i:i], s.turn[i+1:]...)
		if len(t.waits) > 0 {
			s.turn = append(s.turn, t)
		}
		i = 0
	}
}

// forget removes a waiter; false if it doesn't wait any more.
func (t *tenant) forget(w *waiter) bool {
	for i, other := range t.waits {
		if other == w {
			t.waits = append(t.waits[:i:i], t.waits[i+1:]...)
			return true
		}
	}
	return false
}

// drop forgets a tenant that has nothing and waits for nothing.
func (s *Share) drop(t *tenant) {
	if t.taken == 0 && len(t.waits) == 0 && s.tenants[t.name] == t {
		delete(s.tenants, t.name)
		if len(t.users) == 0 {
			s.spare = t
		}
	}
}
