package memory_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory"
)

// Several hosts may have one store. No host is told what another commits; each must find
// it.

// hosts are two hosts on one store, and a third whose embedder is of another model.
type hosts struct {
	*rand.Rand
	all   []*governed // the first two recall
	ids   []string    // of all memories that were ever made
	known []string    // of all knowledge
	// archived are the memories that a dream pass has moved, and that may be restored.
	archived []string
	turns    int64
	next     string // what the gate decides
	done     map[string]int
	found    int
}

func newHosts(t *testing.T, s core.Store, seed uint64) *hosts {
	h := &hosts{Rand: rand.New(rand.NewPCG(seed, 13)), done: map[string]int{}}
	ids, random := &coretest.IDs{}, &coretest.Random{}
	decide := gateFunc(func(c *verdict.GateCase) (*verdict.GateDecision, error) {
		if c.Erase != "" {
			return decides(verdict.NextPurge, 1)(c)
		}
		return decides(h.next, .9)(c)
	})
	for range 3 {
		h.all = append(h.all, newGoverned(t, s, func(o *memory.Options) {
			o.IDs, o.Random, o.Gate, o.Evidence, o.DeferGate = ids, random, decide, nil, true
			if len(h.all) == 2 {
				o.Embedder = &other{}
			}
		}))
	}
	return h
}

// answers are all that a host says to some queries, as bytes.
func (h *hosts) answers(t *testing.T, g *governed) (list []string) {
	t.Helper()
	say := func(what string, result any, err error) {
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		list = append(list, what+": "+string(jsontext.MustEncode(result)))
	}
	for _, query := range []string{"the disk of the gateway is full", "les chevaux continuer"} {
		for _, f := range []core.RecallFilter{
			{Namespace: "a"}, {Namespace: "a", Subtree: true}, {Namespace: "a/b", IncludeSuperseded: true}, {Namespace: "c"},
			{Namespace: "c", Tags: []string{"x"}}, {Namespace: "nobody", Subtree: true},
		} {
			r, err := g.Recall(t.Context(), &core.RecallRequest{Query: query, RecallFilter: f, Limit: 50})
			say(fmt.Sprintf("recall %q in %+v", query, f), r, err)
			h.found += len(r.Memories)
		}
		for _, namespace := range []string{"a", "c"} {
			k, err := g.Knowledge.Recall(t.Context(), &memory.KnowledgeQuery{Query: query, Namespace: namespace, Subtree: true, Limit: 50})
			say(fmt.Sprintf("knowledge %q in %s", query, namespace), k, err)
			h.found += len(k)
		}
	}
	return list
}

func (h *hosts) content() string {
	words := strings.Fields("the disk gateway full upload retry certificate chevaux continuaient continue backups pool logs")
	var b strings.Builder
	for range 3 + h.IntN(5) {
		b.WriteString(words[h.IntN(len(words))] + " ")
	}
	return b.String()
}

func (h *hosts) pick() string {
	if len(h.ids) == 0 {
		return "nobody"
	}
	return h.ids[h.IntN(len(h.ids))]
}

// operation makes a host do something. A refused request is an operation too.
func (h *hosts) operation(t *testing.T, g *governed) (name string) {
	ctx := t.Context()
	var err error
	switch h.IntN(17) {
	case 0, 1, 2:
		name = "observe"
		var m *core.Memory
		r := &core.ObserveRequest{Namespace: oneOf(h.Rand, "a", "a/b", "c"), Content: h.content(), Attributes: core.Attributes{Tags: oneOf(h.Rand, nil, []string{"x"})}}
		if m, err = g.Observe(ctx, r); err == nil {
			h.ids = append(h.ids, m.ID)
		}
	case 3:
		name = "reflect"
		var r *core.ReflectResult
		q := &core.ReflectRequest{SourceIDs: []string{h.pick()}, Title: fmt.Sprint("t", len(h.ids)), Content: h.content(), Namespace: oneOf(h.Rand, "", "a", "c")}
		if r, err = g.Reflect(ctx, q); err == nil {
			h.ids = append(h.ids, r.ID)
		}
	case 4, 5:
		name = oneOf(h.Rand, core.RelationSupersedes, core.RelationSupersedes, core.RelationContradicts)
		_, err = g.Link(ctx, &memory.LinkRequest{From: h.pick(), Relation: name, To: h.pick()})
	case 6:
		name = "archive"
		id := h.pick()
		if err = g.MoveByDream(ctx, id, oneOf(h.Rand, core.StateArchived, core.StateConsolidated), "keeper"); err == nil {
			h.archived = append(h.archived, id)
		}
	case 7, 8:
		name = "restore"
		_, err = g.Restore(ctx, oneOf(h.Rand, append(h.archived, h.pick())...))
	case 9, 10, 11:
		name = "turn"
		err = h.turn(t, g)
	case 12:
		name = "erase"
		_, err = g.Gate.Erase(ctx, h.pick(), memory.EraseRequest{Reason: "asked for"})
	case 13:
		h.next = oneOf(h.Rand, verdict.NextPromote, verdict.NextPromote, verdict.NextPromote, verdict.NextRetain, verdict.NextPurge)
		name = h.next
		err = h.decide(t, g)
	case 14:
		name = "reembed"
		_, err = oneOf(h.Rand, h.all...).Vectors.Reembed(ctx, oneOf(h.Rand, "a", "a/b", "c"), nil)
	case 15:
		name = "supersede knowledge"
		if len(h.known) > 0 {
			err = g.Knowledge.Supersede(ctx, oneOf(h.Rand, h.known...), oneOf(h.Rand, h.known...))
		}
	default:
		name = "language"
		_, err = g.settings.Set(ctx, oneOf(h.Rand, "a", "a/b", "*"), "language="+oneOf(h.Rand, "french", "english", "none"))
	}
	if err == nil {
		h.done[name]++
	}
	return name
}

