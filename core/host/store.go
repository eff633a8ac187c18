package host

import (
	"context"
	"path/filepath"
	"sync"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/conversation"
	"github.com/reflectory/reflectory/core/decisions"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/governance"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/idempotency"
	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/pluginlock"
	"github.com/reflectory/reflectory/core/policyset"
	"github.com/reflectory/reflectory/core/rate"
	"github.com/reflectory/reflectory/core/reflection"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/pebble"
	"github.com/reflectory/reflectory/core/store/postgres"
	"github.com/reflectory/reflectory/sdk"
)

// LocalStore is the store in the data folder. While it is open, the journal's root
// records its changes.
type LocalStore struct {
	*pebble.Store
	rooter *journal.Rooter
	// here are the tenants of this store; nil for all tenants.
	here store.Here
}

// Update implements [core.Store]. It refuses writes to the namespaces of tenants of other
// databases.
func (s *LocalStore) Update(ctx context.Context, fn func(core.Tx) error) error {
	if s.here == nil {
		return s.Store.Update(ctx, fn)
	}
	return store.UpdateHere(ctx, s.Store, s.here, fn)
}

// Close records the last heads and closes the store.
func (s *LocalStore) Close() error {
	err := s.rooter.Close(context.Background()) // even if a call was cancelled
	if s.Err() != nil {
		err = nil // the call that failed has reported it
	}
	return core.JoinErrors(err, s.Store.Close())
}

// Storage is where a host's store is.
type Storage struct {
	config     *Config
	membership *Membership
	store      core.Store
	here       store.Here // nil if the store has all tenants, and no other host may know of another one

	keyMu   sync.Mutex
	pageKey []byte // nil until it is needed: see PageKey
}

// startRooter makes the journal's root record what changes in a store. One host at a time
// does this.
func (s *Storage) startRooter(db core.Store) *journal.Rooter {
	w := &journal.Writer{Store: db, Clock: s.config.Clock}
	if s.config.shared() {
		return journal.StartSharedRooter(w, s.membership.lead(db))
	}
	return journal.StartRooter(w)
}

// SharedStore is the store in a database. While it is open, the journal's root records its
// changes; one host does this for all.
type SharedStore struct {
	*postgres.Store
	rooter *journal.Rooter
	here   store.Here
}

// Update implements [core.Store]. It refuses writes to the namespaces of tenants of other
// databases: see [store.UpdateHere].
func (s *SharedStore) Update(ctx context.Context, fn func(core.Tx) error) error {
	return store.UpdateHere(ctx, s.Store, s.here, fn)
}

// Close records the last heads and closes the connections.
func (s *SharedStore) Close() error {
	err := s.rooter.Close(context.Background()) // even if a call was cancelled
	return core.JoinErrors(err, s.Store.Close())
}

// StoreOptions are the folder of the data folder's store, its durability, and how long to
// wait for another program that has it open.
func StoreOptions(c *config.Config) pebble.Options {
	return pebble.Options{Dir: StoreDir(c), Durability: pebble.Durability(c.Durability.Value), LockWait: c.LockTime()}
}

// StoreDir is the folder of the store.
func StoreDir(c *config.Config) string { return filepath.Join(c.DataDir.Value, "store") }

// SegmentDir is the folder of files pruned from the store.
func SegmentDir(c *config.Config) string { return filepath.Join(c.DataDir.Value, "segments") }

// databaseOptions name the store's database, and how long to wait for it.
func databaseOptions(c *config.Config, fresh *postgres.FreshIDs) postgres.Options {
	wait := c.DatabaseTime()
	if wait == 0 {
		wait = -1
	}
	return postgres.Options{URL: c.Store.Value, Relaxed: c.Durability.Value == string(pebble.Relaxed), Wait: wait, Fresh: fresh}
}

