package pebble

import (
	"slices"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// leftovers are the files that were created and that nothing on disk names: where
// writing stops before something does, they can go. Else each open on a full disk
// would leave a table behind, and a log, and so take what space is there.
//
// A table is named by a record of the manifest that is in use, and so perhaps by each
// that is written after the table was created. A new manifest is in use from the marker
// on that names it; what is written before changes nothing.
type leftovers struct {
	mu    sync.Mutex
	names []string
}

// created notes a file. Logs count while the store is being opened: later ones hold
// commits.
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

// written notes that a manifest is written to.
func (l *leftovers) written(manifest string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.names, manifest) {
		l.names = nil
	}
}

// opened notes that commits may come, and with them what the log holds.
func (l *leftovers) opened() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.names = slices.DeleteFunc(l.names, func(name string) bool { return strings.HasSuffix(name, ".log") })
}

// remove removes them. Pebble must be closed.
func (l *leftovers) remove(fs vfs.FS) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range l.names {
		_ = fs.Remove(name) // the next open that succeeds removes what stays
	}
	l.names = nil
}

func baseName(name string) string { return name[strings.LastIndexAny(name, `/\`)+1:] }
