package plugin

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// Shown is how a message names a path: a path in the private copy that is run becomes the
// path in the folder that the plugin's owner knows.
func (p *Installed) Shown(path string) string {
	if p.Source == "" || p.Dir == "" {
		return path
	}
	rel, err := filepath.Rel(p.Dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return path
	}
	return filepath.Join(p.Source, rel)
}

// ShownError is an error about a file, which it names as [Installed.Shown] does.
func (p *Installed) ShownError(err error) error {
	file, ok := errors.AsType[*fs.PathError](err)
	if !ok {
		return err
	}
	return &fs.PathError{Op: file.Op, Path: p.Shown(file.Path), Err: file.Err}
}
