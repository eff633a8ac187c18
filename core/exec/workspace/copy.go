package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/reflectory/reflectory/sdk"
)

// maxNamed is how many of several wrong files an error names.
const maxNamed = 10

// copier copies one folder. The original is listed first: one that is too large is refused
// before a byte of it is copied, and with its size.
type copier struct {
	ctx      context.Context
	from, to *os.Root
	owner    *Owner
	entries  []entry
	// wrong are the files that can't be copied, with why.
	wrong []string
	// copied is whether the file system refused to clone a file: then the others aren't tried.
	copied bool
}

type entry struct {
	name string
	info fs.FileInfo
	link string
}

// copy copies what is in from into the empty folder to, and returns the digest of its listing.
func (o *Options) copy(ctx context.Context, from, to *os.Root) (string, error) {
	c := &copier{ctx: ctx, from: from, to: to, owner: o.Owner}
	digest := sha256.New()
	if err := c.list(o, digest); err != nil {
		return "", err
	}
	if len(c.wrong) > 0 {
		return "", sdk.Errorf(sdk.Invalid, "workspace_file", "the folder %s can't be copied: %s", from.Name(), named(c.wrong)).
			WithHint("remove them, or give a folder without them; a link must be relative and lead to something in the folder")
	}
	if err := c.own("."); err != nil {
		return "", unavailable(err)
	}
	for _, e := range c.entries {
		err := ctx.Err()
		if err == nil {
			err = c.copy(e)
		}
		if err != nil {
			return "", unavailable(fmt.Errorf("copying %s: %w", e.name, err))
		}
	}
	return hex.EncodeToString(digest.Sum(nil)), nil
}

func named(wrong []string) string {
	if n := len(wrong) - maxNamed; n > 0 {
		wrong = append(wrong[:maxNamed:maxNamed], fmt.Sprintf("and %d more", n))
	}
	return strings.Join(wrong, "; ")
}

// list lists the original and measures it.
func (c *copier) list(o *Options, digest hash.Hash) error {
	maxBytes, maxFiles := o.limits()
	var bytes int64
	files := 0
	err := fs.WalkDir(c.from.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil {
			err = c.ctx.Err()
		}
		if err != nil || name == "." {
			return err
		}
		files++
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode().IsRegular() {
			bytes += info.Size()
		}
		if bytes > maxBytes || files > maxFiles {
			c.entries = nil // only counted from here on
			return nil
		}
		e := entry{name: name, info: info}
		e.link, err = c.check(e)
		fmt.Fprintf(digest, "%q %v %d %d %q\n", name, info.Mode(), info.Size(), info.ModTime().UnixNano(), e.link)
		c.entries = append(c.entries, e)
		return err
	})
	if err != nil {
		return unavailable(err)
	}
	if bytes > maxBytes || files > maxFiles {
		return sdk.Errorf(sdk.Invalid, "workspace_too_large", "the folder %s has %d files and %d bytes (limits %d and %d)",
			c.from.Name(), files, bytes, maxFiles, maxBytes).
			WithHint("give a smaller folder; what a build makes belongs in a cache").
			WithDetail("files", files).WithDetail("bytes", bytes)
	}
	return nil
}

// check notes what can't be copied. For a link it returns where it leads.
func (c *copier) check(e entry) (string, error) {
	mode := e.info.Mode()
	switch {
	case mode.IsRegular() || mode.IsDir():
		return "", nil
	case mode&fs.ModeSymlink == 0:
		c.wrong = append(c.wrong, fmt.Sprintf("%s is neither a file, a folder nor a link", e.name))
		return "", nil
	}
	target, err := c.from.Readlink(e.name)
	if err == nil && c.leaves(e.name, target) {
		c.wrong = append(c.wrong, fmt.Sprintf("%s is a link that leads out of it, to %s", e.name, target))
	}
	return target, err
}

// leaves is whether a link leads out of the folder: by itself, or through another link.
func (c *copier) leaves(name, target string) bool {
	if filepath.IsAbs(target) || !filepath.IsLocal(path.Join(path.Dir(name), target)) {
		return true
	}
	_, err := c.from.Stat(name)
	return err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ELOOP) && !errors.Is(err, syscall.ENOTDIR)
}

func (c *copier) copy(e entry) error {
	var err error
	switch mode := e.info.Mode(); {
	case mode.IsDir():
		if err = c.to.Mkdir(e.name, 0o700); err == nil {
			err = c.to.Chmod(e.name, mode.Perm()|0o700)
		}
	case mode.IsRegular():
		err = c.file(e)
	default:
		err = c.to.Symlink(e.link, e.name)
	}
	if err != nil {
		return err
	}
	return c.own(e.name)
}

func (c *copier) own(name string) error {
	if c.owner == nil {
		return nil
	}
	return c.to.Lchown(name, c.owner.UID, c.owner.GID)
}

// file copies a plain file. It keeps the mode, without the bits that change a user, and the
// time, which build tools compare.
func (c *copier) file(e entry) error {
	source, err := c.from.OpenFile(e.name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }() // only reads
	if now, err := source.Stat(); err != nil || !os.SameFile(now, e.info) {
		return errors.Join(err, errChanged)
	}
	mode := e.info.Mode().Perm() | 0o600
	target, err := c.to.OpenFile(e.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = c.content(target, source, e.info.Size())
	if err == nil {
		err = target.Chmod(mode)
	}
	if err = errors.Join(err, target.Close()); err != nil {
		return err
	}
	return c.to.Chtimes(e.name, e.info.ModTime(), e.info.ModTime())
}

var errChanged = errors.New("it was changed meanwhile")

// content shares the blocks of a file, if the file system can, or else copies them.
func (c *copier) content(to, from *os.File, size int64) error {
	if c.copied || !clone(to, from) {
		c.copied = true
		_, err := io.Copy(to, io.LimitReader(from, size))
		if err != nil {
			return err
		}
	}
	info, err := to.Stat()
	if err == nil && info.Size() != size {
		err = errChanged
	}
	return err
}
