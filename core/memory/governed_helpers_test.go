package memory_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/decisions"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/governance"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/memory/embed"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/policy"
)

// points are the policy points, whose defaults take a while to compile.
var points = sync.OnceValue(policy.AllPoints)

// governed is memories with all the parts that the host gives them: stored
// settings, the default policies with their log, the gate with its evidence, and
// the local embedder.
type governed struct {
	*world
	settings *governance.Governor
	evidence *gate.Recorder
	log      *decisions.Log
}

// newGoverned returns governed memories on a store, with a fixed clock and
// counted ids.
func newGoverned(t *testing.T, s core.Store, change func(*memory.Options)) *governed {
	t.Helper()
	if err := store.Prepare(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	clock := &coretest.Clock{}
	writer := &journal.Writer{Store: s, Clock: clock}
	g := &governed{settings: governance.New(writer), log: decisions.NewLog(decisions.Options{
		IDs: &coretest.IDs{}, Writer: writer, Ready: make(chan struct{}), // it only writes when it is closed
	})}
	t.Cleanup(g.log.Discard) // of a test that failed before
	policies := policy.New(points(), policy.Options{Log: g.decided, Clock: clock, SampleEvery: 1})
	g.world = newWorld(t, s, func(o *memory.Options) {
		o.Clock, o.Governor, o.Reflection, o.Retention = clock, g.settings, policies, policies
		o.Gate, o.Evidence, o.Embedder = gate.New(policies), gate.Evidence{}, embed.Hashed{}
		if change != nil {
			change(o)
		}
	})
	g.clock, g.evidence = clock, &gate.Recorder{Writer: writer, Memories: g.Memories}
	return g
}

// decided keeps each decision of a policy, with its inputs.
func (g *governed) decided(_ context.Context, r *policy.Record) {
	g.log.Add(decisions.Decision{Point: r.Point, Make: func() (journal.PolicyDecided, []byte, error) {
		text, err := r.Encode()
		return journal.PolicyDecided{Namespace: r.Namespace, File: r.File, Digest: r.Digest, Masked: r.Masked}, text, err
	}})
}

// written writes all decisions, and then records all heads in the root, as the host does at
// its end. It is only now that the log writes: when it does by itself depends on the real
// time, and the entries are of the time of their commit.
func (g *governed) written(t *testing.T) {
	t.Helper()
	writer := &journal.Writer{Store: g.store, Clock: g.clock}
	if err := g.log.Close(); err != nil {
		t.Error(err)
	}
	if _, err := journal.Record(t.Context(), writer); err != nil {
		t.Error(err)
	}
}

// set changes settings of a namespace.
func (g *governed) set(t *testing.T, namespace string, fields ...string) {
	t.Helper()
	if _, err := g.settings.Set(t.Context(), namespace, fields...); err != nil {
		t.Fatal(err)
	}
}

// turn recalls and gives the feedback of one turn, which uses what it names.
func (g *governed) turn(t *testing.T, r core.RecallRequest, f core.FeedbackRequest) *core.FeedbackResult {
	t.Helper()
	g.recall(t, r)
	f.Session, f.Turn = r.Session, r.Turn
	result, err := g.Feedback(t.Context(), &f)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// parts are all that check what a store of memories holds.
func (g *governed) parts() []core.Checker {
	return []core.Checker{journal.Checker{}, run.Checker{}, g.settings, gate.Evidence{}, decisions.Checker{}, g.Memories}
}

// export is what "store export" writes of the store.
func (g *governed) export(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	if _, err := store.Export(t.Context(), g.store, &b, store.Derived(g.parts()), nil); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// sound fails if any part finds a problem in the store.
func (g *governed) sound(t *testing.T) {
	t.Helper()
	view(t, g.store, func(r core.Reader) error {
		for _, part := range g.parts() {
			if err := part.Check(t.Context(), r, func(p core.Problem) { t.Errorf("problem: %+v", p) }); err != nil {
				return err
			}
		}
		return nil
	})
}

// lacks fails if the store has a text in any key or value.
func (g *governed) lacks(t *testing.T, text string) {
	t.Helper()
	for key, value := range dump(t, g.store) {
		if strings.Contains(key+value, text) {
			t.Errorf("%q holds %q: %s", key, text, value)
		}
	}
}
