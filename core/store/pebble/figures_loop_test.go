//go:build bench

package pebble

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/sdk"
)

const (
	loopRounds = 21 // turns of each, interleaved
	loopCalls  = 20 // loops a turn
)

// TestFigures_Loop measures a durable loop of three iterations over what Pebble alone takes for the same
// batches, one after the other: nobody who keeps each output and verdict pays less.
func TestFigures_Loop(t *testing.T) {
	s := &recordingStore{Store: openTest(t, Options{Dir: t.TempDir()}, vfs.Default)}
	runs := run.NewRepository(s, core.SystemClock{})
	var created []*core.Run
	for range loopRounds*loopCalls + loopCalls + 1 { // Interleave warms up with a turn
		r := &core.Run{ID: (&core.SystemIDs{}).NewID(), Workflow: "figures"}
		if err := runs.Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		created = append(created, r)
	}
	durable := func() {
		r := created[0]
		created = created[1:]
		_, err := loop.Run(t.Context(), &loop.Options{
			Generator: constant{}, Corrector: constant{}, Evaluator: constant{},
			Recorder: runs.Recorder(r).Attempts(1, "work"), RunID: r.ID, Visit: 1, Node: "work",
		})
		if err != nil {
			t.Error(err)
		}
	}
	s.batches = [][]pair{}
	durable()
	batches := s.batches
	s.batches = nil
	db := openTest(t, Options{Dir: t.TempDir()}, vfs.Default).db
	alone := func() {
		for _, pairs := range batches {
			b := db.NewBatch()
			for _, p := range pairs {
				if err := b.Set(p.key, p.value, nil); err != nil {
					t.Error(err)
				}
			}
			if err := b.Commit(pebble.Sync); err != nil {
				t.Error(err)
			}
		}
	}
	of := coretest.Interleave(loopRounds, loopCalls, durable, alone)
	coretest.Ratio("durable 3-iteration loop in process over Pebble alone with its batches", of[0], of[1], 1.3).Print(os.Stdout)
}

// constant has its output pass at the third evaluation.
type constant struct{}

func (constant) Generate(context.Context, *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
	return &sdk.GenerateResponse{Output: json.RawMessage(`{"name":"Ada"}`)}, nil
}

func (constant) Correct(context.Context, *sdk.CorrectRequest) (*sdk.CorrectResponse, error) {
	return &sdk.CorrectResponse{Output: json.RawMessage(`{"name":"Ada"}`)}, nil
}

func (constant) Evaluate(_ context.Context, r *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
	return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Valid: r.Iteration == 3}}, nil
}

// recordingStore notes what each transaction puts, while batches isn't nil.
type recordingStore struct {
	*Store
	batches [][]pair
}

type pair struct{ key, value []byte }

// Update implements [core.Store].
func (s *recordingStore) Update(ctx context.Context, fn func(core.Tx) error) error {
	if s.batches == nil {
		return s.Store.Update(ctx, fn)
	}
	var puts *recordingTx
	err := s.Store.Update(ctx, func(tx core.Tx) error {
		puts = &recordingTx{Tx: tx}
		return fn(puts)
	})
	s.batches = append(s.batches, puts.pairs)
	return err
}

type recordingTx struct {
	core.Tx
	pairs []pair
}

// Put implements [core.Tx].
func (t *recordingTx) Put(key, value []byte) error {
	t.pairs = append(t.pairs, pair{append([]byte{}, key...), append([]byte{}, value...)})
	return t.Tx.Put(key, value)
}
