package store

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
)

// Hosts that share a store can all do everything, but what one of them keeps in memory, such as
// a namespace's index, the others would have to keep too. So each namespace has a home: the
// host that the others send its requests to. The home is computed from who lives, so nothing
// is written or agreed on. Two hosts that see others differently for a moment have another
// home for some namespaces, which costs time and is right all the same.

// Home is the host that a namespace belongs to; found is false if that is this host, or if
// this host isn't reached by others. Of the hosts of this one's version and plugins that live,
// take on work and are reached, it is the one of rendezvous hashing: a host that comes or goes
// changes the home of its own share of the namespaces, and of no others.
func (m *Member) Home(namespace string) (home HostRecord, found bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	own := m.options.Host
	if own.Peers == "" || m.draining {
		return HostRecord{}, false
	}
	home, best := own, weight(own.ID, namespace)
	for _, h := range m.reached {
		if w := weight(h.ID, namespace); w > best && !m.hosts.gone(h.ID) {
			home, best = h, w
		}
	}
	return home, home.ID != own.ID
}

// reachedFrom are the other hosts of a look that a namespace can belong to.
func reachedFrom(own HostRecord, hosts []HostRecord) (list []HostRecord) {
	for _, h := range hosts {
		if h.ID != own.ID && h.Peers != "" && !h.Draining && h.Version == own.Version && maps.Equal(h.Plugins, own.Plugins) {
			list = append(list, h)
		}
	}
	return list
}

// weight is what a host bids for a namespace.
func weight(host, namespace string) uint64 {
	sum := sha256.Sum256([]byte(host + "\x00" + namespace))
	return binary.BigEndian.Uint64(sum[:])
}
