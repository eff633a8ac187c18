package store

import "time"

// sightings are the beats that one observer saw. After a look that comes too late, the
// measuring of time begins again: the observer or the database was suspended, and the other
// hosts may have had no chance to raise their beats.
type sightings struct {
	goneAfter time.Duration
	last      map[string]sighting
	// looked is when the newest look was.
	looked time.Time
}

// sighting is a record, and the time since which the observer has seen it unchanged.
type sighting struct {
	as    LeaseRecord
	since time.Time
}

// see records a look, and forgets records that no longer exist.
func (s *sightings) see(now time.Time, records map[string]LeaseRecord) {
	late := now.Sub(s.looked) > s.goneAfter/2
	next := make(map[string]sighting, len(records))
	for name, as := range records {
		if last, known := s.last[name]; known && last.as == as && !late {
			next[name] = last
		} else {
			next[name] = sighting{as, now}
		}
	}
	s.last, s.looked = next, now
}

func (s *sightings) known(name string) bool {
	_, known := s.last[name]
	return known
}

// gone reports whether a record hasn't changed for too long.
func (s *sightings) gone(name string) bool {
	last, known := s.last[name]
	return known && s.looked.Sub(last.since) >= s.goneAfter
}
