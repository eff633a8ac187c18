package memory_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// fallible is a store whose operation number at fails, counted from 0; a
// negative number fails none.
type fallible struct {
	core.Store
	at, n int
	code  sdk.Code // of the failure; "" is unavailable
}

func (f *fallible) fail() error {
	f.n++
	if f.n-1 == f.at {
		code := sdk.Unavailable
		if f.code != "" {
			code = f.code
		}
		return sdk.Errorf(code, "injected", "the disk is gone")
	}
	return nil
}

func (f *fallible) View(ctx context.Context, fn func(core.Reader) error) error {
	return f.Store.View(ctx, func(r core.Reader) error { return fn(&fallibleTx{Reader: r, f: f}) })
}

func (f *fallible) Update(ctx context.Context, fn func(core.Tx) error) error {
	return f.Store.Update(ctx, func(tx core.Tx) error { return fn(&fallibleTx{Reader: tx, tx: tx, f: f}) })
}

type fallibleTx struct {
	core.Reader
	tx core.Tx
	f  *fallible
}

func (t *fallibleTx) Get(key []byte) ([]byte, bool, error) {
	if err := t.f.fail(); err != nil {
		return nil, false, err
	}
	return t.Reader.Get(key)
}

func (t *fallibleTx) Scan(from, to []byte, fn func(key, value []byte) (bool, error)) error {
	if err := t.f.fail(); err != nil {
		return err
	}
	return t.Reader.Scan(from, to, fn)
}

func (t *fallibleTx) Put(key, value []byte) error {
	if err := t.f.fail(); err != nil {
		return err
	}
	return t.tx.Put(key, value)
}

func (t *fallibleTx) Delete(key []byte) error {
	if err := t.f.fail(); err != nil {
		return err
	}
	return t.tx.Delete(key)
}

// TestEveryFailureOfTheStoreLeavesNothing makes each access of the store fail,
// in each operation on a store that has some of everything.
func TestEveryFailureOfTheStoreLeavesNothing(t *testing.T) {
	pending := "00000000-0000-7000-8000-000000000002"
	operations := map[string]func(context.Context, *world) error{
		"observe": func(ctx context.Context, w *world) error {
			_, err := w.Observe(ctx, &core.ObserveRequest{Namespace: "ns", Content: "c", Attributes: core.Attributes{AgentID: "a", Tags: []string{"t"}}})
			return err
		},
		"reflect": func(ctx context.Context, w *world) error {
			_, err := w.Reflect(ctx, &core.ReflectRequest{SourceIDs: []string{"a", "x"}, Title: "t", Content: "c", IdempotencyKey: "new"})
			return err
		},
		"postpone": func(ctx context.Context, w *world) error {
			_, err := w.Reflect(ctx, &core.ReflectRequest{SourceIDs: []string{"00000000-0000-7000-8000-000000000001"}, Title: "t", Content: "c"})
			return err
		},
		"approve": func(ctx context.Context, w *world) error { _, err := w.Approve(ctx, pending); return err },
		"reject":  func(ctx context.Context, w *world) error { _, err := w.Reject(ctx, pending, "r"); return err },
		"link": func(ctx context.Context, w *world) error {
			_, err := w.Link(ctx, &memory.LinkRequest{From: "b", Relation: "reflects_on", To: "x"})
			return err
		},
		"remove": func(ctx context.Context, w *world) error { return w.Remove(ctx, "a") },
		"move": func(ctx context.Context, w *world) error {
			return w.Move(ctx, "a", core.StateArchived, journal.MemoryTransitioned{})
		},
		"get":     func(ctx context.Context, w *world) error { _, err := w.Get(ctx, "a"); return err },
		"find":    func(ctx context.Context, w *world) error { _, err := w.Find(ctx, pending[:35]+"1"); return err },
		"links":   func(ctx context.Context, w *world) error { _, _, err := w.Links(ctx, "a"); return err },
		"explain": func(ctx context.Context, w *world) error { _, err := w.Explain(ctx, "a"); return err },
		"pending": func(ctx context.Context, w *world) error {
			_, err := w.Pending(ctx, memory.PendingFilter{Namespace: "ns"})
			return err
		},
		"list": func(ctx context.Context, w *world) error {
			_, err := w.List(ctx, memory.ListFilter{Subtree: true, Limit: 2})
			return err
		},
		"check": func(ctx context.Context, w *world) error {
			return w.store.View(ctx, func(r core.Reader) error { return w.Check(ctx, r, func(core.Problem) {}) })
		},
		"rebuild": func(ctx context.Context, w *world) error { return w.Rebuild(ctx, w.store) },
	}
	for name, operation := range operations {
		t.Run(name, func(t *testing.T) {
			f := &fallible{Store: empty(t), at: -1}
			w := full(t, f)
			before := dump(t, f.Store)
			for i := 0; ; i++ {
				f.at, f.n = i, 0
				err := operation(t.Context(), w)
				if err == nil {
					if i == 0 {
						t.Error("it doesn't use the store")
					}
					return
				}
				wantReason(t, err, sdk.Unavailable, "injected")
				if diff := cmp.Diff(before, dump(t, f.Store)); diff != "" {
					t.Fatalf("a failure at access %d left:\n%s", i, diff)
				}
			}
		})
	}
}

func TestMemoriesNeedAStore(t *testing.T) {
	_, err := memory.New(memory.Options{})
	wantReason(t, err, sdk.Invalid, "memory_options_invalid")
}

// TestTheDefaultsHoldWithoutAGovernor: the cap on depth, the system's clock
// and ids.
func TestTheDefaultsHoldWithoutAGovernor(t *testing.T) {
	m, err := memory.New(memory.Options{Store: empty(t)})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Memories: m}
	id := w.chain(t, "ns", core.DefaultMaxReflectionDepth)
	_, err = m.Reflect(t.Context(), &core.ReflectRequest{SourceIDs: []string{id}, Title: "t", Content: "c"})
	wantReason(t, err, sdk.Denied, "depth_exceeded")
	if got := sdk.AsError(err).Details["decided_by"]; got != "default" || len(id) != 36 {
		t.Errorf("decided by %v, id %s", got, id)
	}
}

// TestACheckOnAFailingStoreFails: what can't be read isn't reported as a disagreement,
// whether the disk fails or a file of it is damaged.
func TestACheckOnAFailingStoreFails(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	for _, code := range []sdk.Code{sdk.Unavailable, sdk.Internal} {
		t.Run(string(code), func(t *testing.T) {
			f := &fallible{Store: empty(t), at: -1, code: code}
			w := ended(t, f)
			for i := 0; ; i += coretest.Heavy(3, 1) {
				f.at, f.n = i, 0
				err := w.store.View(t.Context(), func(r core.Reader) error {
					return w.Check(t.Context(), r, func(p core.Problem) { t.Errorf("failure %d is told as %+v", i, p) })
				})
				if f.n <= i {
					return // there was no such access
				}
				if sdk.ReasonOf(err) != "injected" {
					t.Errorf("failure %d: %v", i, err)
				}
			}
		})
	}
}
