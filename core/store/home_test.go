package store

import (
	"fmt"
	"testing"
	"time"
)

// membersOf are members that see each other, as after a look of each.
func membersOf(t *testing.T, records ...HostRecord) map[string]*Member {
	t.Helper()
	members := map[string]*Member{}
	for _, r := range records {
		m, err := NewMember(MemberOptions{Host: r})
		if err != nil {
			t.Fatal(err)
		}
		m.reached = reachedFrom(r, records)
		members[r.ID] = m
	}
	return members
}

// homes are the ids of the homes of 300 namespaces, as a member sees them.
func homes(m *Member) []string {
	list := make([]string, 300)
	for i := range list {
		list[i] = m.ID()
		if home, other := m.Home(fmt.Sprintf("users/u%d", i)); other {
			list[i] = home.ID
		}
	}
	return list
}

// TestMember_HomeIsTheSameForAll hosts, which have about the same share; when one leaves, only
// what it had moves.
func TestMember_HomeIsTheSameForAll(t *testing.T) {
	a, b, c := HostRecord{ID: "a", Peers: "a:1"}, HostRecord{ID: "b", Peers: "b:1"}, HostRecord{ID: "c", Peers: "c:1"}
	all := membersOf(t, a, b, c)
	want, shares := homes(all["a"]), map[string]int{}
	for i, id := range want {
		shares[id]++
		if got := homes(all["b"])[i]; got != id {
			t.Fatalf("namespace %d is %s's for a and %s's for b", i, id, got)
		}
	}
	for id, n := range shares {
		if n < 70 || n > 130 {
			t.Errorf("%s has %d of 300", id, n)
		}
	}
	for i, id := range homes(membersOf(t, a, b)["a"]) {
		if id != want[i] && want[i] != "c" {
			t.Errorf("without c, namespace %d moves from %s to %s", i, want[i], id)
		}
	}
}

// TestMember_HomeIsOneThatCanAnswer: reached, of the same version, alive, and not drained.
func TestMember_HomeIsOneThatCanAnswer(t *testing.T) {
	own := HostRecord{ID: "a", Peers: "a:1", Version: "2"}
	for what, other := range map[string]HostRecord{
		"isn't reached":      {ID: "b", Version: "2"},
		"is of another time": {ID: "b", Peers: "b:1", Version: "1"},
		"has other plugins":  {ID: "b", Peers: "b:1", Version: "2", Plugins: map[string]string{"a": "1"}},
		"is drained":         {ID: "b", Peers: "b:1", Version: "2", Draining: true},
	} {
		for i, id := range homes(membersOf(t, own, other)["a"]) {
			if id != "a" {
				t.Fatalf("a host that %s has namespace %d", what, i)
			}
		}
	}
	other := HostRecord{ID: "b", Peers: "b:1", Version: "2"}
	alone := func(m *Member) bool {
		for _, id := range homes(m) {
			if id != m.ID() {
				return false
			}
		}
		return true
	}
	gone := membersOf(t, own, other)["a"]
	if alone(gone) {
		t.Fatal("the other host has nothing")
	}
	at := time.Now()
	gone.hosts.see(at, map[string]LeaseRecord{"b": {Beat: 1}})
	for i := range 4 { // looks that come in time
		gone.hosts.see(at.Add(time.Duration(i+1)*DefaultGone/3), map[string]LeaseRecord{"b": {Beat: 1}})
	}
	if !alone(gone) {
		t.Error("a host that is gone has namespaces")
	}
	drained := membersOf(t, own, other)["a"]
	drained.draining = true
	if !alone(drained) {
		t.Error("a host that is drained sends requests on: it ends them itself")
	}
	if !alone(membersOf(t, HostRecord{ID: "a", Version: "2"}, other)["a"]) {
		t.Error("a host that others don't reach sends requests to them")
	}
}
