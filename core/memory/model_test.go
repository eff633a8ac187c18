package memory_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// TestModel runs the same random operations on mem, on pebble and on a model of
// a few maps, and compares the answers and then the contents.
func TestModel(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	p := newModelPlan(10 * modelOps)
	r := rand.New(rand.NewPCG(5, 2026))
	model := &model{settings: governor{}, memories: map[string]*modelMemory{}, gone: map[string]bool{}, pending: map[string]core.ReflectRequest{}}
	worlds := []*world{newWorld(t, empty(t), nil), newWorld(t, openPebble(t), nil)}
	for i := range p.ops {
		op := model.draw(r, i)
		var answers []answer
		for _, w := range worlds {
			maps.Copy(w.governor, model.settings)
			answers = append(answers, op.run(t, w))
		}
		want := op.expect(answers[0].id)
		for j, got := range answers {
			if got.reason != want || got.id != answers[0].id || got.depth != answers[0].depth {
				t.Fatalf("operation %d, %s, engine %d: %+v, the model says %q", i, op.name, j, got, want)
			}
		}
		p.check(i, func(engine int) {
			for _, problem := range worlds[engine].problems(t) {
				t.Fatalf("operation %d, %s: %+v", i, op.name, problem)
			}
		})
		if p.compares(i) {
			for _, w := range worlds {
				model.compare(t, w)
			}
			if diff := cmp.Diff(dump(t, worlds[0].store), dump(t, worlds[1].store)); diff != "" {
				t.Fatalf("after operation %d the engines differ (-mem +pebble):\n%s", i, diff)
			}
		}
	}
	t.Logf("reasons: %v", model.reasons)
}

// model is what the memories should be.
type model struct {
	settings governor
	memories map[string]*modelMemory
	gone     map[string]bool
	pending  map[string]core.ReflectRequest
	reasons  map[string]int
}

type modelMemory struct {
	namespace, title string
	depth            int
	state            core.MemoryState
	links            []string
}

// modelOp is an operation, and what the model says of it; expect applies it to
// the model, with the id that was made.
type modelOp struct {
	name   string
	run    func(*testing.T, *world) answer
	expect func(id string) (reason string)
}

// answer is the result of an operation.
type answer struct {
	reason, id string
	depth      int
}

func answered(err error, id string, depth int) answer { return answer{sdk.ReasonOf(err), id, depth} }

func (m *model) draw(r *rand.Rand, i int) modelOp {
	var op modelOp
	switch n := r.IntN(20); {
	case n < 5:
		op = m.observe(r, i)
	case n < 12:
		op = m.reflect(r)
	case n < 14:
		op = m.link(r)
	case n < 16:
		op = m.move(r)
	case n < 17:
		op = m.remove(r)
	case n < 19:
		op = m.settle(r)
	default:
		op = m.govern(r)
	}
	expect := op.expect
	op.expect = func(id string) string {
		reason := expect(id)
		if m.reasons == nil {
			m.reasons = map[string]int{}
		}
		m.reasons[op.name+" "+reason]++
		return reason
	}
	return op
}