// onDemand is the store that the settings choose, which its first transaction opens. From now on, a
// store in a database knows that ids made by the host are new.
func (s *Storage) onDemand() *store.OnDemand {
	settings, fresh := s.config.Settings, &postgres.FreshIDs{}
	if settings.Shared() {
		s.config.IDs = fresh.Note(s.config.IDs)
	}
	return store.NewOnDemand(func(ctx context.Context) (store.Closable, error) {
		if err := settings.MakeDataDir(); err != nil { // also the folder of the host's own data
			return nil, err
		}
		s.config.Activity(OpeningStore)
		defer s.config.Activity("")
		if settings.Shared() {
			db, err := postgres.Open(ctx, databaseOptions(settings, fresh))
			if err != nil {
				return nil, err
			}
			return &SharedStore{db, s.startRooter(db), s.here}, nil
		}
		db, err := pebble.Open(ctx, StoreOptions(settings))
		if err != nil {
			return nil, err
		}
		return &LocalStore{db, s.startRooter(db), s.here}, nil
	})
}

// openNow is the store that the settings choose, if it is open; otherwise nil. It opens none.
func (s *Storage) openNow() core.Store {
	local, ok := s.store.(*store.OnDemand)
	if !ok || !isClosed(local.Opened()) {
		return nil
	}
	db, err := local.Open(context.Background()) // it is open: this returns at once
	if err != nil {
		return nil // it was closed
	}
	return db
}

// database is the store in a database, if that is open; otherwise nil.
func (s *Storage) database() *SharedStore {
	db, _ := s.openNow().(*SharedStore)
	return db
}

// Checkers are the parts that check, and rebuild, the contents of a store.
func Checkers(s core.Store) ([]core.Checker, error) {
	memories, err := memory.New(memory.Options{Store: s})
	if err != nil {
		return nil, err
	}
	return []core.Checker{
		journal.Checker{}, run.Checker{Purged: memory.Purged, Turns: endedTurns}, run.ReplyChecker(), governance.New(&journal.Writer{Store: s}), memories, gate.Evidence{},
		decisions.Checker{}, access.Checker{}, store.HostChecker(), store.TenantChecker{}, idempotency.Checker(), conversation.Checker(), job.Checker{}, pluginlock.Checker{}, policyset.Checker{}, reflection.Checker{}, inject.Checker{Purged: memory.Purged}, rate.Checker(),
	}, nil
}

// endedTurns are the turns that are counted next to the runs.
func endedTurns(r core.Reader, fn func(*run.EndedTurn) error) error {
	return memory.EachEndedTurn(r, func(t *memory.EndedTurn) error { return fn((*run.EndedTurn)(t)) })
}

// countTurn counts a turn next to the runs, in the commit of its feedback.
func countTurn(tx core.Tx, now, before *memory.EndedTurn) error {
	return run.CountTurn(tx, (*run.EndedTurn)(now), (*run.EndedTurn)(before))
}

// PrunedDecisions and PrunedRuns are the names of the parts that can be pruned.
const (
	PrunedDecisions = "decisions"
	PrunedRuns      = "runs"
)

// Prunable are the parts of the store that aren't kept for ever: decisions and runs,
// depending on the settings.
func (s *Storage) Prunable() (parts []store.PrunePart) {
	now := s.config.Clock.Now()
	keep := s.config.Settings.Keep()
	if kept := keep.Decisions; kept > 0 {
		parts = append(parts, store.PrunePart{Name: PrunedDecisions, Pruner: decisions.Pruner{Before: now.Add(-kept)}})
	}
	if kept := keep.Runs; kept > 0 {
		parts = append(parts, store.PrunePart{Name: PrunedRuns, Pruner: &run.Pruner{Before: now.Add(-kept), Purged: memory.Purged}})
	}
	return parts
}

// OpenLocal opens the store of the data folder, unless it is open, for operations that
// only it supports, such as a backup. A Host on another store refuses.
func (s *Storage) OpenLocal(ctx context.Context) (*LocalStore, error) {
	local, ok := s.store.(*store.OnDemand)
	if !ok {
		return nil, notLocal()
	}
	db, err := local.Open(ctx)
	if err != nil {
		return nil, err
	}
	if db, ok := db.(*LocalStore); ok {
		return db, nil
	}
	return nil, notLocal()
}

func notLocal() error {
	return sdk.Errorf(sdk.Incompatible, "store_not_local", "this host's store isn't one in a data folder").
		WithHint("use the tools of that store: pg_basebackup or pg_dump for PostgreSQL")
}
