package pebble

import "github.com/cockroachdb/pebble/v2/vfs"

// fuseFile is a file that is written through a fuse.
type fuseFile struct {
	vfs.File
	fuse *fuse
	// manifest is the file's name if it is a manifest, else "".
	manifest string
}

// Write implements vfs.File.
func (f fuseFile) Write(p []byte) (n int, err error) {
	err = f.fuse.do(func() (err error) {
		if f.manifest != "" {
			f.fuse.leftovers.written(f.manifest)
		}
		n, err = f.File.Write(p)
		return err
	})
	return n, err
}

// WriteAt implements vfs.File.
func (f fuseFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.fuse.do(func() (err error) {
		n, err = f.File.WriteAt(p, off)
		return err
	})
	return n, err
}

// Preallocate implements vfs.File, and reserves nothing. Pebble would reserve 1.1 memtables
// for each log, which stay reserved when the program ends: on a small disk the next open
// would have no room for what it makes of the log.
func (f fuseFile) Preallocate(int64, int64) error { return nil }

// Sync implements vfs.File.
func (f fuseFile) Sync() error { return f.fuse.do(f.File.Sync) }

// SyncData implements vfs.File.
func (f fuseFile) SyncData() error { return f.fuse.do(f.File.SyncData) }

// SyncTo implements vfs.File.
func (f fuseFile) SyncTo(length int64) (full bool, err error) {
	err = f.fuse.do(func() (err error) {
		full, err = f.File.SyncTo(length)
		return err
	})
	return full, err
}

// toleratedFile is a log, a manifest or a folder, or any file while Pebble opens: files whose
// failure Pebble can't handle. To Pebble it always succeeds; the fuse has the real
// result.
type toleratedFile struct {
	fuseFile
	// opening is whether its errors are tolerated only while Pebble opens. A table that was begun then may
	// be written to its end later, when nobody asks the fuse before Pebble reads the table.
	opening bool
}

// seen is the error that Pebble gets for a failure.
func (f toleratedFile) seen(err error) error {
	if f.opening && f.fuse.serving.Load() {
		return err
	}
	return nil
}

// Write implements vfs.File.
func (f toleratedFile) Write(p []byte) (int, error) {
	n, err := f.fuseFile.Write(p)
	if err = f.seen(err); err != nil {
		return n, err
	}
	return len(p), nil
}

// Sync implements vfs.File.
func (f toleratedFile) Sync() error { return f.seen(f.fuseFile.Sync()) }

// SyncData implements vfs.File.
func (f toleratedFile) SyncData() error { return f.seen(f.fuseFile.SyncData()) }

// SyncTo implements vfs.File.
func (f toleratedFile) SyncTo(length int64) (bool, error) {
	full, err := f.fuseFile.SyncTo(length)
	return full, f.seen(err)
}

// Close implements vfs.File.
func (f toleratedFile) Close() error {
	err := f.File.Close()
	if err != nil {
		f.fuse.blow(err)
	}
	return f.seen(err)
}

// Stat implements vfs.File. Pebble asks it for the size of a log that it reuses.
func (f toleratedFile) Stat() (vfs.FileInfo, error) {
	info, err := f.File.Stat()
	if err != nil {
		f.fuse.blow(err)
		return vfs.NewMemFile(nil).Stat()
	}
	return info, nil
}
