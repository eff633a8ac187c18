package install

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/reflectory/reflectory/sdk"
)

// An archive of a package is a .tar.gz with plugin.yaml at its top. It comes from anywhere, so
// its headers decide nothing but the names of plain files: types, owners, modes and times are
// refused or ignored, and everything is counted while it is read, before it is written.

// Bounds of an archive, next to the bounds of a package.
const (
	// maxArchiveBytes bounds the archive itself: a package of programs for several platforms.
	maxArchiveBytes = 512 << 20
	// maxRatio bounds how many bytes a byte of an archive becomes once freeRatio bytes were
	// read. Programs and texts become 2 to 20; gzip's limit is 1032, which only zeros reach.
	maxRatio  = 100
	freeRatio = 32 << 20
	// maxHeaders bounds what the archive has besides files: headers and padding.
	maxHeaders = 64 << 20
)

// Packed is an archive that [Pack] wrote.
type Packed struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// File is the archive, and SHA256 its digest in hexadecimal.
	File   string `json:"file"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
	Files  int    `json:"files"`
}

// Pack writes the package in a folder to an archive. The same files have the same bytes: the
// archive has no owners and times, and of the modes only whether a file is a program. to is the
// archive's file; "" is name-version.tar.gz in the working folder. It must be outside the folder.
func Pack(ctx context.Context, dir, to string) (*Packed, error) {
	pkg, err := ReadPackage(dir)
	if err != nil {
		return nil, err
	}
	if to == "" {
		to = path.Base(pkg.Name) + "-" + pkg.Version + ".tar.gz"
	}
	if err := outside(dir, to); err != nil {
		return nil, err
	}
	f, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	defer f.close()
	out, err := os.CreateTemp(filepath.Dir(to), "."+filepath.Base(to)+"-")
	if err != nil {
		return nil, notPacked(to, err)
	}
	defer func() { _ = os.Remove(out.Name()) }() // it has another name if all went well
	h := sha256.New()
	counted := &counter{Writer: io.MultiWriter(out, h)}
	files, size, err := f.pack(ctx, counted)
	if err := errors.Join(err, out.Chmod(0o644), out.Close()); err != nil {
		return nil, notPacked(to, err)
	}
	if err := pkg.checkEntries(files); err != nil {
		return nil, err
	}
	if err := checkExpansion(to, size, counted.n); err != nil {
		return nil, err
	}
	if err := os.Rename(out.Name(), to); err != nil {
		return nil, notPacked(to, err)
	}
	return &Packed{pkg.Name, pkg.Version, to, hex.EncodeToString(h.Sum(nil)), counted.n, len(files)}, nil
}

// outside refuses an archive within its own package: the next archive would hold it.
func outside(dir, file string) error {
	below, err := relativeTo(dir, filepath.Dir(file))
	if err == nil && below {
		return sdk.Errorf(sdk.Invalid, "archive_in_package", "the archive %s would lie in the package %s itself", file, dir).
			WithHint("name another folder with --out")
	}
	return err
}

// relativeTo reports whether a folder is another one or below it, links followed.
func relativeTo(dir, other string) (bool, error) {
	var real [2]string
	for i, name := range []string{dir, other} {
		full, err := filepath.Abs(name)
		if err == nil {
			full, err = filepath.EvalSymlinks(full)
		}
		if err != nil {
			return false, sdk.Errorf(sdk.NotFound, "folder_not_found", "can't find the folder %s: %w", name, err)
		}
		real[i] = full
	}
	rel, err := filepath.Rel(real[0], real[1])
	return err == nil && filepath.IsLocal(rel), nil
}

func notPacked(to string, err error) error {
	if e, ok := errors.AsType[*sdk.Error](err); ok {
		return e
	}
	return sdk.Errorf(sdk.Unavailable, "archive_not_written", "can't write %s: %w", to, err).
		WithHint("check that its folder can be written to")
}

// pack writes all files of the package, and returns their digests and their total size.
func (f *folder) pack(ctx context.Context, w io.Writer) (files digests, size int64, err error) {
	names, err := f.names()
	if err != nil {
		return nil, 0, err
	}
	zip := gzip.NewWriter(w)
	archive := tar.NewWriter(zip)
	files, err = f.each(ctx, names, func(name string) (string, int64, error) {
		sum, n, err := f.packFile(name, archive)
		size += n
		return sum, n, err
	})
	return files, size, errors.Join(err, archive.Close(), zip.Close())
}

func (f *folder) packFile(name string, archive *tar.Writer) (sum string, size int64, err error) {
	info, err := f.root.Stat(name)
	if err != nil {
		return "", 0, sdk.Errorf(sdk.Invalid, "package_unreadable", "can't read %s of the folder %s: %w", name, f.path, err)
	}
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: info.Size(), Mode: 0o644}
	if info.Mode()&0o100 != 0 {
		h.Mode = 0o755
	}
	if err := archive.WriteHeader(h); err != nil {
		return "", 0, err
	}
	sum, size, err = f.digest(name, archive)
	if errors.Is(err, tar.ErrWriteTooLong) || err == nil && size != h.Size {
		err = sdk.Errorf(sdk.Conflict, "package_changed", "%s changed while it was packed", name).WithHint("pack it again")
	}
	return sum, size, err
}

// counter counts what is written.
type counter struct {
	io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n += int64(n)
	return n, err
}

// checkExpansion refuses an archive that becomes much larger than it is.
func checkExpansion(archive string, unpacked, packed int64) error {
	if unpacked > freeRatio && unpacked > maxRatio*packed {
		return sdk.Errorf(sdk.Exhausted, "archive_bomb", "%s becomes more than %d times its size when it is unpacked", archive, maxRatio).
			WithHint("no program or text is packed that tightly; don't use the archive, or leave out its files of zeros if it is yours")
	}
	return nil
}

// expansion reads what an archive unpacks to, with a limit on how much that is.
type expansion struct {
	archive string
	from    io.Reader
	packed  *reading
	n       int64
}

func (e *expansion) Read(p []byte) (int, error) {
	n, err := e.from.Read(p)
	if e.n += int64(n); e.n > maxBytes+maxHeaders {
		return n, tooLarge(e.archive)
	}
	if bomb := checkExpansion(e.archive, e.n, e.packed.n); bomb != nil {
		return n, bomb
	}
	return n, err
}

// reading counts what is read.
type reading struct {
	io.Reader
	n int64
}

func (r *reading) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.n += int64(n)
	return n, err
}

func tooLarge(archive string) *sdk.Error {
	return sdk.Errorf(sdk.Exhausted, "package_too_large", "the archive %s holds more than %d bytes", archive, maxBytes)
}

// unpacking is an archive that is being unpacked. Nothing it says reaches beyond the folder to.
type unpacking struct {
	archive string
	to      *os.Root
	// names are the names so far; the name of a folder ends with a slash.
	names   map[string]bool
	entries int
	bytes   int64
}

// unpack writes the files of an archive, which messages name, into an empty folder.
func unpack(ctx context.Context, archive string, content io.Reader, to *os.Root) error {
	packed := &reading{Reader: content}
	buffered := bufio.NewReader(packed) // of which gzip reads nothing behind its end
	zip, err := gzip.NewReader(buffered)
	if err != nil {
		return notAnArchive(archive, err)
	}
	zip.Multistream(false)
	all := &expansion{archive: archive, from: zip, packed: packed}
	u := &unpacking{archive: archive, to: to, names: map[string]bool{}}
	for files := tar.NewReader(all); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return notAnArchive(archive, err)
		}
		if err := u.entry(h, files); err != nil {
			return err
		}
	}
	if err := checkEnd(archive, all, buffered); err != nil {
		return err
	}
	if !u.names[PackageFile] {
		return sdk.Errorf(sdk.NotFound, "package_not_found", "the archive %s has no %s at its top", archive, PackageFile).
			WithHint("plugin pack makes one from a folder that has it")
	}
	return nil
}

// checkEnd reads what follows the last file: padding, the checksum, and nothing else.
func checkEnd(archive string, all *expansion, packed io.Reader) error {
	rest := make([]byte, 32<<10)
	for {
		n, err := all.Read(rest)
		for _, b := range rest[:n] {
			if b != 0 {
				return notAnArchive(archive, errors.New("something follows its last file"))
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return notAnArchive(archive, err)
		}
	}
	if n, _ := io.ReadFull(packed, rest[:1]); n > 0 {
		return notAnArchive(archive, errors.New("something follows its end"))
	}
	return nil
}

// notAnArchive reports what is wrong with the bytes of an archive.
func notAnArchive(archive string, err error) error {
	if e, ok := errors.AsType[*sdk.Error](err); ok {
		return e
	}
	switch {
	case errors.Is(err, gzip.ErrHeader):
		err = errors.New("it isn't compressed with gzip")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = errors.New("it ends too early")
	}
	return sdk.Errorf(sdk.Invalid, "archive_invalid", "%s is no whole .tar.gz: %w", archive, err).
		WithHint("get it again; plugin pack makes one from a folder")
}

// refuse names an entry that no archive of a package has.
func (u *unpacking) refuse(name, why string) error {
	return sdk.Errorf(sdk.Denied, "archive_file_refused", "%s in the archive %s can't be a part of a package: %s", shown(name), u.archive, why).
		WithHint("plugin pack makes an archive without it")
}

// shown is a name as messages have it: at most 100 characters, none of which steers a terminal.
func shown(name string) string { return fmt.Sprintf("%.100q", name) }

// entry checks one entry, and writes it if it is a file.
func (u *unpacking) entry(h *tar.Header, content io.Reader) error {
	if why := notAFile(h); why != "" {
		return u.refuse(h.Name, why)
	}
	name, dir := strings.TrimPrefix(h.Name, "./"), h.Typeflag == tar.TypeDir
	if dir {
		name = strings.TrimSuffix(name, "/")
		if name == "" || name == "." {
			return nil
		}
	}
	switch {
	case !isFileName(name):
		return u.refuse(h.Name, "its name leads out of the package, or isn't one that every platform can have")
	case strings.Count(name, "/") >= maxDepth:
		return u.refuse(h.Name, fmt.Sprintf("it lies more than %d folders deep", maxDepth))
	case dir && u.names[name], !dir && u.names[name+"/"]:
		return u.refuse(h.Name, "it is a file and a folder")
	case u.names[name]:
		return u.refuse(h.Name, "it is there twice")
	}
	for parent := path.Dir(name); parent != "."; parent = path.Dir(parent) {
		if u.names[parent] {
			return u.refuse(h.Name, "it lies in a file")
		}
		u.names[parent+"/"] = true
	}
	if dir {
		name += "/"
	}
	u.names[name] = true
	if u.entries++; u.entries > maxFiles {
		return sdk.Errorf(sdk.Exhausted, "package_too_large", "the archive %s holds more than %d files and folders", u.archive, maxFiles)
	}
	if dir {
		return nil
	}
	if u.bytes += h.Size; h.Size > maxFileBytes || u.bytes > maxBytes {
		return tooLarge(u.archive)
	}
	return u.write(name, content)
}

// notAFile is why an entry is neither a plain file nor a folder; "" if it is one.
func notAFile(h *tar.Header) string {
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeDir:
	case tar.TypeSymlink, tar.TypeLink:
		return "it is a link: put the file itself there"
	case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		return "it is a device or a pipe"
	default:
		return "it is no file"
	}
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return "it is a file with holes"
		}
	}
	return ""
}

func (u *unpacking) write(name string, content io.Reader) error {
	mode := installedModes()
	if err := makeFolders(u.to, path.Dir(name), mode.dir); err != nil {
		return copyFailed(name, err)
	}
	out, err := u.to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode.file)
	if errors.Is(err, fs.ErrExist) { // a file system for which two names are one
		return u.refuse(name, "it is there twice")
	}
	if err != nil {
		return copyFailed(name, err)
	}
	_, read := io.Copy(out, content)
	written := errors.Join(out.Chmod(mode.file), out.Close())
	if pathErr, ok := errors.AsType[*fs.PathError](read); ok { // the disk, not the archive
		read, written = nil, pathErr
	}
	if read != nil {
		return notAnArchive(u.archive, read)
	}
	if written != nil {
		return copyFailed(name, written)
	}
	return nil
}
