package pebble

import (
	"fmt"
	"strings"

	pebbledb "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Durability says what a commit waits for.
type Durability string

const (
	// Full waits until the commit is on disk.
	Full Durability = "full"
	// Relaxed doesn't wait: a crash of the program or the machine may lose the
	// newest commits, though never the middle of the history. For scratch data.
	Relaxed Durability = "relaxed"
)

const (
	// formatMajor is the version of Pebble's own files. It is pinned, so that a
	// new Pebble doesn't change a store's files of itself (see FORMAT.md).
	formatMajor = pebbledb.FormatValueSeparation
	// defaultCacheBytes holds the working set of some thousand runs, and stays
	// well within the 60 MB that an idle host may take. It fills as blocks are
	// read.
	defaultCacheBytes = 16 << 20
	// memTableBytes is how much is written before a flush; Pebble's default. It
	// starts at 256 KiB and doubles up to this, twice this is in use at most.
	memTableBytes = 4 << 20
	// bloomBitsPerKey makes a lookup of an absent key read a block in 1 % of
	// cases.
	bloomBitsPerKey = 10
)

// Options say where a store lies and how it is used.
type Options struct {
	// Dir is the store's directory. It is made if it isn't there. Required.
	Dir string
	// Program names the caller to whoever finds the store locked; "" is
	// "reflectory".
	Program string
	// Durability is Full unless set.
	Durability Durability
	// CacheBytes is the size of the block cache; 0 is 16 MiB.
	CacheBytes int64
	// Clock dates the holder line; nil is the system's.
	Clock core.Clock
}

// Validate reports all problems of the options.
func (o *Options) Validate() error {
	var problems []string
	if o.Dir == "" {
		problems = append(problems, "Dir is empty")
	}
	if o.Durability != "" && o.Durability != Full && o.Durability != Relaxed {
		problems = append(problems, fmt.Sprintf("Durability %q is neither %q nor %q", o.Durability, Full, Relaxed))
	}
	if o.CacheBytes < 0 {
		problems = append(problems, fmt.Sprintf("CacheBytes %d is negative", o.CacheBytes))
	}
	if problems == nil {
		return nil
	}
	return sdk.Errorf(sdk.Invalid, "store_options_invalid", "store options: %s", strings.Join(problems, "; "))
}

func (o Options) withDefaults() Options {
	if o.Program == "" {
		o.Program = "reflectory"
	}
	if o.Durability == "" {
		o.Durability = Full
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = defaultCacheBytes
	}
	if o.Clock == nil {
		o.Clock = core.SystemClock{}
	}
	return o
}

// engine returns Pebble's options. Every file goes through the guard.
func (o Options) engine(g *guard, lock *pebbledb.Lock) *pebbledb.Options {
	e := &pebbledb.Options{
		FS:                 g,
		Lock:               lock,
		Logger:             g,
		EventListener:      &pebbledb.EventListener{BackgroundError: g.fail, DataCorruption: g.corrupt},
		FormatMajorVersion: formatMajor,
		CacheSize:          o.CacheBytes,
		MemTableSize:       memTableBytes,
	}
	for i := range e.Levels {
		e.Levels[i].FilterPolicy = bloom.FilterPolicy(bloomBitsPerKey)
	}
	return e
}

var _ vfs.FS = (*guard)(nil)
