package store

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
)

// Every host that shares a store can do everything, but then every host would have to keep
// everything in memory, such as the index of each namespace. So each namespace has a home: the
// host to which the other hosts send the namespace's requests. The home is computed from the
// set of live hosts, so nothing has to be written or agreed on. If two hosts disagree for a
// moment about which hosts are alive, they compute different homes for some namespaces, which
// costs time but does no harm.

// Home is the host that a namespace belongs to; found is false if that is this host, or if
// other hosts can't reach this host. It is chosen by rendezvous hashing from the hosts that
// are alive, accept work, can be reached, and have the same version and plugins as this host.
// So when a host starts or stops, only the homes of its own share of the namespaces change.
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

// reachedFrom are the other hosts, as a look found them, that a namespace can belong to.
func reachedFrom(own HostRecord, hosts []HostRecord) (list []HostRecord) {
	for _, h := range hosts {
		if h.ID != own.ID && h.Peers != "" && !h.Draining && h.Version == own.Version && maps.Equal(h.Plugins, own.Plugins) {
			list = append(list, h)
		}
	}
	return list
}

// weight is a host's weight for a namespace. The host with the highest weight is the
// namespace's home.
func weight(host, namespace string) uint64 {
	sum := sha256.Sum256([]byte(host + "\x00" + namespace))
	return binary.BigEndian.Uint64(sum[:])
}
