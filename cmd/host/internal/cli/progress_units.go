package cli

import (
	"os"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/pebble"
)

// The units of long work, for a terminal's progress.
var (
	bytesRead = term.Unit{Bytes: true}
	records   = term.Unit{One: "record", Many: "records"}
	memories  = term.Unit{One: "memory", Many: "memories"}
	decided   = term.Unit{One: "decision", Many: "decisions"}
	entries   = term.Unit{One: "entry", Many: "entries"}
)

// units are the units that operations count.
func units() map[string]term.Unit {
	return map[string]term.Unit{"records": records, "memories": memories, "decisions": decided, "entries": entries}
}

// workTexts describe what operations are doing, for people.
func workTexts() map[string]string {
	return map[string]string{
		string(store.Rebuilding): "rebuilding derived data", string(store.Checking): "checking",
		string(store.Merging): "merging", host.PrunedDecisions: "pruning decisions", host.PrunedRuns: "pruning runs",
	}
}

// opening shows, if it takes long, that the store is being opened, or which program has
// it open.
func (a *App) opening() {
	if a.config.Shared() {
		a.out.term.Meanwhile("connecting to the database")
		return
	}
	if presence, err := pebble.Look(host.StoreDir(a.config)); err == nil && presence.Holder != nil {
		a.out.term.Meanwhile("waiting for the store, which %s (pid %d) has open", term.Clean(presence.Holder.Program), presence.Holder.PID)
		return
	}
	a.out.term.Meanwhile("opening the store")
}

// moving shows the progress of an export or an import of a file with that many bytes; 0
// means that the size isn't known.
func (a *App) moving(verb string, size int64) func(operation.Progress) {
	a.out.term.Status("%s …", verb)
	return func(p operation.Progress) {
		if size > 0 && p.Doing == string(store.Moving) {
			a.out.term.Step(p.Bytes, size, bytesRead)
			return
		}
		a.progress(p)
	}
}

// sizeOf is a file's size; 0 if it isn't known before the file is read.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return info.Size()
}
