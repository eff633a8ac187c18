package pebble

import (
	"errors"
	iofs "io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Presence is what is known of a directory without opening the store in it.
type Presence struct {
	// Exists is whether there is a store.
	Exists bool
	// Bytes is the size of its files.
	Bytes int64
	// Holder is the program that has it open; nil where none does. It is what the
	// holder wrote down, if a process of that id runs: the lock isn't asked for,
	// since that could keep a program that opens the store from it.
	Holder *Holder
}

// Look tells of a store without opening it. Programs may use it meanwhile.
func Look(dir string) (Presence, error) {
	var p Presence
	desc, err := pebble.Peek(dir, vfs.Default)
	if errors.Is(err, iofs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, ioError("look at "+dir, err)
	}
	p.Exists = desc.Exists
	if h := readHolder(vfs.Default, filepath.Join(dir, holderFile)); h != nil && runs(h.PID) {
		p.Holder = h
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return p, ioError("look at "+dir, err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() { // else it is gone meanwhile
			p.Bytes += info.Size()
		}
	}
	return p, nil
}

// runs is whether there is a process of an id.
func runs(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	err = p.Signal(syscall.Signal(0))
	_ = p.Release() // it is no child of ours
	return !errors.Is(err, os.ErrProcessDone)
}

// checkMarker refuses a folder that has data and no marker that names the manifest:
// Pebble would take it for a new one, and remove the data. A creation that was cut short
// leaves a manifest at most, since logs and tables come after the marker.
func checkMarker(fs vfs.FS, dir string) error {
	desc, err := pebble.Peek(dir, fs)
	if err != nil || desc.Exists {
		return nil // what is wrong with it, Pebble tells
	}
	names, err := fs.List(dir)
	for _, name := range names {
		if strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".log") {
			return engineError("%s is there, but no marker.manifest: %w", name, iofs.ErrNotExist)
		}
	}
	return err
}
