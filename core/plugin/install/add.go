package install

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/plainfile"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

// installedModes are the permissions of installed copies.
func installedModes() modes { return modes{dir: 0o755, file: 0o555} }

// ShippedPublisher begins the names of the plugins that come with the program.
const ShippedPublisher = "reflectory/"

// AddOptions determine how a package is added.
type AddOptions struct {
	// Place is the lock that pins it, and the folder that it is copied to.
	Place Place
	// InPlace uses the package's folder without a copy. It must be below the lock's folder.
	InPlace bool
	// SHA256 is the digest that an archive must have, in hexadecimal. It is required for one that
	// is downloaded by https, and a folder has none.
	SHA256 string
	// Transport is how archives are downloaded. Default [http.DefaultTransport].
	Transport http.RoundTripper
	// SideBySide pins it as name@version, next to other versions of its name, which stay as they are.
	SideBySide bool
	// Purge deletes the copy that was pinned before, which other locks may pin.
	Purge bool
	// Trust names the publishers whose packages must be signed. Nil is none.
	Trust *Trust
	// Approve is asked before anything is pinned; what it was shown is what gets
	// pinned. An error of it ends the addition.
	Approve func(Request) error
	// Check is asked last, about the package in the folder where it was hashed: it
	// refuses what can't be run here. An error of it ends the addition.
	Check func(context.Context, *Plugin) error
}

// Request is what an operator approves: a package, with all that it asks for.
type Request struct {
	Package *Package
	// Before is what the lock pins under the name so far; nil is nothing.
	Before *Locked
	Signed
	// Files are the SHA-256 of its files.
	Files map[string]string
}

// Unchecked reports whether it has a signature that shows nothing about who made the package, since
// the trust file names no key of its publisher.
func (r Request) Unchecked() bool {
	_, signed := r.Files[SignatureFile]
	return signed && r.Signer == ""
}

// New lists the capabilities that it asks for and hadn't been granted before.
func (r Request) New() []string {
	if r.Before == nil {
		return r.Package.Capabilities.List()
	}
	return r.Package.Capabilities.Beyond(r.Before.Granted)
}

// Replaced describes in words how it differs from what it replaces, the most important difference
// first: a downgrade, another version, other files under the same version, capabilities that it no
// longer asks for. It is empty if nothing is replaced or nothing differs.
func (r Request) Replaced() []string {
	if r.Before == nil {
		return nil
	}
	var words []string
	before, after := r.Before.Version, r.Package.Version
	switch order := semver.Compare("v"+after, "v"+before); {
	case order < 0:
		words = append(words, before+", so it is a downgrade")
	case before != after:
		words = append(words, "version "+before)
	case contents(r.Before.Files) != contents(r.Files):
		words = append(words, "other files of the same version")
	}
	if dropped := r.Before.Granted.Beyond(r.Package.Capabilities); len(dropped) > 0 {
		words = append(words, "what was granted "+strings.Join(dropped, ", "))
	}
	return words
}

// Add copies the package at a source to its place, and pins it there with the capabilities that it
// asks for, in place of what was pinned under its name. The source is a folder, an archive
// FILE.tar.gz, https://HOST/FILE.tar.gz (or http:// on this machine), or oci://REGISTRY/NAME:VERSION.
func Add(ctx context.Context, source string, o AddOptions) (*Plugin, error) {
	l := &Locked{}
	folder, release, err := o.obtain(ctx, source, l)
	if err != nil {
		return nil, err
	}
	defer release()
	pkg, err := o.examine(ctx, folder, l)
	if err != nil {
		return nil, err
	}
	p := &Plugin{Name: l.Name, Version: l.Version, Place: o.Place, Folder: folder, Package: pkg, Locked: l}
	if err := o.approve(ctx, p); err != nil {
		return nil, err
	}
	p.Folder = o.Place.folder(l)
	if !o.InPlace {
		if err := moveIntoPlace(folder, p.Folder); err != nil {
			return nil, err
		}
	}
	return p, o.pin(l)
}

