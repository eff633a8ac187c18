package memory_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/storetest"
	"github.com/reflectory/reflectory/sdk"
)

// crowds runs a test on governed memories of each engine, for many goroutines, and
// proves that all parts are sound after it. A stress run repeats it.
func crowds(t *testing.T, test func(t *testing.T, g *governed)) {
	t.Helper()
	rounds := 1
	if os.Getenv(storetest.StressEnv) == "1" {
		rounds = 20
	}
	for range rounds {
		onEngines(t, func(t *testing.T, s core.Store) {
			g := newGoverned(t, s, func(o *memory.Options) {
				deferred(o)
				unwatched(o)
			})
			test(t, g)
			g.sound(t)
		})
	}
}

// failing returns a memory that failed until it waits for the gate, which would
// purge it by what the request knows.
func (g *governed) failing(t *testing.T) (*core.Memory, memory.RevalidateRequest) {
	t.Helper()
	m := g.observe(t, core.ObserveRequest{Content: "it fails"})
	for turn := range int64(3) {
		g.tool(t, "s-"+m.ID, turn, m.ID, core.ToolOutcome{})
	}
	return m, g.prove(t, m.ID, false)
}

// helping returns a memory that helped until it waits for the gate, which would
// promote it by what the request knows.
func (g *governed) helping(t *testing.T, title string) (*core.Memory, memory.RevalidateRequest) {
	t.Helper()
	m := g.observe(t, core.ObserveRequest{Title: title, Content: "it helps"})
	for turn := range int64(12) {
		g.tool(t, fmt.Sprint("s-", m.ID, turn%2), turn, m.ID, core.ToolOutcome{OK: true, Recovered: true})
	}
	if _, err := g.evidence.RecordDAG(t.Context(), graph(m.ID, true)); err != nil {
		t.Fatal(err)
	}
	known := 1.0
	return m, memory.RevalidateRequest{Omega: policypoint.OmegaFactors{UpstreamStatus: &known, CodebaseVerification: &known, RuntimeUtilityTrend: &known}}
}

// reflectors makes all writers but the first reflect on a memory while the first lets the
// gate decide on it, and returns how many reflections were made.
func (g *governed) reflectors(t *testing.T, m *core.Memory, request memory.RevalidateRequest, next, refusal string) int64 {
	t.Helper()
	var made atomic.Int64
	atOnce(func(i int) {
		if i == 0 {
			d, err := g.Gate.Revalidate(t.Context(), m.ID, request)
			if err != nil || d.NextAction != next {
				t.Errorf("the gate: %+v, %v", d, err)
			}
			return
		}
		r, err := g.Reflect(t.Context(), &core.ReflectRequest{SourceIDs: []string{m.ID}, Title: fmt.Sprint(m.ID, " ", i), Content: "c"})
		switch {
		case err == nil && r.ReflectionDepth == 1:
			made.Add(1)
		case err == nil || refusal == "" || sdk.ReasonOf(err) != refusal:
			t.Errorf("reflection %d: %+v, %v", i, r, err)
		}
	})
	_, to, err := g.Links(t.Context(), m.ID)
	if next == verdict.NextPurge {
		to, err = g.linksTo(t, "purged:"+m.ID), nil
	}
	if err != nil || int64(len(to)) != made.Load() {
		t.Errorf("%d links to it of %d reflections, %v", len(to), made.Load(), err)
	}
	return made.Load()
}

// linksTo are the links of all memories that lead to an id.
func (g *governed) linksTo(t *testing.T, id string) (list []core.Link) {
	t.Helper()
	page, err := g.List(t.Context(), memory.ListFilter{Namespace: "ns", Limit: memory.MaxListLimit})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range page.Memories {
		from, _, err := g.Links(t.Context(), m.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range from {
			if l.To == id {
				list = append(list, l)
			}
		}
	}
	return list
}

// TestManyReflectWhileTheGatePurges: each reflection came before the purge, and
// has its link, or is refused.
func TestManyReflectWhileTheGatePurges(t *testing.T) {
	crowds(t, func(t *testing.T, g *governed) {
		m, request := g.failing(t)
		g.reflectors(t, m, request, verdict.NextPurge, "source_purged")
		_, err := g.Get(t.Context(), m.ID)
		wantReason(t, err, sdk.NotFound, "memory_purged")
	})
}

// TestManyReflectWhileTheGatePromotes: all are made, and there is one entry.
func TestManyReflectWhileTheGatePromotes(t *testing.T) {
	crowds(t, func(t *testing.T, g *governed) {
		m, request := g.helping(t, "it helps")
		if made := g.reflectors(t, m, request, verdict.NextPromote, ""); made != turns-1 {
			t.Errorf("%d reflections", made)
		}
		if list := g.knowledge(t); len(list) != 1 || list[0].PromotedFrom != m.ID {
			t.Errorf("knowledge %+v", list)
		}
	})
}

// TestManyApproveAtOnce: one writes the reflection, and the others find nothing
// that waits.
func TestManyApproveAtOnce(t *testing.T) {
	crowds(t, func(t *testing.T, g *governed) {
		g.set(t, "ns", "require_approval_above_depth=0")
		source := g.observe(t, core.ObserveRequest{Content: "c"})
		waiting, err := g.Reflect(t.Context(), &core.ReflectRequest{SourceIDs: []string{source.ID}, Title: "t", Content: "c"})
		if err != nil || waiting.PendingID == "" {
			t.Fatalf("%+v, %v", waiting, err)
		}
		var approved atomic.Int64
		atOnce(func(int) {
			_, err := g.Approve(t.Context(), waiting.PendingID)
			switch sdk.ReasonOf(err) {
			case "":
				approved.Add(1)
			case "pending_not_found":
			default:
				t.Error(err)
			}
		})
		page, err := g.List(t.Context(), memory.ListFilter{Namespace: "ns"})
		if err != nil || len(page.Memories) != 2 || approved.Load() != 1 {
			t.Errorf("%d approved, %d memories, %v", approved.Load(), len(page.Memories), err)
		}
	})
}

// TestExportsWhilePromotingAreWhole: an import takes each, so that no entry of
// knowledge is without its decision and promotion, and no key without the others.
func TestExportsWhilePromotingAreWhole(t *testing.T) {
	const promotions = 4
	crowds(t, func(t *testing.T, g *governed) {
		memories, requests := make([]*core.Memory, promotions), make([]memory.RevalidateRequest, promotions)
		for i := range promotions {
			memories[i], requests[i] = g.helping(t, fmt.Sprint("it helps ", i))
		}
		exports := make([]strings.Builder, promotions)
		atOnce(func(i int) {
			switch {
			case i < promotions:
				if d, err := g.Gate.Revalidate(t.Context(), memories[i].ID, requests[i]); err != nil || d.NextAction != verdict.NextPromote {
					t.Errorf("the gate: %+v, %v", d, err)
				}
			case i < 2*promotions:
				if _, err := store.Export(t.Context(), g.store, &exports[i-promotions], store.Derived(g.parts()), nil); err != nil {
					t.Error(err)
				}
			}
		})
		var counts []int
		for i := range exports {
			other := newGoverned(t, empty(t), unwatched)
			if _, err := store.Import(t.Context(), other.store, strings.NewReader(exports[i].String()), other.parts(), nil); err != nil {
				t.Errorf("export %d: %v", i, err)
			}
			counts = append(counts, len(other.knowledge(t)))
		}
		if n := len(g.knowledge(t)); n != promotions || slices.Max(counts) > promotions {
			t.Errorf("%d entries, and %v in the exports", n, counts)
		}
	})
}
