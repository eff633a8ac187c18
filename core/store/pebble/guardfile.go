package pebble

import "github.com/cockroachdb/pebble/v2/vfs"

// guardFile is a file under the guard. A forgiving one hides failures from
// Pebble; the guard knows them.
type guardFile struct {
	vfs.File
	guard     *guard
	forgiving bool
}

func (f *guardFile) mutate(change func() error) error {
	err := f.guard.mutate(change)
	if f.forgiving {
		return nil
	}
	return err
}

// Write implements [vfs.File].
func (f *guardFile) Write(p []byte) (n int, err error) {
	err = f.mutate(func() (err error) {
		n, err = f.File.Write(p)
		return err
	})
	if err == nil {
		n = len(p)
	}
	return n, err
}

// WriteAt implements [vfs.File].
func (f *guardFile) WriteAt(p []byte, offset int64) (n int, err error) {
	err = f.mutate(func() (err error) {
		n, err = f.File.WriteAt(p, offset)
		return err
	})
	if err == nil {
		n = len(p)
	}
	return n, err
}

// Sync implements [vfs.File].
func (f *guardFile) Sync() error { return f.mutate(f.File.Sync) }

// SyncData implements [vfs.File].
func (f *guardFile) SyncData() error { return f.mutate(f.File.SyncData) }

// SyncTo implements [vfs.File].
func (f *guardFile) SyncTo(length int64) (full bool, err error) {
	err = f.mutate(func() (err error) {
		full, err = f.File.SyncTo(length)
		return err
	})
	return full, err
}

// Preallocate implements [vfs.File]. It only speeds up the writes that follow,
// which fail by themselves if there is no room.
func (f *guardFile) Preallocate(offset, length int64) error {
	if !f.guard.frozen() {
		_ = f.File.Preallocate(offset, length)
	}
	return nil
}

// Stat implements [vfs.File].
func (f *guardFile) Stat() (vfs.FileInfo, error) {
	info, err := f.File.Stat()
	if err != nil && f.forgiving {
		f.guard.fail(err)
		return vfs.NewMemFile(nil).Stat()
	}
	return info, err
}

// Close implements [vfs.File]. The file is closed in any state.
func (f *guardFile) Close() error {
	err := f.File.Close()
	if err != nil {
		f.guard.fail(err)
	}
	if f.forgiving {
		return nil
	}
	return err
}
