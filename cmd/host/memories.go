package main

import (
	"context"

	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/governance"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/memory/embed"
	"github.com/reflectory/reflectory/policy"
)

// memoryHost is the governed memory of the state folder, with what decides in it.
type memoryHost struct {
	*memory.Memories
	evidence *gate.Recorder
	store    *openedStore
}

// Close ends what the memory does in the background, and closes the store.
func (h *memoryHost) Close() error {
	h.Memories.Close()
	return h.store.Close()
}

// openMemory opens the store of the state folder and the memory in it. The
// policies of the configuration decide on it.
func (a *App) openMemory(ctx context.Context) (*memoryHost, error) {
	points := policy.NewPoints()
	set, err := a.currentPolicies(points, "")
	if err != nil {
		return nil, err
	}
	db, err := a.openStore(ctx)
	if err != nil {
		return nil, err
	}
	return a.memoryOn(db, policy.New(points, policy.Options{Set: set})), nil
}

// memoryOn makes the memory on an open store, which it takes over.
func (a *App) memoryOn(db *openedStore, policies *policy.Policies) *memoryHost {
	writer := &journal.Writer{Store: db}
	memories, err := memory.New(memory.Options{
		Store: db, Governor: governance.New(writer), Reflection: policies, Retention: policies,
		Gate: gate.New(policies), Evidence: gate.Evidence{}, Embedder: embed.Hashed{},
	})
	if err != nil {
		panic("memory: " + err.Error()) // no option can be wrong but a missing store
	}
	return &memoryHost{memories, &gate.Recorder{Writer: writer, Memories: memories}, db}
}

// withMemory opens the memory for one command.
func (a *App) withMemory(ctx context.Context, fn func(*memoryHost) error) (err error) {
	m, err := a.openMemory(ctx)
	if err != nil {
		return err
	}
	defer closing(&err, m)
	return fn(m)
}
