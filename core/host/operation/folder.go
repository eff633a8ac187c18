package operation

import (
	"context"
	"os"
	"path/filepath"

	"github.com/reflectory/reflectory/sdk"
)

// A caller over the network that chose any folder of the host's machine could fill its disks,
// and write files where another program trusts them. So it chooses a folder below one that the
// operator set, and without that setting none. A command of the operator on the same machine may
// write wherever the server may.

// inAllTo is the place of a request about the whole store that names a folder, "" for none. It
// makes the folder's path absolute.
func inAllTo[In any](folder func(*In) *string) func(context.Context, *Call, *In) (place, error) {
	return func(ctx context.Context, c *Call, in *In) (place, error) {
		at, err := inAll(ctx, c, in)
		to := folder(in)
		if err != nil || c.Local || *to == "" || !c.reaches("**") { // else the access check refuses it
			return at, err
		}
		path, ok := underRoot(c.Host.Config.Settings.BackupDir.Value, *to)
		if !ok {
			return at, sdk.Errorf(sdk.Denied, "folder_denied", "over the network, files are only written below the folder that the operator set for it").
				WithHint("name a folder below backup_dir of the server's reflectory.yaml (REFLECTORY_BACKUP_DIR), or set another there, and restart the server").WithDetail("field", "folder")
		}
		*to = path
		return at, nil
	}
}

// underRoot is a path, from a root if it isn't absolute, and whether it is really below the root,
// also when links are followed. The root itself isn't.
func underRoot(root, path string) (string, bool) {
	if root == "" {
		return "", false
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(root, path)
	}
	path = filepath.Clean(path)
	real, err := filepath.EvalSymlinks(root)
	if err != nil || !inside(root, path) {
		return "", false
	}
	for there := path; ; there = filepath.Dir(there) { // the part that exists
		if _, err := os.Lstat(there); err != nil {
			if there == filepath.Dir(there) {
				return "", false
			}
			continue
		}
		followed, err := filepath.EvalSymlinks(there)
		return path, err == nil && (followed == real && there != path || inside(real, followed))
	}
}

// inside reports whether a path is below a root, and not the root.
func inside(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != "." && filepath.IsLocal(rel)
}
