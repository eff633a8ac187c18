package install

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/plainfile"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

// LockFile is the name of a lock.
const LockFile = "reflectory.lock"

// lockFormat is the version of the lock's format that this package writes.
const lockFormat = 1

// Bounds of a lock.
const (
	maxLockBytes = 32 << 20
	maxLocked    = 1000
)

// Lock pins plugins. Its file is JSON with a fixed order of keys and sorted
// names, so that the same content has the same bytes.
type Lock struct {
	// Format is the version of the file's format: 1.
	Format int `json:"format"`
	// Plugins are sorted by name, which is unique.
	Plugins []Locked `json:"plugins"`
}

// Locked is one pinned plugin.
type Locked struct {
	// Name is publisher/name, or publisher/name@version of one that is pinned next to other versions.
	Name    string `json:"name"`
	Version string `json:"version"`
	// Path is the package's folder if it is used in place: relative to the
	// lock's folder, with / between folders. "" is a copy in the plugin folder.
	Path string `json:"path,omitempty"`
	// Source is where it is from: a folder or an archive, if that lies below the lock's folder; or
	// the address that an archive was downloaded from. An address of a registry has the digest.
	Source string `json:"source,omitempty"`
	// Archive is the SHA-256 of the archive that was downloaded by https, in hexadecimal.
	Archive string `json:"archive,omitempty"`
	// Granted are the capabilities that the operator granted.
	Granted plugin.Capabilities `json:"granted"`
	Signed
	// Files are the SHA-256 of every file, for all platforms, in hexadecimal.
	Files map[string]string `json:"files"`
}

// ReadLock reads a lock. One that doesn't exist pins nothing. The error is
// sdk.Invalid, reason "lock_invalid", or sdk.Incompatible, "lock_format", or one of
// [plainfile.Read].
func ReadLock(file string) (*Lock, error) {
	text, err := plainfile.Read(file, maxLockBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return &Lock{Format: lockFormat}, nil
	}
	if err != nil {
		return nil, err
	}
	return parseLock(file, text)
}

func parseLock(file string, text []byte) (*Lock, error) {
	l := &Lock{}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(l); err != nil {
		return nil, lockInvalid(file, "%v", err)
	}
	if l.Format != lockFormat {
		return nil, sdk.Errorf(sdk.Incompatible, "lock_format", "%s has format %d; this program knows %d", file, l.Format, lockFormat).
			WithHint("use the program that wrote it")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, lockInvalid(file, "something follows its value")
	}
	if len(l.Plugins) > maxLocked {
		return nil, lockInvalid(file, "it pins more than %d plugins", maxLocked)
	}
	for i := range l.Plugins {
		if err := l.Plugins[i].check(); err != nil {
			return nil, lockInvalid(file, "%v", err)
		}
		if i > 0 && l.Plugins[i-1].Name >= l.Plugins[i].Name {
			return nil, lockInvalid(file, "its plugins aren't sorted by name, each once: %q stands after %q", l.Plugins[i].Name, l.Plugins[i-1].Name)
		}
	}
	return l, nil
}

func lockInvalid(file, format string, args ...any) error {
	return sdk.Errorf(sdk.Invalid, "lock_invalid", "%s: "+format, append([]any{file}, args...)...).
		WithHint("take an earlier version of the file, or remove it and add the plugins again").
		WithAction("plugin add", "path", nil)
}

// check reports what no lock that was written by this package would hold.
func (p *Locked) check() error {
	switch {
	case !nameForm().MatchString(BareName(p.Name)), p.Name != BareName(p.Name) && p.Name != BareName(p.Name)+"@"+p.Version:
		return fmt.Errorf("%q is no plugin's name", core.Cut(p.Name))
	case !versionForm().MatchString(p.Version) || len(p.Version) > 64:
		return fmt.Errorf("%s: %q is no version", p.Name, core.Cut(p.Version))
	case p.Path != "" && !isFileName(p.Path):
		return fmt.Errorf("%s: its path %q doesn't stay below the lock's folder", p.Name, core.Cut(p.Path))
	case p.Source != "" && p.Source != "." && !isFileName(p.Source) && !isAddress(p.Source):
		return fmt.Errorf("%s: its source %q neither stays below the lock's folder nor is the address of an archive", p.Name, core.Cut(p.Source))
	case p.Archive != "" && !isDigest(p.Archive):
		return fmt.Errorf("%s: %q is no SHA-256 of an archive", p.Name, core.Cut(p.Archive))
	case len(p.Files) > maxFiles:
		return fmt.Errorf("%s: it has more than %d files", p.Name, maxFiles)
	case p.Files[PackageFile] == "":
		return fmt.Errorf("%s: it pins no %s", p.Name, PackageFile)
	}
	for name, sum := range p.Files {
		if !isFileName(name) || !isDigest(sum) {
			return fmt.Errorf("%s: %q: %q is no SHA-256 of a file of a package", p.Name, core.Cut(name), core.Cut(sum))
		}
	}
	if err := checkCapabilities(p.Granted); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	return nil
}

// BareName is the name of a plugin as its package has it: without the version of one that is pinned
// next to other versions.
func BareName(name string) string {
	bare, _, _ := strings.Cut(name, "@")
	return bare
}

// isDigest reports whether a text is a SHA-256 in lower-case hexadecimal.
func isDigest(text string) bool {
	raw, err := hex.DecodeString(text)
	return err == nil && len(raw) == sha256.Size && strings.ToLower(text) == text
}

// find returns the pinned plugin of a name, or nil.
func (l *Lock) find(name string) *Locked {
	for i := range l.Plugins {
		if l.Plugins[i].Name == name {
			return &l.Plugins[i]
		}
	}
	return nil
}

// put pins a plugin, and replaces one of the same name.
func (l *Lock) put(p Locked) {
	l.remove(p.Name)
	l.Plugins = append(l.Plugins, p)
	slices.SortFunc(l.Plugins, func(a, b Locked) int { return strings.Compare(a.Name, b.Name) })
}

func (l *Lock) remove(name string) {
	l.Plugins = slices.DeleteFunc(l.Plugins, func(p Locked) bool { return p.Name == name })
}

// encode returns the lock's bytes: the same for the same content.
func (l *Lock) encode() ([]byte, error) {
	if l.Plugins == nil {
		l.Plugins = []Locked{}
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out) // sorts the files
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(l)
	return out.Bytes(), err
}

// folderName is the name of a copy's folder in the plugin folder.
func (p *Locked) folderName() string {
	publisher, name, _ := strings.Cut(BareName(p.Name), "/")
	return filepath.Join(publisher, name, p.Version+"-"+contents(p.Files)[:12])
}

// sortedFiles are the names of the pinned files.
func (p *Locked) sortedFiles() []string { return slices.Sorted(maps.Keys(p.Files)) }
