package main

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/decisions"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/governance"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/pebble"
)

// openedStore is the store of the state folder. While it is open, the journal's
// root records what changes.
type openedStore struct {
	*pebble.Store
	rooter *journal.Rooter
}

// openStore opens the store of the state folder.
func (a *App) openStore(ctx context.Context) (*openedStore, error) {
	db, err := pebble.Open(ctx, pebble.Options{Dir: a.storeDir(), Durability: pebble.Durability(a.config.Durability.Value)})
	if err != nil {
		return nil, err
	}
	return &openedStore{db, journal.StartRooter(&journal.Writer{Store: db})}, nil
}

// Close records the last heads and closes the store.
func (s *openedStore) Close() error {
	err := s.rooter.Close(context.Background()) // also of a command that was cancelled
	if s.Err() != nil {
		err = nil // the call that met it has told
	}
	return core.Together(err, s.Store.Close())
}

// storeParts are the parts that check, and rebuild, what a store holds.
func storeParts(s core.Store) []core.Checker {
	memories, err := memory.New(memory.Options{Store: s})
	if err != nil {
		panic("memory: " + err.Error()) // no option can be wrong but a missing store
	}
	return []core.Checker{
		store.RunChecker{}, journal.Checker{}, governance.New(&journal.Writer{Store: s}), memories, gate.Evidence{},
		decisions.Checker{},
	}
}
