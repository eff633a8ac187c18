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

// Presence is what is known about a folder without opening the store in it.
type Presence struct {
	// Exists is whether there is a store.
	Exists bool
	// Bytes is the size of its files.
	Bytes int64
	// Holder is the program that has it open; nil if none has. It is taken from the
	// holder's file, if a process with that id is running. The lock isn't tried, since
	// that could make another program's attempt to open the store fail.
	Holder *Holder
}

// Look describes a store without opening it. Programs may use it meanwhile.
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
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() { // the file may be gone by now
			p.Bytes += info.Size()
		}
	}
	return p, nil
}

// Space is how many bytes of a folder's file system this program may still use, and how many it has.
func Space(dir string) (available, size uint64, err error) {
	usage, err := vfs.Default.GetDiskUsage(dir)
	if err != nil {
		return 0, 0, ioError("look at the disk of "+dir, err)
	}
	return usage.AvailBytes, usage.TotalBytes, nil
}

// runs is whether there is a process with an id.
func runs(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	err = p.Signal(syscall.Signal(0))
	_ = p.Release() // it isn't our child process
	return !errors.Is(err, os.ErrProcessDone)
}

// checkMarker refuses a folder that has data but no marker that names the manifest:
// Pebble would treat it as new, and remove the data. An interrupted creation leaves at
// most a manifest, since logs and tables come after the marker.
func checkMarker(fs vfs.FS, dir string) error {
	desc, err := pebble.Peek(dir, fs)
	if err != nil || desc.Exists {
		return nil // Pebble reports what is wrong
	}
	names, err := fs.List(dir)
	for _, name := range names {
		if strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".log") {
			return engineError("%s is there, but no marker.manifest: %w", name, iofs.ErrNotExist)
		}
	}
	return err
}
