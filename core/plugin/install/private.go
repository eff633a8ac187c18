package install

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/reflectory/reflectory/sdk"
)

// privatePrefix begins the names of private folders, so that the folders of killed
// programs can be found.
const privatePrefix = "reflectory-plugins-"

// sweepAge is how old a folder must be to be swept: older than one that another
// program has just made and doesn't hold yet.
const sweepAge = time.Minute

// privateFolder holds the copies that one program executes.
type privateFolder struct {
	path    string
	release func()
}

// newPrivateFolder makes the folder and sweeps those that killed programs left.
func newPrivateFolder(tempDir string) (*privateFolder, error) {
	sweep(cmp.Or(tempDir, os.TempDir()), privatePrefix)
	path, err := os.MkdirTemp(tempDir, privatePrefix)
	if err != nil {
		return nil, copyFailed("the plugins", err)
	}
	release, err := holdPrivate(path)
	if err == nil {
		err = os.Chmod(path, privateModes().dir)
	}
	if err != nil {
		_ = os.RemoveAll(path)
		return nil, copyFailed("the plugins", err)
	}
	return &privateFolder{path, release}, nil
}

// sweep removes the folders of this user, with names that begin like this, that no program
// holds any more. Nothing depends on it.
func sweep(parent, prefix string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		dir := filepath.Join(parent, e.Name())
		info, err := os.Lstat(dir)
		if err == nil && info.IsDir() && ours(info) && info.ModTime().Before(time.Now().Add(-sweepAge)) && abandoned(dir) {
			_ = os.RemoveAll(dir)
		}
	}
}

func (f *privateFolder) close() error {
	err := os.RemoveAll(f.path)
	f.release()
	if err != nil {
		return sdk.Errorf(sdk.Unavailable, "private_copy_left", "can't remove the plugins' private folder: %w", err).
			WithHint("remove it by hand")
	}
	return nil
}

// privateCopy is the copy of a plugin that is executed. It was hashed while it was
// written, and is what the lock pins.
type privateCopy struct {
	folder string
	files  digests
}

// privateFolder returns the private folder, made on first use.
func (s *Set) privateFolder() (*privateFolder, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.private == nil {
		var err error
		if s.private, err = newPrivateFolder(s.options.TempDir); err != nil {
			return nil, err
		}
	}
	return s.private, nil
}

// use makes the plugin's private copy, once.
func (s *Set) use(ctx context.Context, p *Plugin) (*privateCopy, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.copy != nil || p.Problem != nil {
		return p.copy, p.Problem
	}
	private, err := s.privateFolder()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(private.path, strings.ReplaceAll(p.Name, "/", "_"))
	files, err := p.copyTo(ctx, dir)
	if err != nil {
		_ = os.RemoveAll(dir) // otherwise it is removed with the private folder
		return nil, err
	}
	p.copy = &privateCopy{dir, files}
	if p.Dev() && s.options.Warn != nil {
		s.options.Warn(p)
	}
	return p.copy, nil
}

// copyTo copies the plugin's files into a new folder, except the programs of
// other platforms. It fails at the first file that isn't what the lock pins.
func (p *Plugin) copyTo(ctx context.Context, dir string) (digests, error) {
	f, err := openFolder(p.Folder)
	if err != nil {
		return nil, p.gone(err)
	}
	defer f.close()
	names, err := f.names()
	if err != nil {
		return nil, err
	}
	if !p.Dev() {
		if found := p.compareNames(names); len(found) > 0 {
			return nil, p.Changed(found)
		}
	}
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, privateModes().dir)); err != nil {
		return nil, copyFailed(p.Folder, err)
	}
	to, err := os.OpenRoot(dir)
	if err != nil {
		return nil, copyFailed(p.Folder, err)
	}
	defer func() { _ = to.Close() }() // it holds no data
	names = slices.DeleteFunc(names, p.Package.elsewhere)
	return f.each(ctx, names, func(name string) (string, int64, error) {
		got, size, err := f.copyFile(name, to, privateModes())
		if want := p.want(name); err == nil && want != "" && got != want {
			err = p.Changed([]Difference{{File: name, Path: p.path(name), Want: want, Got: got}})
		}
		return got, size, err
	})
}

// want is the digest that a file must have; "" in development.
func (p *Plugin) want(name string) string {
	if p.Dev() {
		return ""
	}
	return p.Locked.Files[name]
}

// Close removes the private copies. Nothing may run from them any more.
func (s *Set) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.private == nil {
		return nil
	}
	err := s.private.close()
	s.private = nil
	return err
}
