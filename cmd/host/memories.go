package main

import (
	"context"

	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/store/pebble"
	"github.com/reflectory/reflectory/policy"
)

// openedMemories are the memories of the state folder with what belongs to them.
// Closing them closes the store.
type openedMemories struct {
	*memory.Memories
	evidence *gate.Recorder
	store    *pebble.Store
}

// Close closes the store.
func (o *openedMemories) Close() error { return o.store.Close() }

// openMemories opens the store of the state folder for its memories. The policies
// of the configuration decide on them.
func (a *App) openMemories(ctx context.Context) (*openedMemories, error) {
	points := policy.NewPoints()
	set, err := a.currentPolicies(points, "")
	if err != nil {
		return nil, err
	}
	policies := policy.New(points, policy.Options{Set: set})
	db, err := pebble.Open(ctx, pebble.Options{Dir: a.storeDir()})
	if err != nil {
		return nil, err
	}
	memories, err := memory.New(memory.Options{
		Store: db, Reflection: policies, Retention: policies, Gate: gate.New(policies), Evidence: gate.Evidence{},
	})
	if err != nil {
		return nil, err // no option can be wrong but a missing store
	}
	evidence := &gate.Recorder{Writer: &journal.Writer{Store: db}, Memories: memories}
	return &openedMemories{memories, evidence, db}, nil
}
