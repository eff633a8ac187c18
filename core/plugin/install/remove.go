package install

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/reflectory/reflectory/sdk"
)

// Remove takes a plugin out of a lock. With purge, it also deletes the plugin's copy,
// even if other locks pin it. An unknown name is sdk.NotFound, "plugin_not_found".
func Remove(place Place, name string, purge bool) error {
	var folder string
	err := place.update(func(lock *Lock) error {
		l := lock.find(name)
		if l == nil {
			return notPinned(place, name)
		}
		folder = place.copyOf(l)
		lock.remove(name)
		if place.names(lock, folder) {
			folder = ""
		}
		return nil
	})
	if err != nil || !purge {
		return err
	}
	return deleteCopy(folder)
}

// names reports whether a lock pins the copy in a folder.
func (p Place) names(lock *Lock, folder string) bool {
	return slices.ContainsFunc(lock.Plugins, func(l Locked) bool { return p.copyOf(&l) == folder })
}

// copyOf returns the folder of a pinned plugin's copy; "" if it has none.
func (p Place) copyOf(l *Locked) string {
	if l == nil || l.Path != "" {
		return ""
	}
	return p.folder(l)
}

// deleteCopy deletes the copy in a folder, if there is one. Running instances aren't
// affected: they run a private copy of it.
func deleteCopy(folder string) error {
	if folder == "" {
		return nil
	}
	if err := os.RemoveAll(folder); err != nil {
		return sdk.Errorf(sdk.Unavailable, "package_not_removed", "can't delete %s: %w", folder, err).
			WithHint("the lock is written all the same; delete the folder yourself")
	}
	_ = os.Remove(filepath.Dir(folder)) // if it was the only version
	return nil
}

func notPinned(place Place, name string) error {
	return sdk.Errorf(sdk.NotFound, "plugin_not_found", "%s pins no plugin %q", place.Lock, name).
		WithHint("see what is installed").WithAction("plugin list")
}
