package connect

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/plainfile"
	"github.com/reflectory/reflectory/sdk"
)

// maxSettings bounds a settings file: Claude Code's has histories of projects, and is some MiB.
const maxSettings = 64 << 20

// bom is the byte order mark that some editors put at the start of a file.
var bom = []byte("\ufeff")

// settings is a file that is to be changed.
type settings struct {
	raw  []byte
	body []byte // without a byte order mark
	mode fs.FileMode
}

// readSettings reads a file; nil if there is none.
func readSettings(path string) (*settings, error) {
	raw, err := plainfile.Read(path, maxSettings)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // a missing file is no error
	}
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	return &settings{raw, bytes.TrimPrefix(raw, bom), info.Mode().Perm()}, nil
}

// Change is what connecting, or undoing that, does to one file.
type Change struct {
	// Path is the file's place, behind all links.
	Path string
	// Before and After are its bytes; nil is no file.
	Before, After []byte

	mode  fs.FileMode
	edits []Edit
	copy  string   // of the bytes from before
	made  []string // folders that are removed with it
}

// Diff shows a change.
func (c *Change) Diff() string { return string(diff.Diff(c.Path, c.Before, c.Path, c.After)) }

// Plan is what connecting a client changes; nothing if it is connected as asked. It writes nothing. A file
// that can't be parsed or changed is an error which names it, and then nothing is planned.
func (o *Options) Plan() (changes []Change, err error) {
	targets, err := o.targets()
	if err != nil {
		return nil, err
	}
	var errs []error
	for i := range targets {
		c, err := targets[i].plan()
		if err != nil {
			errs = append(errs, sdk.Wrap(targets[i].path, err))
		} else if c != nil {
			changes = append(changes, *c)
		}
	}
	if err := core.JoinErrors(errs...); err != nil {
		return nil, sdk.Wrap("nothing was changed", err)
	}
	return changes, nil
}

// plan is the change of a file; nil if there is none.
func (t *target) plan() (*Change, error) {
	c := &Change{Path: Resolved(t.path), mode: 0o600}
	found, err := readSettings(c.Path)
	if err != nil {
		return nil, err
	}
	var body, mark []byte
	if found != nil {
		c.Before, c.mode, body = found.raw, found.mode, found.body
		mark = found.raw[:len(found.raw)-len(found.body)]
		if found.mode&0o200 == 0 {
			return nil, sdk.Errorf(sdk.Denied, "settings_read_only", "it is read-only").WithHint("make it writable, or change it by hand")
		}
	}
	switch {
	case t.whole != nil:
		c.After = t.whole
	case t.toml:
		c.After, c.edits, err = editTOML(body, t.edits)
	default:
		c.After, c.edits, err = editJSON(body, t.edits)
	}
	if err != nil {
		return nil, err
	}
	c.After = slices.Concat(mark, c.After)
	if found != nil && bytes.Equal(c.Before, c.After) {
		return nil, nil //nolint:nilnil // there is nothing to change
	}
	return c, nil
}

// Apply makes the changes of a plan, and keeps a copy of each file and the connection in the data folder.
// If one can't be made, those before it are taken back.
func (o *Options) Apply(dataDir string, changes []Change, tokenID string, now time.Time) (*Connection, error) {
	list, err := Connections(dataDir)
	if err != nil {
		return nil, err
	}
	made := Connection{Client: o.Client, Scope: o.Scope, At: now.UTC(), Token: tokenID}
	if o.Scope == Project {
		made.Folder = o.Folder
	}
	if find(list, made.Client, made.Scope, made.Folder) >= 0 {
		return nil, sdk.Errorf(sdk.Conflict, "already_connected", "%s is connected already", o.Client).WithHint("undo that first")
	}
	for i := range changes {
		w, err := changes[i].keep(dataDir, o.Token, now)
		if err == nil {
			err = changes[i].write(w)
		}
		if err != nil {
			_, undone := made.undo(dataDir)
			return nil, core.JoinErrors(sdk.Wrap(changes[i].Path, err), undone)
		}
		made.Files = append(made.Files, *w)
	}
	if err := save(dataDir, append(list, made)); err != nil {
		_, undone := made.undo(dataDir)
		return nil, core.JoinErrors(err, undone)
	}
	return &made, nil
}

