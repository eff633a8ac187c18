package pebble

import (
	"slices"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// leftovers are files that were created but that nothing on disk refers to: if writing
// stops before something does, they can be removed. Otherwise each open on a full disk
// would leave a table and a log behind, and so use up the remaining space.
//
// A table may be referred to by the manifest that is in use, and so by each record that
// is written to it after the table was created. A new manifest is in use as soon as the
// marker names it; until then, writing to it changes nothing.
type leftovers struct {
	mu    sync.Mutex
	names []string
}

// created records a new file. Logs are recorded only while the store is being opened:
// later ones hold commits.
func (l *leftovers) created(name string, opening bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	base := baseName(name)
	switch {
	case strings.HasPrefix(base, "marker."):
		l.names = nil
	case strings.HasPrefix(base, "MANIFEST-"), strings.HasSuffix(base, ".sst"),
		opening && strings.HasSuffix(base, ".log"):
		l.names = append(l.names, name)
	}
}

// written records that a manifest is written to.
func (l *leftovers) written(manifest string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.names, manifest) {
		l.names = nil
	}
}

// opened records that commits may come, so that the log must be kept.
func (l *leftovers) opened() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.names = slices.DeleteFunc(l.names, func(name string) bool { return strings.HasSuffix(name, ".log") })
}

// remove removes the files. Pebble must be closed.
func (l *leftovers) remove(fs vfs.FS) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range l.names {
		_ = fs.Remove(name) // the next successful open removes what is left
	}
	l.names = nil
}

func baseName(name string) string { return name[strings.LastIndexAny(name, `/\`)+1:] }
