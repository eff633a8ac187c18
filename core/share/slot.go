package share

import "slices"

// Slot is a place that its holder can lose. Its methods are safe for concurrent use.
type Slot struct {
	share *Share
	of    *tenant
	// stranger is whether nobody knows yet whose place it is.
	stranger bool
	// lose ends what has the place, and reports whether it could: not while it is in use.
	lose func() bool
	gone bool
}

// Hold takes one place, without waiting. If none is free, another holder loses its own: the
// oldest stranger's that isn't in use, else the oldest of the tenant with the most, if that
// has more than half. It returns nil if nobody has to yield.
//
// A stranger is a holder of which only the origin is known, such as the address of a
// connection before its first credentials: name is then that origin. Strangers of one origin
// have at most half of the places. lose is called at most once with the result true, and
// must return soon; it may be called with the share's lock held, so it must not call the
// share. After that, Free does nothing.
func (s *Share) Hold(name string, stranger bool, lose func() bool) *Slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tenant(name)
	crowded := stranger && t.taken >= Half(s.options.Places)
	if crowded && !s.takeBack(func(p *Slot) bool { return p.stranger && p.of == t }) ||
		!crowded && s.taken >= s.options.Places && !s.yield(t) {
		s.drop(t)
		return nil
	}
	t = s.tenant(name) // which may have lost its last place
	s.give(t, 1)
	p := &Slot{share: s, of: t, stranger: stranger, lose: lose}
	s.held = append(s.held, p)
	return p
}

// yield makes one place free for a tenant.
func (s *Share) yield(t *tenant) bool {
	if s.takeBack(func(p *Slot) bool { return p.stranger }) {
		return true
	}
	var most *tenant
	for _, p := range s.held {
		if most == nil || p.of.taken > most.taken {
			most = p.of
		}
	}
	return most != nil && most != t && most.taken > Half(s.options.Places) &&
		s.takeBack(func(p *Slot) bool { return p.of == most })
}

// takeBack takes the oldest of these places that its holder can lose.
func (s *Share) takeBack(of func(*Slot) bool) bool {
	for i, p := range s.held {
		if of(p) && p.lose() {
			s.held = slices.Delete(s.held, i, i+1)
			p.end()
			return true
		}
	}
	return false
}

// end gives the place back. The lock is held.
func (p *Slot) end() {
	p.gone = true
	p.share.give(p.of, -1)
	p.share.drop(p.of)
}

// Known makes the place one of a tenant: whose it is has become known.
func (p *Slot) Known(name string) {
	s := p.share
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.gone || !p.stranger && p.of.name == name {
		return
	}
	s.give(p.of, -1)
	s.drop(p.of)
	p.of, p.stranger = s.tenant(name), false
	s.give(p.of, 1)
}

// Free gives the place back. Of nil, which is no place, it does nothing.
func (p *Slot) Free() {
	if p == nil {
		return
	}
	s := p.share
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.gone {
		return
	}
	if i := slices.Index(s.held, p); i >= 0 {
		s.held = slices.Delete(s.held, i, i+1)
	}
	p.end()
	s.settle()
}
