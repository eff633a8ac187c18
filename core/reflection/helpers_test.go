package reflection_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/governance"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/memory/text"
	"github.com/reflectory/reflectory/core/reflection"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

// bench is a store with memories that are counted.
type bench struct {
	testing.TB
	store    core.Store
	clock    *coretest.Clock
	governor *governance.Governor
	memories *memory.Memories
	triggers *reflection.Triggers
	queue    *queue
}

func newBench(t testing.TB) *bench {
	b := &bench{TB: t, store: mem.Open(), clock: &coretest.Clock{}, queue: &queue{}}
	b.governor = governance.New(&journal.Writer{Store: b.store, Clock: b.clock})
	b.triggers = &reflection.Triggers{Queue: b.queue, Ready: func() bool { return true }}
	memories, err := memory.New(memory.Options{Store: b.store, Clock: b.clock, IDs: &coretest.IDs{}, Governor: b.governor, Observed: b.triggers})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(memories.Close)
	b.memories = memories
	return b
}

// observe stores a memory a second after what was done before.
func (b *bench) observe(namespace, content string, importance float64) *core.Memory {
	b.Helper()
	b.clock.Advance(time.Second)
	m, err := b.memories.Observe(b.Context(), &core.ObserveRequest{Namespace: namespace, Content: content, Attributes: core.Attributes{Importance: &importance}})
	if err != nil {
		b.Fatal(err)
	}
	return m
}

func (b *bench) set(namespace string, fields ...string) {
	b.Helper()
	if _, err := b.governor.Set(b.Context(), namespace, fields...); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) due(namespace string) *reflection.Due {
	b.Helper()
	var d *reflection.Due
	err := b.store.View(b.Context(), func(r core.Reader) error {
		g, err := b.governor.Resolve(r, namespace)
		if err == nil {
			d, err = reflection.ReadDue(r, namespace, g, b.clock.Now())
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return d
}

func (b *bench) problems() (list []core.Problem) {
	b.Helper()
	err := b.store.View(b.Context(), func(r core.Reader) error {
		return reflection.Checker{}.Check(b.Context(), r, func(p core.Problem) { list = append(list, p) })
	})
	if err != nil {
		b.Fatal(err)
	}
	return list
}

// run is a reflection of a job, with the steps that an earlier attempt saved.
func (b *bench) run(jobID string, steps *steps, g reflection.Generator, q reflection.Request) *reflection.Run {
	return &reflection.Run{
		JobID: jobID, Request: q, Store: b.store, Read: b.memories, Write: b.memories, Steps: steps, Generator: g, Clock: b.clock, Normal: text.Normal,
	}
}

// complete runs a reflection to its end, and takes it in.
func (b *bench) complete(jobID string, g reflection.Generator, q reflection.Request) *reflection.Done {
	b.Helper()
	b.clock.Advance(time.Second)
	done, err := b.run(jobID, &steps{}, g, q).Do(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.take(done, q.Namespace)
	return done
}

func (b *bench) take(done *reflection.Done, namespace string) {
	b.Helper()
	b.clock.Advance(time.Second)
	if err := b.store.Update(b.Context(), func(tx core.Tx) error { return done.Complete(tx, namespace, b.clock.Now()) }); err != nil {
		b.Fatal(err)
	}
}

// written are the memories of a namespace that were reflected, by content.
func (b *bench) written(namespace string) map[string]*core.Memory {
	b.Helper()
	list := map[string]*core.Memory{}
	err := b.memories.Each(b.Context(), namespace, time.Time{}, func(m *core.Memory) bool {
		if m.ReflectionDepth > 0 {
			if list[m.Content] != nil {
				b.Errorf("%q is there twice", m.Content)
			}
			list[m.Content] = m
		}
		return true
	})
	if err != nil {
		b.Fatal(err)
	}
	return list
}

// queue notes what was to be queued.
type queue struct {
	namespaces []string
	at         []time.Time
	postponed  []time.Time
	active     bool
}

func (q *queue) Queue(_ context.Context, _ core.Tx, namespace string, at time.Time) (string, error) {
	if q.active {
		return "", nil
	}
	q.namespaces, q.at = append(q.namespaces, namespace), append(q.at, at)
	return fmt.Sprintf("job-%d", len(q.namespaces)), nil
}

func (q *queue) Postpone(_ context.Context, _ core.Tx, _ string, until, latest time.Time) error {
	if until.After(latest) {
		until = latest
	}
	q.postponed = append(q.postponed, until)
	return nil
}

// steps keeps what was paid for, as a job does. It fails at the n-th step, after saving it.
type steps struct {
	saved  map[string]json.RawMessage
	failAt int
}

func (s *steps) Step(ctx context.Context, name string, do func(context.Context) (json.RawMessage, []string, error)) (json.RawMessage, error) {
	if data, is := s.saved[name]; is {
		return data, nil
	}
	data, _, err := do(ctx)
	if err != nil {
		return nil, err
	}
	if s.saved == nil {
		s.saved = map[string]json.RawMessage{}
	}
	s.saved[name] = data
	if s.failAt--; s.failAt == 0 {
		return nil, sdk.Errorf(sdk.Unavailable, "crashed", "the process ended")
	}
	return data, nil
}

// generator answers by a script, and notes what it was asked.
type generator struct {
	questions []string
	answers   []string // in turn; the last one again
	usage     sdk.Usage
	asked     []reflection.Ask
	err       error
}

func (g *generator) Generate(_ context.Context, ask *reflection.Ask) (*reflection.Answer, error) {
	if g.err != nil {
		return nil, g.err
	}
	g.asked = append(g.asked, *ask)
	if ask.Task == reflection.TaskQuestions {
		return &reflection.Answer{Output: jsontext.MustEncode(map[string]any{"questions": g.questions}), Usage: g.usage}, nil
	}
	answer := g.answers[0]
	if len(g.answers) > 1 {
		g.answers = g.answers[1:]
	}
	return &reflection.Answer{Output: json.RawMessage(answer), Usage: g.usage}, nil
}