// keep keeps a copy of a file before it is changed.
func (c *Change) keep(dataDir, token string, now time.Time) (*Written, error) {
	w := &Written{Path: c.Path, Digest: core.Digest(c.After)}
	for _, e := range c.edits {
		w.Edits = append(w.Edits, e.withoutToken(token))
	}
	if c.Before == nil {
		return w, nil
	}
	folder := filepath.Join(dataDir, folderName)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	w.Copy = fmt.Sprintf("%s-%s-%s", now.UTC().Format("20060102-150405"), digest(c.Path)[:8], filepath.Base(c.Path))
	return w, writeFile(filepath.Join(folder, w.Copy), c.Before, 0o600)
}

// write writes a file, with the folders that it needs, unless it has been changed since it was read.
func (c *Change) write(w *Written) error {
	now, err := readSettings(c.Path)
	if err != nil {
		return err
	}
	if (now == nil) != (c.Before == nil) || now != nil && !bytes.Equal(now.raw, c.Before) {
		return sdk.Errorf(sdk.Conflict, "settings_changed", "it was changed meanwhile").WithHint("do it again")
	}
	for folder := filepath.Dir(c.Path); ; folder = filepath.Dir(folder) {
		if _, err := os.Stat(folder); err == nil || folder == filepath.Dir(folder) {
			break
		}
		w.Folders = append(w.Folders, folder)
	}
	if err := os.MkdirAll(filepath.Dir(c.Path), 0o700); err != nil {
		return err
	}
	return writeFile(c.Path, c.After, c.mode)
}

// PlanUndo is what undoing a connection changes, and the problems of files that it leaves alone.
func (c *Connection) PlanUndo(dataDir string) (changes []Change, left []error) {
	for _, w := range slices.Backward(c.Files) {
		change, err := w.undo(dataDir)
		if err != nil {
			left = append(left, sdk.Wrap(w.Path, err))
		} else if change != nil {
			changes = append(changes, *change)
		}
	}
	return changes, left
}

// undo is the change that gives a file its bytes back or, if it has been changed since, takes out what was
// added; nil if there is nothing to change.
func (w *Written) undo(dataDir string) (*Change, error) {
	c := &Change{Path: w.Path, made: w.Folders, mode: 0o600}
	found, err := readSettings(w.Path)
	if err != nil || found == nil {
		return nil, err // nobody has it any more
	}
	c.Before, c.mode = found.raw, found.mode
	if core.Digest(found.raw) == w.Digest {
		if w.Copy != "" {
			c.copy = filepath.Join(dataDir, folderName, w.Copy)
			c.After, err = plainfile.Read(c.copy, maxSettings)
		}
		return c, err
	}
	if len(w.Edits) == 0 {
		return nil, sdk.Errorf(sdk.Conflict, "settings_changed", "it was changed since, and has nothing else").WithHint("remove it by hand")
	}
	mark := found.raw[:len(found.raw)-len(found.body)]
	var body []byte
	if w.Edits[0].Text == "" {
		body, err = undoJSON(found.body, w.Edits)
	} else {
		body, err = undoTOML(found.body, w.Edits)
	}
	if err != nil {
		return nil, err
	}
	if c.After = slices.Concat(mark, body); bytes.Equal(c.After, c.Before) {
		return nil, nil //nolint:nilnil // somebody has undone it
	}
	return c, nil
}

// Undo undoes a connection, as planned, and forgets it.
func (c *Connection) Undo(dataDir string) (left []error, err error) {
	if left, err = c.undo(dataDir); err != nil {
		return left, err
	}
	list, err := Connections(dataDir)
	if at := find(list, c.Client, c.Scope, c.Folder); err == nil && at >= 0 {
		err = save(dataDir, slices.Delete(list, at, at+1))
	}
	for _, w := range c.Files {
		if w.Copy != "" && err == nil && len(left) == 0 {
			_ = os.Remove(filepath.Join(dataDir, folderName, w.Copy)) // it has been given back
		}
	}
	return left, err
}

func (c *Connection) undo(dataDir string) ([]error, error) {
	changes, left := c.PlanUndo(dataDir)
	var errs []error
	for i := range changes {
		errs = append(errs, sdk.Wrap(changes[i].Path, changes[i].undo()))
	}
	return left, core.JoinErrors(errs...)
}

// undo makes the change of an undoing.
func (c *Change) undo() error {
	if c.After != nil {
		return writeFile(c.Path, c.After, c.mode)
	}
	err := os.Remove(c.Path)
	for _, folder := range c.made {
		if os.Remove(folder) != nil { // something else is in it by now
			break
		}
	}
	return err
}
