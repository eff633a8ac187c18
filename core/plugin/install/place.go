package install

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/reflectory/reflectory/core/plainfile"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

// Place is a lock and the folder of its plugins.
type Place struct {
	// Label is the lock's name in listings, such as "project".
	Label string
	// Lock is the lock's file, as an absolute path. It needn't exist.
	Lock string
	// Dir is the folder of copied packages: publisher/name/version-digest.
	Dir string
	// Repair is how a plugin here is repaired. "" means: by `plugin add`.
	Repair string
	// Shipped is whether its plugins come with the program. A plugin in development takes no name of
	// theirs, unless it may.
	Shipped bool
}

// folder is the folder of a pinned plugin's files.
func (p Place) folder(l *Locked) string {
	if l.Path != "" {
		return filepath.Join(filepath.Dir(p.Lock), filepath.FromSlash(l.Path))
	}
	return filepath.Join(p.Dir, l.folderName())
}

// repaired adds to an error how a plugin is installed again, or pinned where it is.
func (p Place) repaired(e *sdk.Error, hint string, l *Locked) *sdk.Error {
	if p.Repair != "" {
		return e.WithHint("%s: %s", hint, p.Repair)
	}
	var pairs []any
	source := l.Source
	if l.Path != "" {
		source = l.Path
		pairs = append(pairs, "in_place", true)
	}
	if granted := l.Granted.List(); len(granted) > 0 {
		pairs = append(pairs, "grant", strings.Join(granted, ","))
	}
	if l.Archive != "" {
		pairs = append(pairs, "sha256", l.Archive)
	}
	switch {
	case source == "":
		pairs = append(pairs, "path", nil)
	case isAddress(source):
		pairs = append(pairs, "path", source)
	default:
		pairs = append(pairs, "path", filepath.Join(filepath.Dir(p.Lock), filepath.FromSlash(source)))
	}
	return e.WithHint("%s", hint).WithAction("plugin add", pairs...)
}

// grantFlag is the flag that grants capabilities, followed by a space, or "".
func grantFlag(c plugin.Capabilities) string {
	if names := c.List(); len(names) > 0 {
		return "--grant " + quote(strings.Join(names, ",")) + " "
	}
	return ""
}

// quote writes a word for a shell.
func quote(word string) string {
	if strings.ContainsAny(word, " \t'\"$&|;<>()*?[]`\\") {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

// update changes the lock while no other program can: f gets the file's content, and its
// result is written as a whole or not at all.
func (p Place) update(f func(*Lock) error) (err error) {
	dir := filepath.Dir(p.Lock)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return lockNotWritten(p.Lock, err)
	}
	release, err := exclusive(dir)
	if err != nil {
		return lockNotWritten(p.Lock, err)
	}
	defer release()
	l, err := ReadLock(p.Lock)
	if err != nil {
		return err
	}
	if err := f(l); err != nil {
		return err
	}
	text, err := l.encode()
	if err != nil {
		return lockNotWritten(p.Lock, err)
	}
	if err := replaceFile(p.Lock, text); err != nil {
		return lockNotWritten(p.Lock, err)
	}
	return nil
}

func lockNotWritten(file string, err error) error {
	return sdk.Errorf(sdk.Unavailable, "lock_not_written", "can't write %s: %w", file, err).
		WithHint("check that its folder can be written to")
}

// replaceFile writes a file so that a crash leaves either the old content or the new
// content.
func replaceFile(file string, text []byte) error {
	if err := plainfile.Replace(file, text); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(file))
}
