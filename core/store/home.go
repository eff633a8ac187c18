package store

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
)

// Every host that shares a store can do everything, but then each of them would have to keep in
// memory what one of them keeps, such as a namespace's index. So each namespace has a home: the
// host to which the others send its requests. The home is computed from which hosts live, so
// nothing has to be written or agreed on. If two hosts disagree for a moment about which hosts
// live, they compute different homes for some namespaces, which costs time but does no harm.

// Home is the host that a namespace belongs to; found is false if that is this host, or if
// this host isn't reached by others. It is chosen by rendezvous hashing from the hosts that
// live, accept work, can be reached, and have the same version and plugins as this one. So a
// host that comes or goes changes the home of its own share of the namespaces, and of no
// others.
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

// weight is a host's weight for a namespace. The host with the highest one is its home.
func weight(host, namespace string) uint64 {
	sum := sha256.Sum256([]byte(host + "\x00" + namespace))
	return binary.BigEndian.Uint64(sum[:])
}
