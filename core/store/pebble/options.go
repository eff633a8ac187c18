// Package pebble is the store on disk: [core.Store] over a Pebble database, and
// the only package that imports Pebble.
//
// # Transactions
//
// Transactions are optimistic. Each has a moment: the newest commit at its start. It
// reads the newest values, and notes the keys and ranges that it read. If a value is
// newer than its moment, the moment advances if everything that was read before is
// unchanged; otherwise the transaction runs again. So it always sees one moment, without
// a snapshot of Pebble, whose end looks for compactions and waits for manifests. Its
// writes are held in memory. To commit, it takes a short mutex, is checked against the
// keys that others committed since its moment, and is passed to Pebble, which makes it
// visible. On a conflict it runs again. The wait for the disk happens outside the mutex,
// so that many writers share one sync, even writers of the same key: see group.
//
// Values that transactions read again and again are kept in memory, see hotKeys.
//
// # Durability
//
// A commit is visible before it is durable. An Update that read it can't be acknowledged
// before it is durable itself: its own record comes later in the same log, and a sync
// covers everything before. A transaction that wrote nothing has no record, so before it
// returns it waits for the syncs that were in progress when it last read. A View reads the
// newest state that is on the disk, which has everything that was acknowledged, so that the
// commits of others don't delay it. So nobody acts on data that a crash may undo.
//
// # Failure
//
// The first write that the disk refuses stops all later ones: see fuse. Reads still work.
// Transactions show the contents of memory, which include commits whose callers got an error
// from the disk: whether those are durable only shows after the next open.
//
// It is internal to Reflectory: its API may change in any release.
package pebble

import (
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Durability determines when a commit is acknowledged.
type Durability string

// The durabilities.
const (
	Full    Durability = "full"    // after the log is synced: it survives a power cut
	Relaxed Durability = "relaxed" // after the log is buffered: a crash of the program loses the newest
)

// Options determine where a store is and which resources it may use. A zero field means
// its default.
type Options struct {
	// Dir is the store's folder. It is created if necessary, and only its owner may use
	// it.
	Dir string
	// Durability defaults to Full.
	Durability Durability
	// CacheBytes bounds the cache of decoded blocks, filters and file indices. It
	// fills as the store is read, so an idle host stays within its 60 MB. Default
	// 64 MiB: with 16, an import into a store of 100,000 memories reads the filters
	// of absent keys from the files again and again, and takes 1.4 times as long.
	CacheBytes int64
	// MemTableBytes is how much is collected in memory before it is sorted into a
	// file. Default 8 MiB; two may exist at a time.
	MemTableBytes uint64
	// LockWait is how long Open waits for a folder that another program has open, which
	// may be a short command. 0 doesn't wait.
	LockWait time.Duration
	// Program names the holder in the message that a second program gets. Default
	// the base name of the executable.
	Program string
	// Clock gives the time at which the holder opened the store. Default the system
	// clock.
	Clock core.Clock
}

// Validate reports what is wrong with the options.
func (o *Options) Validate() error {
	switch {
	case o.Dir == "":
		return sdk.Errorf(sdk.Invalid, "store_options_invalid", "store options: no folder is given")
	case o.Durability != "" && o.Durability != Full && o.Durability != Relaxed:
		return sdk.Errorf(sdk.Invalid, "store_options_invalid", "store options: durability %q is not full or relaxed", o.Durability)
	case o.CacheBytes < 0:
		return sdk.Errorf(sdk.Invalid, "store_options_invalid", "store options: a cache of %d bytes", o.CacheBytes)
	case o.LockWait < 0:
		return sdk.Errorf(sdk.Invalid, "store_options_invalid", "store options: a wait of %s for the lock", o.LockWait)
	case o.MemTableBytes > 1<<30:
		return sdk.Errorf(sdk.Invalid, "store_options_invalid", "store options: a memtable of %d bytes (limit 1 GiB)", o.MemTableBytes)
	}
	return nil
}

func (o Options) withDefaults() Options {
	if o.Durability == "" {
		o.Durability = Full
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = 64 << 20
	}
	if o.MemTableBytes == 0 {
		o.MemTableBytes = 8 << 20
	}
	if o.Program == "" {
		o.Program = filepath.Base(os.Args[0])
	}
	if o.Clock == nil {
		o.Clock = core.SystemClock{}
	}
	return o
}

const (
	// flushSplitBytes is the size at which a flush begins another file. Most keys come at
	// the end of their kind, since ids rise; so most of many small files come after all
	// existing keys, and move down unchanged. With Pebble's 4 MB an import of memories
	// writes 1.5 times as much, and takes a fifth more processor time.
	flushSplitBytes = 256 << 10
	// compactAtLayers is how many layers of new files are merged at once. Each costs a
	// reader one filter lookup; with Pebble's 4 an import writes 1.3 times as much.
	compactAtLayers = 8
	// manifestShare bounds the list of files, as a fraction of a memtable, before it is
	// written again: 256 KiB for 8 MiB. Each change of the files is appended, and an open
	// reads all of it: after an import of a million memories 1.4 MB, in 30 ms. Pebble's
	// limit is 128 MB.
	manifestShare = 32
)

// engine returns Pebble's options.
func (o *Options) engine(fs vfs.FS, f *fuse, lock *pebble.Lock, merges *compactions) *pebble.Options {
	e := &pebble.Options{
		FS:   fs,
		Lock: lock,
		// Pinned, so that a new version of Pebble doesn't change the files by itself.
		FormatMajorVersion: pebble.FormatValueSeparation,
		CacheSize:          o.CacheBytes,
		MemTableSize:       o.MemTableBytes,
		// Pebble would block writers inside its commit, where they would stay for ever if
		// the disk failed. pressure holds them back earlier.
		MemTableStopWritesThreshold: math.MaxInt32,
		L0StopWritesThreshold:       math.MaxInt32,
		FlushSplitBytes:             flushSplitBytes,
		L0CompactionThreshold:       compactAtLayers,
		MaxManifestFileSize:         int64(o.MemTableBytes) / manifestShare,
		Logger:                      logger{f},
		EventListener: &pebble.EventListener{
			// Unreadable data is an error of the call that reads it, and doesn't stop the
			// store.
			DataCorruption:  func(pebble.DataCorruptionInfo) {},
			BackgroundError: func(error) {},
			CompactionEnd:   func(c pebble.CompactionInfo) { merges.ended(c.Err) },
		},
	}
	for i := range e.Levels {
		// With 10 bits per key, 99 % of absent keys are found without a read.
		e.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	return e
}

// logger receives what Pebble logs. It shows nothing to users, and after an error that
// Pebble calls fatal, such as a manifest that can't be written, it stops writing instead
// of the program.
type logger struct{ fuse *fuse }

func (logger) Infof(string, ...any)  {}
func (logger) Errorf(string, ...any) {}

func (l logger) Fatalf(format string, args ...any) { l.fuse.blow(engineError(format, args...)) }