// obtain returns the folder with the package of a source, which is a staged copy unless it is used
// in place, and notes where it is from. release removes the copy, unless it was moved.
func (o AddOptions) obtain(ctx context.Context, source string, l *Locked) (folder string, release func(), err error) {
	if o.SHA256 = strings.TrimPrefix(o.SHA256, "sha256:"); o.SHA256 != "" && !isDigest(o.SHA256) {
		return "", nil, sdk.Errorf(sdk.Invalid, "sha256_invalid", "%s is no SHA-256: 64 digits of 0-9 and a-f", shown(o.SHA256))
	}
	if !isFolder(source) {
		return o.obtainArchive(ctx, source, l)
	}
	if o.SHA256 != "" {
		return "", nil, sdk.Errorf(sdk.Invalid, "sha256_needless", "%s is a folder, and only an archive has a digest", source).
			WithHint("leave out --sha256: the lock has the digest of each file")
	}
	if source, err = filepath.Abs(source); err != nil {
		return "", nil, sdk.Wrap("add "+source, err)
	}
	if _, err := ReadPackage(source); err != nil { // before all of its files are read
		return "", nil, err
	}
	if l.Path, l.Source, err = o.relative(source); err != nil {
		return "", nil, err
	}
	if o.InPlace {
		return source, func() {}, nil
	}
	return stage(source, o.Place.Dir, func(to *os.Root) error { return copyStaged(ctx, source, to) })
}

// obtainArchive unpacks an archive.
func (o AddOptions) obtainArchive(ctx context.Context, source string, l *Locked) (folder string, release func(), err error) {
	if o.InPlace {
		return "", nil, sdk.Errorf(sdk.Invalid, "not_below_lock", "%s is an archive, which can't be used in place", shown(source)).
			WithHint("leave out --in-place: the plugin is then unpacked")
	}
	f, err := o.fetch(ctx, source)
	if err != nil {
		return "", nil, err
	}
	defer f.file.Close()
	l.Source, l.Archive = f.source, f.pinned
	return stage(f.from, o.Place.Dir, func(to *os.Root) error {
		if err := unpack(ctx, f.from, f.file, to); err != nil {
			return err
		}
		text, err := plainfile.Read(filepath.Join(to.Name(), PackageFile), maxYAMLBytes)
		if err == nil {
			_, err = ParsePackage(f.from+"/"+PackageFile, text) // before it is read again, with the name of the copy
		}
		return err
	})
}

// pin puts a plugin into the lock, and deletes the copy that it replaces if that was
// requested.
func (o AddOptions) pin(l *Locked) error {
	replaced := ""
	err := o.Place.update(func(lock *Lock) error {
		replaced = o.Place.copyOf(lock.find(l.Name))
		lock.put(*l)
		if o.Place.names(lock, replaced) {
			replaced = ""
		}
		return nil
	})
	if err == nil && !o.InPlace {
		err = o.Place.use()
	}
	if err != nil || !o.Purge {
		return err
	}
	return deleteCopy(replaced)
}

// relative returns where a source is below the lock's folder: as the package's path, or as
// its origin.
func (o AddOptions) relative(source string) (path, from string, err error) {
	rel, err := filepath.Rel(filepath.Dir(o.Place.Lock), source)
	rel = filepath.ToSlash(rel)
	below := err == nil && isFileName(rel)
	switch {
	case o.InPlace && !below:
		return "", "", sdk.Errorf(sdk.Invalid, "not_below_lock", "%s doesn't lie below the folder of %s", source, o.Place.Lock).
			WithHint("leave out --in-place: the plugin is then copied")
	case o.InPlace:
		return rel, "", nil
	case below:
		return "", rel, nil
	}
	return "", "", nil
}

// stagedPrefix begins the names of staged copies.
const stagedPrefix = ".adding-"

// stage fills a new folder next to the folders of other copies with a package, and holds it until it
// is released, which removes it. It removes those that killed programs left.
func stage(from, dir string, fill func(to *os.Root) error) (staged string, release func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", nil, copyFailed(from, err)
	}
	sweep(dir, stagedPrefix)
	if staged, err = os.MkdirTemp(dir, stagedPrefix); err != nil {
		return "", nil, copyFailed(from, err)
	}
	let, err := holdPrivate(staged)
	if err != nil {
		_ = os.RemoveAll(staged)
		return "", nil, copyFailed(from, err)
	}
	release = func() {
		_ = os.RemoveAll(staged)
		let()
	}
	to, err := os.OpenRoot(staged)
	if err == nil {
		err = core.JoinErrors(fill(to), to.Close(), os.Chmod(staged, installedModes().dir))
	}
	if err != nil {
		release()
		return "", nil, err
	}
	return staged, release, nil
}

