package host

import (
	"context"
	"io"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/pebble"
	"github.com/reflectory/reflectory/sdk"
)

// An import makes a new store next to the store in the data folder, checks all of it, and
// then replaces the old store with the new one. So an import that fails, or is killed,
// leaves the old store unchanged. The old store mustn't be open meanwhile: if a host had
// it open, the host's indices would no longer agree with the files.

// Export writes everything in the store, except derived data.
func (s *Storage) Export(ctx context.Context, to io.Writer, progress store.Progress) (store.Moved, error) {
	parts, err := Checkers(s.store)
	if err != nil {
		return store.Moved{}, err
	}
	return store.Export(ctx, s.store, to, store.Derived(parts), progress)
}

// ImportOptions determine how an export is imported.
type ImportOptions struct {
	// Replace allows replacing a store that isn't empty, whose data is lost.
	Replace bool
	// Namespaces are the namespaces to add to the existing store: each a namespace, or,
	// with /** at the end, a namespace and everything below it. None means everything,
	// replacing the store.
	Namespaces []string
	// Progress, if set, is called now and then with how much of the export was read.
	Progress store.Progress

	// staged, if set, is called once no other program can open the store.
	staged func()
}

// hold notes that the store is held.
func (o *ImportOptions) hold() {
	if o.staged != nil {
		o.staged()
	}
}

// Imported is what was imported.
type Imported struct {
	// Records and Bytes count the export's data; if only namespaces were imported, Records
	// counts the records of these.
	Records int64 `json:"records"`
	Bytes   int64 `json:"bytes"`
	// Namespaces and Sessions were imported, if only namespaces were requested.
	Namespaces []string `json:"namespaces,omitempty"`
	Sessions   []string `json:"sessions,omitempty"`
}

// Import is [Import] for a host that hasn't opened its store yet; otherwise it is
// refused: sdk.Conflict of reason "store_in_use". No program can open the store
// meanwhile.
func (s *Storage) Import(ctx context.Context, in io.Reader, o ImportOptions) (done *Imported, err error) {
	local, ok := s.store.(*store.OnDemand)
	if !ok {
		return nil, notLocal()
	}
	if s.config.Settings.Shared() {
		return s.importEmpty(ctx, in, o)
	}
	s.config.Activity(OpeningStore)
	o.staged = func() { s.config.Activity("") }
	defer o.staged()
	err = local.Shut(func() (err error) {
		done, err = Import(ctx, s.config.Settings, in, o)
		return err
	})
	if sdk.ReasonOf(err) == "store_in_use" {
		err = sdk.Errorf(sdk.Conflict, "store_in_use", "this host has the store in %s open, which an import would replace", StoreDir(s.config.Settings)).
			WithHint("stop the server on %s before the import", s.config.Settings.DataDir.Value).WithAction("store import", "file", nil)
	}
	return done, err
}

// Import replaces the store of the data folder with an export, or adds namespaces of it
// to that store, completely or not at all. It is refused if a program has the store open,
// or if the store isn't empty and replace isn't set.
func Import(ctx context.Context, settings *config.Config, in io.Reader, o ImportOptions) (*Imported, error) {
	if settings.Shared() {
		return nil, notLocal()
	}
	if o.Replace && len(o.Namespaces) > 0 {
		return nil, sdk.Errorf(sdk.Invalid, "import_invalid", "namespaces are added to the existing store: they don't replace it").
			WithHint("leave out one of replace and namespaces")
	}
	if err := settings.MakeDataDir(); err != nil {
		return nil, err
	}
	if len(o.Namespaces) > 0 {
		return importNamespaces(ctx, settings, in, o)
	}
	return importAll(ctx, settings, in, o)
}

// importEmpty fills a database, which has to be empty: a database that other hosts use
// can't be replaced.
func (s *Storage) importEmpty(ctx context.Context, in io.Reader, o ImportOptions) (*Imported, error) {
	if o.Replace || len(o.Namespaces) > 0 {
		return nil, sdk.Errorf(sdk.Incompatible, "store_not_local", "an import into a database neither replaces what is there nor adds to it").
			WithHint("import everything, into an empty database or schema")
	}
	moved, err := readExport(ctx, s.store, in, o.Progress)
	if err != nil {
		return nil, err
	}
	return &Imported{Records: moved.Records, Bytes: moved.Bytes}, nil
}

// importAll makes a store from an export, and replaces the existing one with it.
func importAll(ctx context.Context, settings *config.Config, in io.Reader, o ImportOptions) (*Imported, error) {
	staged, err := pebble.Stage(ctx, StoreOptions(settings), o.Replace)
	if err != nil {
		return nil, err
	}
	defer staged.Discard()
	o.hold()
	db, err := pebble.Open(ctx, pebble.Options{Dir: staged.Dir, Durability: pebble.Relaxed}) // Close syncs it to the disk
	if err != nil {
		return nil, err
	}
	moved, err := readExport(ctx, db, in, o.Progress)
	if err := core.JoinErrors(err, db.Close()); err != nil {
		return nil, err
	}
	return &Imported{Records: moved.Records, Bytes: moved.Bytes}, staged.Install()
}

// importNamespaces adds namespaces of an export to a copy of the store, which then
// replaces the store. The whole export is checked before that.
func importNamespaces(ctx context.Context, settings *config.Config, in io.Reader, o ImportOptions) (_ *Imported, err error) {
	staged, err := pebble.StageCopy(ctx, StoreOptions(settings))
	if err != nil {
		return nil, err
	}
	defer staged.Discard()
	o.hold()
	dir, err := staged.Scratch()
	if err != nil {
		return nil, err
	}
	source, err := pebble.Open(ctx, pebble.Options{Dir: dir, Durability: pebble.Relaxed}) // it is deleted afterwards
	if err != nil {
		return nil, err
	}
	defer func() { err = core.JoinErrors(err, source.Close()) }()
	moved, err := readExport(ctx, source, in, o.Progress)
	if err != nil {
		return nil, err
	}
	db, err := pebble.Open(ctx, pebble.Options{Dir: staged.Dir, Durability: pebble.Relaxed}) // Close syncs it to the disk
	if err != nil {
		return nil, err
	}
	if o.Progress != nil {
		o.Progress(store.Work{Doing: store.Merging})
	}
	var merged store.Merged
	parts, err := Checkers(db)
	if err == nil {
		merged, err = store.Merge(ctx, &journal.Writer{Store: db}, source, o.Namespaces, parts)
	}
	if err := core.JoinErrors(err, db.Close()); err != nil {
		return nil, err
	}
	return &Imported{
		Records: int64(merged.Records), Bytes: moved.Bytes, Namespaces: merged.Namespaces, Sessions: merged.Sessions,
	}, staged.Install()
}

// readExport reads an export into an empty store.
func readExport(ctx context.Context, db core.Store, in io.Reader, progress store.Progress) (store.Moved, error) {
	parts, err := Checkers(db)
	if err != nil {
		return store.Moved{}, err
	}
	return store.Import(ctx, db, in, parts, progress)
}