// turn recalls in a session, and says how it went.
func (h *hosts) turn(t *testing.T, g *governed) error {
	h.turns++
	r := &core.RecallRequest{Query: h.content(), Session: "s", Turn: h.turns}
	r.Namespace, r.Subtree = oneOf(h.Rand, "a", "c"), true
	result, err := g.Recall(t.Context(), r)
	if err != nil {
		return err
	}
	f := &core.FeedbackRequest{Session: "s", Turn: h.turns, Outcome: oneOf(h.Rand, core.OutcomeSuccess, core.OutcomeFailure, core.OutcomePartial)}
	if len(result.Memories) > 0 {
		f.Used = []string{result.Memories[0].ID}
	}
	_, err = h.all[h.IntN(2)].Feedback(t.Context(), f)
	return err
}

// decide makes a memory wait for the gate.
func (h *hosts) decide(t *testing.T, g *governed) error {
	id := h.pick()
	m, err := g.Get(t.Context(), id)
	if err != nil || !m.State.Live() {
		return err
	}
	for turn := range int64(3) {
		if m, err = g.Get(t.Context(), id); err == nil && m.State != core.StateRevalidatePending {
			g.live(t, fmt.Sprintf("f%d", h.Uint64()), turn, id, core.OutcomeFailure)
		}
	}
	if _, err = g.Gate.Revalidate(t.Context(), id, memory.RevalidateRequest{}); err != nil {
		return err
	}
	if m, err = g.Get(t.Context(), id); err == nil && m.PromotedTo != "" {
		h.known = append(h.known, m.PromotedTo)
	}
	return nil
}

// TestHosts_RecallTheSame compares, byte by byte, what two hosts recall after each of 160
// random operations, or 400 in a stress run, of either, and now and then with a host that has just started.
func TestHosts_RecallTheSame(t *testing.T) {
	coretest.Long(t)
	if coretest.Plain(t) {
		return
	}
	onEngines(t, func(t *testing.T, s core.Store) {
		h := newHosts(t, s, 7)
		for i := range times(160, 400) {
			name := h.operation(t, h.all[h.IntN(2)])
			if i%coretest.Heavy(3, 1) > 0 {
				continue
			}
			want := h.answers(t, h.all[0])
			others := map[string]*governed{"the other": h.all[1]}
			if i%30 == 0 {
				others["a fresh one"] = newHosts(t, s, 7).all[0]
			}
			for who, other := range others {
				if diff := cmp.Diff(want, h.answers(t, other)); diff != "" {
					t.Fatalf("operation %d, %s: the first host and %s recall differently:\n%s", i, name, who, diff)
				}
			}
		}
		for _, problem := range h.all[0].problems(t) {
			t.Errorf("%+v", problem)
		}
		t.Logf("%d found; done: %v", h.found, h.done)
		for _, name := range []string{
			"observe", "reflect", core.RelationSupersedes, core.RelationContradicts, "archive", "restore", "turn", "erase",
			verdict.NextPromote, "reembed", "supersede knowledge", "language",
		} {
			if h.done[name] == 0 {
				t.Errorf("no %s", name)
			}
		}
	})
}