func oneOf[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

func (m *model) namespace(r *rand.Rand) string { return oneOf(r, "a", "a/b", "c") }

// pick is a memory's id, now and then one that isn't there.
func (m *model) pick(r *rand.Rand) string {
	ids := append(slices.Sorted(maps.Keys(m.memories)), slices.Sorted(maps.Keys(m.gone))...)
	if len(ids) == 0 || r.IntN(30) == 0 {
		return "nobody"
	}
	return ids[r.IntN(len(ids))]
}

func (m *model) observe(r *rand.Rand, i int) modelOp {
	q := core.ObserveRequest{Namespace: m.namespace(r), Title: fmt.Sprint("t", r.IntN(200)), Content: "c", ID: fmt.Sprint("m", i)}
	if r.IntN(10) == 0 {
		q.ID = m.pick(r)
	}
	return modelOp{"observe", func(t *testing.T, w *world) answer {
		_, err := w.Observe(t.Context(), &q)
		return answered(err, q.ID, 0)
	}, func(string) string {
		if m.gone[q.ID] || m.memories[q.ID] != nil {
			return "id_taken"
		}
		if m.full(q.Namespace) {
			return "namespace_full"
		}
		m.memories[q.ID] = &modelMemory{namespace: q.Namespace, title: q.Title, state: core.StateOpen}
		return ""
	}}
}

func (m *model) full(namespace string) bool {
	most, n := m.settings[namespace].Limits.MaxMemories, int64(0)
	for _, other := range m.memories {
		if other.namespace == namespace {
			n++
		}
	}
	return most > 0 && n >= most
}

func (m *model) reflect(r *rand.Rand) modelOp {
	q := core.ReflectRequest{Title: fmt.Sprint("t", r.IntN(200)), Content: "c"}
	for range 1 + r.IntN(3) {
		if id := m.pick(r); !slices.Contains(q.SourceIDs, id) {
			q.SourceIDs = append(q.SourceIDs, id)
		}
	}
	if r.IntN(3) == 0 {
		q.Namespace = m.namespace(r)
	}
	return modelOp{"reflect", func(t *testing.T, w *world) answer {
		result, err := w.Reflect(t.Context(), &q)
		if err != nil {
			return answered(err, "", 0)
		}
		return answered(nil, result.ID+result.PendingID, result.ReflectionDepth)
	}, func(id string) string { return m.reflected(q, id, false) }}
}

// reflected is the order in which a reflection is refused.
func (m *model) reflected(q core.ReflectRequest, id string, approved bool) string {
	depth := 0
	for _, source := range q.SourceIDs {
		s := m.memories[source]
		switch {
		case m.gone[source]:
			return "source_purged"
		case s == nil:
			return "source_not_found"
		case s.state == core.StateConsolidated:
			return "source_consolidated"
		}
		depth = max(depth, s.depth+1)
	}
	namespace := q.Namespace
	if namespace == "" {
		namespace = m.memories[q.SourceIDs[0]].namespace
	}
	limit, above := m.cap(namespace, q.SourceIDs), m.settings[namespace].RequireApprovalAbove
	switch {
	case depth > limit:
		return "depth_exceeded"
	case above != nil && depth > *above && !approved:
		m.pending[id] = q
		return ""
	}
	for _, other := range m.memories {
		if other.namespace == namespace && other.title == q.Title && other.state.Live() {
			return "title_taken"
		}
	}
	if m.full(namespace) {
		return "namespace_full"
	}
	m.memories[id] = &modelMemory{namespace: namespace, title: q.Title, depth: depth, state: core.StateOpen, links: slices.Clone(q.SourceIDs)}
	return ""
}

func (m *model) cap(namespace string, sources []string) int {
	own := func(namespace string) int {
		if g, set := m.settings[namespace]; set {
			return g.MaxReflectionDepth
		}
		return core.DefaultMaxReflectionDepth
	}
	limit := own(namespace)
	for _, id := range sources {
		if from := m.memories[id].namespace; from != namespace && m.settings[from].DepthLocked {
			limit = min(limit, own(from))
		}
	}
	return limit
}

// compare holds what a world has against the model.
func (m *model) compare(t *testing.T, w *world) {
	t.Helper()
	want, got := map[string]string{}, map[string]string{}
	for id, mm := range m.memories {
		slices.Sort(mm.links)
		want[id] = fmt.Sprint(mm.namespace, " ", mm.title, " ", mm.depth, " ", mm.state, " ", mm.links)
	}
	f := memory.ListFilter{Subtree: true, Limit: memory.MaxListLimit}
	for more := true; more; more = f.After != "" {
		page, err := w.List(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, mm := range page.Memories {
			from, _, err := w.Links(t.Context(), mm.ID)
			if err != nil {
				t.Fatal(err)
			}
			var links []string
			for _, l := range from {
				links = append(links, l.To)
			}
			slices.Sort(links)
			got[mm.ID] = fmt.Sprint(mm.Namespace, " ", mm.Title, " ", mm.ReflectionDepth, " ", mm.State, " ", links)
		}
		f.After = page.Next
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("memories (-model +got):\n%s", diff)
	}
	if list, err := w.Pending(t.Context(), memory.PendingFilter{}); err != nil || len(list) != len(m.pending) {
		t.Fatalf("%d pending, want %d, error %v", len(list), len(m.pending), err)
	}
}
