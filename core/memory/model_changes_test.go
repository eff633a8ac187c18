package memory_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
)

func (m *model) link(r *rand.Rand) modelOp {
	q := memory.LinkRequest{From: m.pick(r), Relation: "reflects_on", To: m.pick(r)}
	return modelOp{"link", func(t *testing.T, w *world) answer {
		_, err := w.Link(t.Context(), &q)
		return answered(err, "", 0)
	}, func(string) string {
		if q.From == q.To {
			return "link_self"
		}
		for _, id := range []string{q.From, q.To} {
			if m.gone[id] {
				return "memory_purged"
			}
			if m.memories[id] == nil {
				return "memory_not_found"
			}
		}
		switch from := m.memories[q.From]; {
		case slices.Contains(from.links, q.To):
			return ""
		case m.reaches(q.To, q.From):
			return "link_cycle"
		default:
			from.links = append(from.links, q.To)
			return ""
		}
	}}
}

func (m *model) reaches(from, to string) bool {
	if from == to {
		return true
	}
	return m.memories[from] != nil && slices.ContainsFunc(m.memories[from].links, func(next string) bool { return m.reaches(next, to) })
}

func (m *model) move(r *rand.Rand) modelOp {
	id, state := m.pick(r), oneOf(r, core.StateActive, core.StateArchived, core.StateConsolidated, core.StateCooling)
	return modelOp{"move", func(t *testing.T, w *world) answer {
		return answered(w.Move(t.Context(), id, state, journal.MemoryTransitioned{}), "", 0)
	}, func(string) string { return m.there(id, func() { m.memories[id].state = state }) }}
}

// there does something with a memory, if it is there.
func (m *model) there(id string, do func()) string {
	switch {
	case m.gone[id]:
		return "memory_purged"
	case m.memories[id] == nil:
		return "memory_not_found"
	}
	do()
	return ""
}

func (m *model) remove(r *rand.Rand) modelOp {
	id := m.pick(r)
	return modelOp{"remove", func(t *testing.T, w *world) answer {
		return answered(w.Remove(t.Context(), id), "", 0)
	}, func(string) string {
		return m.there(id, func() {
			delete(m.memories, id)
			m.gone[id] = true
			for _, other := range m.memories {
				for i, to := range other.links {
					if to == id {
						other.links[i] = "purged:" + id
					}
				}
			}
			maps.DeleteFunc(m.pending, func(_ string, q core.ReflectRequest) bool { return slices.Contains(q.SourceIDs, id) })
		})
	}}
}

// settle approves or rejects something pending.
func (m *model) settle(r *rand.Rand) modelOp {
	id := "nobody-waits"
	if ids := slices.Sorted(maps.Keys(m.pending)); len(ids) > 0 {
		id = ids[r.IntN(len(ids))]
	}
	q, waits := m.pending[id]
	if r.IntN(4) == 0 {
		return modelOp{"reject", func(t *testing.T, w *world) answer {
			_, err := w.Reject(t.Context(), id, "")
			return answered(err, "", 0)
		}, func(string) string {
			delete(m.pending, id)
			return reasonUnless(waits, "pending_not_found")
		}}
	}
	return modelOp{"approve", func(t *testing.T, w *world) answer {
		result, err := w.Approve(t.Context(), id)
		if err != nil {
			return answered(err, "", 0)
		}
		return answered(nil, result.ID, result.ReflectionDepth)
	}, func(made string) string {
		if !waits {
			return "pending_not_found"
		}
		reason := m.reflected(q, made, true)
		if reason == "" {
			delete(m.pending, id)
		}
		return reason
	}}
}

func reasonUnless(ok bool, reason string) string {
	if ok {
		return ""
	}
	return reason
}

// govern changes what holds in a namespace.
func (m *model) govern(r *rand.Rand) modelOp {
	above := r.IntN(3)
	g := core.Governance{MaxReflectionDepth: r.IntN(6), DepthLocked: r.IntN(3) == 0, DecidedBy: "x", Limits: core.NamespaceLimits{MaxMemories: int64(oneOf(r, 0, 0, 40))}}
	if r.IntN(2) == 0 {
		g.RequireApprovalAbove = &above
	}
	m.settings[m.namespace(r)] = g
	return modelOp{"govern", func(*testing.T, *world) answer { return answer{} }, func(string) string { return "" }}
}
