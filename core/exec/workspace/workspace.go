package workspace

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/reflectory/reflectory/core/plainfile"
	"github.com/reflectory/reflectory/sdk"
)

// Limits of a copy and of what is read from it.
const (
	// MaxBytes and MaxFiles are the default limits of a copy. The contract of type: command
	// names them.
	MaxBytes = 1 << 30
	MaxFiles = 100_000
	// MaxReport is how long a report may be: as long as an output of a plugin.
	MaxReport = 8 << 20
)

// Options say where a workspace is made and of which folders.
type Options struct {
	// Dir is the workspace: an empty folder that only the host may enter until then. The caller
	// made it and removes it after the run.
	Dir string
	// Folder is the workflow's folder, which a relative From is relative to; "" if there is none.
	Folder string
	// Granted are the other folders that an original may be in, as absolute paths.
	Granted []string
	// Owner owns the copies; nil means the host's own user.
	Owner *Owner
	// Bytes and Files limit the copy; 0 means [MaxBytes] and [MaxFiles].
	Bytes int64
	Files int
}

// Owner is a user and a group of the machine.
type Owner struct{ UID, GID int }

// Workspace is a folder with an attempt in it. The folder stays open until [Workspace.Close]: a program
// may rename what leads to it. It isn't safe for concurrent use.
type Workspace struct {
	// Original is a SHA-256 over the names, modes, sizes and times of the original's files. It is
	// the same as long as nobody changes the original.
	Original string

	root   *os.Root
	report string
}

// Make copies the original into Dir and writes the attempt. report is the file that the
// program will write, "" for none: it's removed from the copy, and no attempt may write it. An
// attempt that may not be written is returned as the list of what is wrong with it; then Dir has
// only the original. Wrong settings are sdk.Invalid, an original that isn't granted is sdk.Denied.
func Make(ctx context.Context, o Options, w *sdk.ExecWorkspace, report string) (*Workspace, []sdk.ExecRefusal, error) {
	rules, err := newRules(w, report)
	if err != nil {
		return nil, nil, err
	}
	to, err := os.OpenRoot(o.Dir)
	if err != nil {
		return nil, nil, unavailable(err)
	}
	made := &Workspace{root: to, report: rules.report}
	refused, err := made.fill(ctx, &o, w, rules)
	if err != nil {
		made.Close()
		return nil, nil, err
	}
	return made, refused, nil
}

// Close gives the open folder back; what is in it stays.
func (w *Workspace) Close() { _ = w.root.Close() } // every file in it was closed

// fill copies the original and writes the attempt.
func (w *Workspace) fill(ctx context.Context, o *Options, s *sdk.ExecWorkspace, rules *rules) ([]sdk.ExecRefusal, error) {
	if s.From != "" {
		from, err := o.open(s.From)
		if err != nil {
			return nil, err
		}
		defer func() { _ = from.Close() }() // only reads
		if w.Original, err = o.copy(ctx, from, w.root); err != nil {
			return nil, err
		}
	}
	if err := w.emptyReport(); err != nil {
		return nil, err
	}
	return put(w.root, s, rules, o.Owner)
}

// Copy copies a folder of the host, such as a cache, into an empty one, within the limits of
// Options. Links that lead out of it are refused.
func Copy(ctx context.Context, o Options, from string) error {
	source, err := os.OpenRoot(from)
	if err != nil {
		return unavailable(err)
	}
	defer func() { _ = source.Close() }() // only reads
	to, err := os.OpenRoot(o.Dir)
	if err != nil {
		return unavailable(err)
	}
	defer func() { _ = to.Close() }() // every file in it was closed
	_, err = o.copy(ctx, source, to)
	return err
}

