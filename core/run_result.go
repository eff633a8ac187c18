package core

import (
	"encoding/json"
	"maps"
	"slices"
)

// Results makes a run's result from those of its visits. The zero value is that
// of a run without visits.
type Results struct {
	nodes map[string]json.RawMessage // the newest of each node
	last  string                     // the node that ran last
}

// Add takes in the next visit. One that was skipped has no result.
func (r *Results) Add(v *Visit) {
	if v.Skipped {
		return
	}
	if r.nodes == nil {
		r.nodes = map[string]json.RawMessage{}
	}
	r.nodes[v.Node], r.last = v.Result, v.Node
}

// Run is the run's result: that of the last node that ran, with the run's id and
// status, and next to it all nodes' where there are several.
func (r *Results) Run(id string, s Status) json.RawMessage {
	last := Members(r.nodes[r.last])
	out := []Member{{"run_id", MustJSON(id)}}
	if !slices.ContainsFunc(last, func(m Member) bool { return m.Key == "status" }) {
		out = append(out, Member{"status", MustJSON(s)})
	}
	for _, m := range last {
		if m.Key != "run_id" {
			out = append(out, m)
		}
	}
	if len(r.nodes) > 1 {
		var nodes []Member
		for _, name := range slices.Sorted(maps.Keys(r.nodes)) {
			nodes = append(nodes, Member{name, r.nodes[name]})
		}
		out = append(out, Member{"nodes", JoinMembers(nodes)})
	}
	return JoinMembers(out)
}