// copyStaged copies a package into a new folder.
func copyStaged(ctx context.Context, source string, to *os.Root) error {
	f, err := openFolder(source)
	if err != nil {
		return err
	}
	defer f.close()
	_, err = f.copy(ctx, to, installedModes())
	return err
}

// examine hashes a package, and reads and checks what it hashed.
func (o AddOptions) examine(ctx context.Context, dir string, l *Locked) (*Package, error) {
	f, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	defer f.close()
	if l.Files, err = f.hash(ctx); err != nil {
		return nil, err
	}
	text, err := pinned(dir, PackageFile, l.Files, maxYAMLBytes)
	if err != nil {
		return nil, whileAdded(err)
	}
	p, err := ParsePackage(filepath.Join(dir, PackageFile), text)
	if err != nil {
		return nil, err
	}
	if err := p.checkEntries(l.Files); err != nil {
		return nil, err
	}
	l.Name, l.Version, l.Granted = p.Name, p.Version, p.Capabilities
	if o.SideBySide {
		l.Name += "@" + p.Version
	}
	signature, err := pinned(dir, SignatureFile, l.Files, maxSignatureBytes)
	if err != nil {
		return nil, whileAdded(err)
	}
	l.Signed, err = o.Trust.verify(p.Name, l.Files, signature)
	return p, err
}

// whileAdded reports that a file isn't what was hashed a moment before.
func whileAdded(err error) error {
	if found, ok := errors.AsType[differs](err); ok {
		return sdk.Errorf(sdk.Conflict, "package_changed", "%s changed while it was added", found[0].Path).WithHint("add it again")
	}
	return err
}

// pinned reads a small file that has a digest; nil if it has none.
func pinned(dir, name string, files digests, limit int64) ([]byte, error) {
	want, ok := files[name]
	if !ok {
		return nil, nil
	}
	text, err := plainfile.Read(filepath.Join(dir, name), limit)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	if got := hex.EncodeToString(sum[:]); got != want {
		return nil, differs{Difference{File: name, Path: filepath.Join(dir, name), Want: want, Got: got}}
	}
	return text, nil
}

// approve asks the operator whether to pin a package.
func (o AddOptions) approve(ctx context.Context, p *Plugin) error {
	lock, err := ReadLock(o.Place.Lock)
	if err != nil {
		return err
	}
	if o.Approve != nil {
		if err := o.Approve(Request{Package: p.Package, Before: lock.find(p.Name), Signed: p.Locked.Signed, Files: p.Locked.Files}); err != nil {
			return err
		}
	}
	if o.Check != nil {
		return o.Check(ctx, p)
	}
	return nil
}

// moveIntoPlace moves a staged copy to its folder, and replaces an older one.
func moveIntoPlace(staged, folder string) error {
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return copyFailed(folder, err)
	}
	old := staged + ".old"
	moved := os.Rename(folder, old)
	if err := os.Rename(staged, folder); err != nil {
		return copyFailed(folder, errors.Join(moved, err))
	}
	_ = os.RemoveAll(old) // what is left of it disturbs nobody
	return nil
}

// Exactly reports an error unless an operator without a terminal grants the capabilities
// that the package asks for, no more and no less.
func Exactly(p *Package, granted []string) error {
	asked := plugin.Capabilities.List(p.Capabilities)
	missing, surplus := without(asked, granted), without(granted, asked)
	if len(missing)+len(surplus) == 0 {
		return nil
	}
	err := sdk.Errorf(sdk.Denied, "capability_not_granted", "plugin %s asks for %s, and --grant names %s", p.Name, orNothing(asked), orNothing(granted))
	if len(asked) == 0 {
		return err.WithHint("leave out --grant")
	}
	return err.WithHint("to grant that, add: %s", strings.TrimSpace(grantFlag(p.Capabilities))).WithDetail("missing", missing).WithDetail("surplus", surplus)
}