// TestHosts_FindWhatTheOtherWroteAtOnce: one host observes 300 memories, or 1,000 in a
// stress run. The other finds each of them, and none that was purged.
func TestHosts_FindWhatTheOtherWroteAtOnce(t *testing.T) {
	h := newHosts(t, empty(t), 1)
	a, b := h.all[0], h.all[1]
	recalls := func(i int) []core.Recalled {
		return b.recall(t, core.RecallRequest{Query: fmt.Sprint("lesson", i)}).Memories
	}
	has := func(list []core.Recalled, id string) bool {
		return slices.ContainsFunc(list, func(m core.Recalled) bool { return m.ID == id })
	}
	var ids []string
	missed, left := 0, 0
	for i := range coretest.Cases(60, times(300, 1000)) {
		ids = append(ids, a.observe(t, core.ObserveRequest{Content: fmt.Sprint("lesson", i)}).ID)
		if !has(recalls(i), ids[i]) {
			missed++
		}
	}
	for i, id := range ids {
		before := has(recalls(i), id)
		if err := a.Remove(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if !before || has(recalls(i), id) {
			left++
		}
		if p, _ := b.Warmth(); p.Documents != len(ids)-i-1 {
			t.Fatalf("after %d purges the index has %d memories", i+1, p.Documents)
		}
	}
	if missed+left > 0 {
		t.Errorf("of %d memories %d weren't found at once, and %d were after their purge", len(ids), missed, left)
	}
}

// TestHosts_RecallAtOnce is for the race detector: many callers observe on one host and
// recall on the other, and each finds what it wrote.
func TestHosts_RecallAtOnce(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		quiet := func(o *memory.Options) { hashed(o); o.Subscribers, o.IDs = nil, &core.SystemIDs{} }
		hosts := []*world{newWorld(t, s, quiet), newWorld(t, s, quiet)}
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for n := range 20 {
					content := fmt.Sprintf("lesson%dx%d", i, n)
					namespace := fmt.Sprint("all/", i%3)
					m, err := hosts[i%2].Observe(t.Context(), &core.ObserveRequest{Namespace: namespace, Content: content})
					if err != nil {
						t.Error(err)
						return
					}
					r := &core.RecallRequest{Query: content}
					if r.Namespace = namespace; n%2 == 0 {
						r.Namespace, r.Subtree = "all", true
					}
					got, err := hosts[1-i%2].Recall(t.Context(), r)
					if err != nil || len(got.Memories) == 0 || got.Memories[0].ID != m.ID {
						result, _ := json.Marshal(got)
						t.Errorf("%s: %s, %v", content, result, err)
					}
				}
			})
		}
		all.Wait()
	})
}

// TestHosts_LoadWhatTheJournalDoesntSay: if entries are gone or damaged, or came with an
// import, a host reads the memories themselves.
func TestHosts_LoadWhatTheJournalDoesntSay(t *testing.T) {
	stream := journal.NamespaceStream("ns")
	for name, damage := range map[string]func(tx core.Tx, last uint64) error{
		"none":          func(core.Tx, uint64) error { return nil },
		"an entry less": func(tx core.Tx, last uint64) error { return tx.Delete(journal.EntryKey(stream, last)) },
		"no JSON":       func(tx core.Tx, last uint64) error { return tx.Put(journal.EntryKey(stream, last), []byte("{")) },
		"another type": func(tx core.Tx, last uint64) error {
			return tx.Put(journal.EntryKey(stream, last), fmt.Appendf(nil, `{"seq":%d,"type":"agent.records.written","data":{"records":1}}`, last))
		},
		"an import": func(tx core.Tx, last uint64) error {
			if err := tx.Put(journal.EntryKey(stream, last), fmt.Appendf(nil, `{"seq":%d,"type":"agent.memory.swept","data":{}}`, last)); err != nil {
				return err
			}
			return journal.Append(t.Context(), tx, stream, (&coretest.Clock{}).Now(), journal.NamespaceImported{Namespace: "ns"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHosts(t, empty(t), 1)
			a, b := h.all[0], h.all[1]
			a.observe(t, core.ObserveRequest{Content: "an old lesson"})
			b.recall(t, core.RecallRequest{Query: "warm"})
			m := a.observe(t, core.ObserveRequest{Content: "a new lesson on backups"})
			err := a.store.Update(t.Context(), func(tx core.Tx) error {
				head, err := journal.ReadHead(tx, stream)
				if err != nil {
					return err
				}
				return damage(tx, head.Seq)
			})
			must(t, err)
			for range 2 {
				if list := b.recall(t, core.RecallRequest{Query: "backups"}).Memories; len(list) == 0 || list[0].ID != m.ID {
					t.Errorf("recalled %+v", list)
				}
			}
		})
	}
}