// open opens an original. Links in the path are followed only within the folder that it is in.
func (o *Options) open(from string) (*os.Root, error) {
	root, name := o.Folder, from
	if filepath.IsAbs(from) {
		root, name = o.granting(filepath.Clean(from))
	}
	if root == "" || !filepath.IsLocal(name) {
		return nil, notGranted(from, root != "")
	}
	folder, err := os.OpenRoot(root)
	if err != nil {
		return nil, unavailable(err)
	}
	defer func() { _ = folder.Close() }() // only reads
	original, err := folder.OpenRoot(filepath.Clean(name))
	switch {
	case err == nil:
		return original, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, sdk.Errorf(sdk.Invalid, "workspace_not_found", "workspace.from: there is no folder %s in %s", name, root).
			WithHint("give a folder, relative to the workflow's folder")
	case isFile(folder, name):
		return nil, sdk.Errorf(sdk.Invalid, "workspace_not_found", "workspace.from: %s is a file, not a folder", from).
			WithHint("give the folder that it is in")
	}
	return nil, notGranted(from, true)
}

func isFile(folder *os.Root, name string) bool {
	info, err := folder.Stat(name)
	return err == nil && !info.IsDir()
}

// granting is the folder that grants an absolute path, and the path within it. Of several the
// innermost grants it.
func (o *Options) granting(from string) (root, name string) {
	for _, folder := range append([]string{o.Folder}, o.Granted...) {
		if folder == "" || len(folder) < len(root) {
			continue
		}
		if inside, err := filepath.Rel(folder, from); err == nil && filepath.IsLocal(inside) {
			root, name = folder, inside
		}
	}
	return root, name
}

func notGranted(from string, hasFolder bool) error {
	err := sdk.Errorf(sdk.Denied, "folder_not_granted", "workspace.from: %s is not within the workflow's folder or a granted one", from).
		WithDetail("folder", from)
	if !hasFolder && !filepath.IsAbs(from) {
		return err.WithHint("this workflow has no folder; give an absolute path that the operator grants")
	}
	return err.WithHint("move it there, or have the operator grant the folder")
}

func unavailable(err error) error {
	return sdk.Errorf(sdk.Unavailable, "workspace_unavailable", "the workspace can't be made: %w", err)
}

// emptyReport removes the report that the original has, so that what is read was written by the
// program.
func (w *Workspace) emptyReport() error {
	if w.report == "" {
		return nil
	}
	if info, err := w.root.Lstat(w.report); err == nil && info.IsDir() {
		return sdk.Errorf(sdk.Invalid, "report_path", "the report %s is a folder of the original", w.report).
			WithHint("name the file that the program writes")
	}
	if err := w.root.Remove(w.report); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unavailable(err)
	}
	return nil
}

// Report returns what the program wrote to the report's path, "" if it wrote nothing. A
// link, or a file with a second name, isn't followed: its content may have come from anywhere.
func (w *Workspace) Report() (string, error) {
	if w.report == "" {
		return "", nil
	}
	for name := w.report; name != "."; name = path.Dir(name) {
		info, err := w.root.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		if err != nil {
			return "", unreadableReport(w.report, err.Error())
		}
		if problem := unsafe(info, name == w.report); problem != "" {
			return "", unreadableReport(w.report, problem)
		}
	}
	data, err := plainfile.ReadIn(w.root, w.report, MaxReport)
	return string(data), err
}

// unsafe is why a file of the workspace isn't read or written, and "" if it may be. The last of
// a path is a plain file, the others are folders.
func unsafe(info fs.FileInfo, last bool) string {
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		return "is a link"
	case !last && !mode.IsDir():
		return "is not a folder"
	case last && mode.IsDir():
		return "is a folder"
	case last && !mode.IsRegular():
		return "is not a plain file"
	case last && links(info) > 1:
		return "has a second name (a hard link)"
	}
	return ""
}

func unreadableReport(name, why string) error {
	return sdk.Errorf(sdk.Invalid, "report_unreadable", "the report %s can't be read: %s", name, strings.TrimPrefix(why, name+" "))
}

func (o *Options) limits() (bytes int64, files int) {
	return cmp.Or(o.Bytes, MaxBytes), cmp.Or(o.Files, MaxFiles)
}
