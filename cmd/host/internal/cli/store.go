package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
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

// storeDir is the folder of the store.
func (a *App) storeDir() string { return filepath.Join(a.config.DataDir.Value, "store") }

// openStore opens the store of the state folder.
func (a *App) openStore(ctx context.Context) (*openedStore, error) {
	if err := a.makeDataDir(); err != nil {
		return nil, err
	}
	a.opening()
	db, err := pebble.Open(ctx, a.storeOptions())
	a.term.Clear()
	if err != nil {
		return nil, err
	}
	return &openedStore{db, journal.StartRooter(&journal.Writer{Store: db})}, nil
}

// storeOptions say where the store is, when a commit is safe, and how long to wait
// for who has it open.
func (a *App) storeOptions() pebble.Options {
	wait, err := time.ParseDuration(a.config.LockWait.Value)
	if err != nil {
		panic("lock wait: " + err.Error()) // the configuration was checked when it was read
	}
	return pebble.Options{Dir: a.storeDir(), Durability: pebble.Durability(a.config.Durability.Value), LockWait: wait}
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
		journal.Checker{}, store.RunChecker{Purged: memory.Purged}, store.ReplyChecker{}, governance.New(&journal.Writer{Store: s}), memories, gate.Evidence{},
		decisions.Checker{},
	}
}

// onStore runs a command on the store.
func (a *App) onStore(fn func(ctx context.Context, db *openedStore, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) (err error) {
		db, err := a.openStore(c.Context())
		if err != nil {
			return err
		}
		defer closing(&err, db)
		return fn(c.Context(), db, args)
	}
}

// onStoreThere is onStore for commands that are of no use on a new store, and says so
// where it is one: the folder may be misspelt.
func (a *App) onStoreThere(fn func(ctx context.Context, db *openedStore, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		if presence, err := pebble.Look(a.storeDir()); err == nil && !presence.Exists { // what is wrong, the open tells
			a.term.Line("warn: there was no store in %s: this one is new and empty", term.Clean(a.storeDir()))
		}
		return a.onStore(fn)(c, args)
	}
}

// maxProblems is how many problems a check lists. All are counted.
const maxProblems = 1000

func (a *App) storeCommand() *cobra.Command {
	c := &cobra.Command{Use: "store", Short: "Check, back up, restore, export, import and prune the store", RunE: needsCommand}
	c.AddCommand(
		a.storeCheckCommand(), a.storeBackupCommand(), a.storeRestoreCommand(),
		a.storeExportCommand(), a.storeImportCommand(), a.storePruneCommand(),
	)
	return c
}

// storeChecked is what check prints.
type storeChecked struct {
	Valid bool `json:"valid"`
	// Repaired is whether what follows from other records was made again before.
	Repaired bool `json:"repaired"`
	// Count counts all problems; Problems are the first of them.
	Count    int            `json:"count"`
	Problems []core.Problem `json:"problems"`
}

func (a *App) storeCheckCommand() *cobra.Command {
	var repair bool
	c := &cobra.Command{
		Use: "check", Short: "Prove that records, indices, links and events agree",
		Long: `Prove that records, indices, links and events agree, and that the journal's chains are
whole. --repair first rebuilds what follows from other records, such as indices.
Exit codes: 0 all agrees, 3 it doesn't.`,
		Example: "  reflectory store check",
	}
	c.Flags().BoolVar(&repair, "repair", false, "first rebuild what follows from other records")
	c.RunE = a.onStoreThere(func(ctx context.Context, db *openedStore, _ []string) error {
		parts := storeParts(db)
		checked := storeChecked{Repaired: repair, Problems: []core.Problem{}}
		if repair {
			a.term.Status("repairing …")
			if err := store.Rebuild(ctx, store.Watch(db, a.reading), parts); err != nil {
				return err
			}
		}
		a.term.Status("checking …")
		var err error
		checked.Count, err = store.Check(ctx, store.Watch(db, a.reading), parts, func(p core.Problem) {
			if len(checked.Problems) < maxProblems {
				checked.Problems = append(checked.Problems, p)
			}
		})
		if err != nil {
			return err
		}
		checked.Valid = checked.Count == 0
		return a.printStoreChecked(checked)
	})
	return c
}

func (a *App) printStoreChecked(checked storeChecked) error {
	if a.flags.json {
		return exitNotValidUnless(checked.Valid, a.printJSON(checked))
	}
	rebuildable := 0
	for _, p := range checked.Problems {
		fmt.Fprintf(a.Stdout, "%s: %s: %s\n", p.Part, term.Clean(p.Key), term.Clean(p.Message))
		if p.Rebuildable {
			rebuildable++
		}
	}
	switch {
	case checked.Valid:
		a.term.Line("%s", a.term.Good("everything agrees"))
	case rebuildable > 0:
		a.term.Line("%s, %d of those above can be repaired with: reflectory store check --repair", a.term.Bad(fmt.Sprintf("%d problems", checked.Count)), rebuildable)
	default:
		a.term.Line("%s", a.term.Bad(fmt.Sprintf("%d problems", checked.Count)))
	}
	return exitNotValidUnless(checked.Valid, nil)
}

func replaceFlag(c *cobra.Command, replace *bool) {
	c.Flags().BoolVar(replace, "replace", false, "replace the store that is there, which is lost")
}
