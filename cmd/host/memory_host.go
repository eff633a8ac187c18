package main

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/governance"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/store/pebble"
	"github.com/reflectory/reflectory/policy"
)

// memoryHost is the governed memory of the state folder, with what decides in it.
type memoryHost struct {
	*memory.Memories
	governor *governance.Governor
	evidence *gate.Recorder
	store    *pebble.Store
}

// openMemory opens the store of the state folder and the memory in it.
func (a *App) openMemory(ctx context.Context) (*memoryHost, error) {
	db, err := pebble.Open(ctx, pebble.Options{Dir: a.storeDir()})
	if err != nil {
		return nil, err
	}
	m, err := a.newMemory(db)
	if err != nil {
		_ = db.Close() // nothing was written
		return nil, err
	}
	return m, nil
}

// newMemory makes the memory on an open store, which it takes over.
func (a *App) newMemory(db *pebble.Store) (*memoryHost, error) {
	policies := policy.New(policy.NewPoints(), policy.Options{})
	h := &memoryHost{store: db, governor: governance.New(&journal.Writer{Store: db})}
	var err error
	h.Memories, err = memory.New(memory.Options{
		Store: db, IDs: &core.SystemIDs{}, Governor: h.governor, Reflection: policies, Retention: policies,
		Gate: gate.New(policies),
	})
	return h, err
}

// Close closes the store.
func (h *memoryHost) Close() error { return h.store.Close() }
