package plainfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace writes a file, with the mode that it has or else 0644, so that after a crash it has
// either the old content or the new one. The folder isn't synced.
func Replace(file string, text []byte) (err error) {
	temp, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temp.Name())
		}
	}()
	mode := fs.FileMode(0o644)
	if info, statErr := os.Stat(file); statErr == nil {
		mode = info.Mode().Perm()
	}
	_, err = temp.Write(text)
	err = errors.Join(err, temp.Chmod(mode), temp.Sync(), temp.Close())
	if err != nil {
		return err
	}
	return os.Rename(temp.Name(), file)
}
