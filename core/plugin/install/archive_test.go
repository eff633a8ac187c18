package install_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/sdk"
)

// judgeFiles are the files of a judge's package.
func judgeFiles() map[string]string {
	return map[string]string{"plugin.yaml": judgeYAML, "judge": "#!/bin/true\n", "data/words": "a\n"}
}

// entry is an entry of an archive; without a type it is a file.
type entry struct {
	name, text string
	kind       byte
	link       string
	change     func(*tar.Header)
}

// archive writes entries after the files of a judge's package.
func archive(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var all []entry
	for _, name := range []string{"data/words", "judge", "plugin.yaml"} {
		all = append(all, entry{name: name, text: judgeFiles()[name]})
	}
	return archiveOf(t, append(all, entries...)...)
}

func archiveOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	w := tar.NewWriter(zip)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: e.kind, Linkname: e.link, Size: int64(len(e.text)), Mode: 0o644}
		if e.kind == 0 {
			h.Typeflag = tar.TypeReg
		}
		if e.change != nil {
			e.change(h)
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(w, e.text) // a header may promise more
	}
	_ = w.Flush()
	_, err := zip.Write(make([]byte, 1024)) // the end of a tar, which Close refuses to write after a lie
	if err := errors.Join(err, zip.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func (w *world) file(name string, data []byte) string {
	w.t.Helper()
	file := filepath.Join(w.dir, name)
	if err := os.WriteFile(file, data, 0o600); err != nil {
		w.t.Fatal(err)
	}
	return file
}

// nothingLeft fails if an addition that was refused pinned or left anything.
func (w *world) nothingLeft() {
	w.t.Helper()
	lock, err := install.ReadLock(w.place.Lock)
	if err != nil || len(lock.Plugins) > 0 {
		w.t.Errorf("the lock pins %v: %v", lock, err)
	}
	var files []string
	err = filepath.WalkDir(w.place.Dir, func(name string, e fs.DirEntry, err error) error {
		if err == nil && name != w.place.Dir && !strings.HasPrefix(e.Name(), ".lock") {
			files = append(files, name)
		}
		return nil
	})
	if err != nil || len(files) > 0 {
		w.t.Errorf("it left %v: %v", files, err)
	}
}

func TestPack_HasTheSameBytesEachTime(t *testing.T) {
	w := judge(t)
	pack := func(to string) (*install.Packed, []byte) {
		packed, err := install.Pack(t.Context(), w.source, filepath.Join(w.dir, to))
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(packed.File)
		if err != nil {
			t.Fatal(err)
		}
		return packed, data
	}
	one, first := pack("one.tar.gz")
	later := time.Now().Add(time.Hour)
	err := errors.Join(os.Chtimes(filepath.Join(w.source, "judge"), later, later), os.Chmod(filepath.Join(w.source, "data/words"), 0o640),
		os.Mkdir(filepath.Join(w.source, "empty"), 0o700))
	if err != nil {
		t.Fatal(err)
	}
	two, second := pack("two.tar.gz")
	if !bytes.Equal(first, second) || one.SHA256 != two.SHA256 || one.Files != 3 || one.Bytes != int64(len(first)) {
		t.Errorf("%+v and %+v", one, two)
	}
	if sum := sha256.Sum256(first); one.SHA256 != hex.EncodeToString(sum[:]) {
		t.Errorf("the digest is %s, not %x", one.SHA256, sum)
	}

	// What is added from the archive is what is added from the folder.
	fromFolder := w.add().Locked.Files
	p, err := install.Add(t.Context(), one.File, w.options)
	if err != nil || !maps.Equal(p.Locked.Files, fromFolder) {
		t.Fatalf("%v: %v, not %v", err, p, fromFolder)
	}
	if err := start(t, w.open(), &driver{}); err != nil {
		t.Error(err)
	}
}

func TestPack_RefusesWhatAddRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		prepare func(w *world) (to string)
		code    sdk.Code
		want    string
	}{
		"no package":   {func(w *world) string { return without(w, "plugin.yaml") }, sdk.NotFound, "there is no"},
		"no program":   {func(w *world) string { return without(w, "judge") }, sdk.Invalid, "no file of the package"},
		"a link":       {func(w *world) string { return link(w) }, sdk.Denied, "symbolic link"},
		"in itself":    {func(w *world) string { return filepath.Join(w.source, "x.tar.gz") }, sdk.Invalid, "would lie in the package"},
		"below itself": {func(w *world) string { return filepath.Join(w.source, "data", "x.tar.gz") }, sdk.Invalid, "would lie in the package"},
		"to no folder": {func(w *world) string { return filepath.Join(w.dir, "none", "x.tar.gz") }, sdk.NotFound, "can't find the folder"},
		"mostly zeros": {func(w *world) string {
			write(t, w.source, map[string]string{"z": string(make([]byte, 40<<20))})
			return ""
		}, sdk.Exhausted, "100 times its size"},
		"a broken manifest": {func(w *world) string { write(t, w.source, map[string]string{"plugin.yaml": "x"}); return "" }, sdk.Invalid, "must be a mapping"},
	} {
		t.Run(name, func(t *testing.T) {
			w := judge(t)
			to := tt.prepare(w)
			if to == "" {
				to = filepath.Join(w.dir, "x.tar.gz")
			}
			_, err := install.Pack(t.Context(), w.source, to)
			if sdk.CodeOf(err) != tt.code || !strings.Contains(fmt.Sprint(err), tt.want) {
				t.Errorf("%v (%s)", err, sdk.CodeOf(err))
			}
			if left, _ := filepath.Glob(filepath.Join(w.dir, "*.tar.gz*")); len(left) > 0 {
				t.Errorf("it left %v", left)
			}
		})
	}
}

func without(w *world, name string) string {
	if err := os.Remove(filepath.Join(w.source, name)); err != nil {
		w.t.Fatal(err)
	}
	return ""
}

func link(w *world) string {
	if err := os.Symlink("/etc/passwd", filepath.Join(w.source, "link")); err != nil {
		w.t.Fatal(err)
	}
	return ""
}

// An archive comes from a stranger: nothing of it reaches beyond the package, and what isn't a plain
// file of bounded size is refused by name.
func TestAdd_RefusesHostileArchives(t *testing.T) {
	file := func(name string) []entry { return []entry{{name: name, text: "evil"}} }
	kind := func(k byte, link string) []entry { return []entry{{name: "evil", kind: k, link: link}} }
	for name, tt := range map[string]struct {
		entries []entry
		reason  string
		want    string
	}{
		"climbs":                     {file("../evil"), "archive_file_refused", `"../evil"`},
		"climbs from within":         {file("data/../../evil"), "archive_file_refused", `"data/../../evil"`},
		"climbs after a dot":         {file("./../evil"), "archive_file_refused", `"./../evil"`},
		"an absolute path":           {file("/tmp/evil"), "archive_file_refused", `"/tmp/evil"`},
		"an absolute path after dot": {file(".//tmp/evil"), "archive_file_refused", "evil"},
		"a name that isn't clean":    {file("data//evil"), "archive_file_refused", "leads out"},
		"a name of dots":             {file(".."), "archive_file_refused", `".."`},
		"a drive":                    {file("C:evil"), "archive_file_refused", "every platform"},
		"backslashes":                {file(`..\evil`), "archive_file_refused", "every platform"},
		"an escape":                  {file("\x1b[2Kevil"), "archive_file_refused", `"\x1b[2Kevil"`},
		"turned text":                {file("\u202eevil"), "archive_file_refused", `"\u202eevil"`},
		"a name without end":         {file(strings.Repeat("e", 300)), "archive_file_refused", "eeee"},
		"a symbolic link":            {kind(tar.TypeSymlink, "/etc/passwd"), "archive_file_refused", "it is a link"},
		"a hard link":                {kind(tar.TypeLink, "judge"), "archive_file_refused", "it is a link"},
		"through a link":             {append(kind(tar.TypeSymlink, "/tmp"), entry{name: "evil/file", text: "x"}), "archive_file_refused", "it is a link"},
		"a device":                   {kind(tar.TypeChar, ""), "archive_file_refused", "device"},
		"a block device":             {kind(tar.TypeBlock, ""), "archive_file_refused", "device"},
		"a pipe":                     {kind(tar.TypeFifo, ""), "archive_file_refused", "pipe"},
		"an unknown type":            {kind('Z', ""), "archive_file_refused", "no file"},
		"a file twice":               {file("judge"), "archive_file_refused", "there twice"},
		"a file twice, with a dot":   {file("./judge"), "archive_file_refused", "there twice"},
		"plugin.yaml twice":          {[]entry{{name: "plugin.yaml", text: strings.Replace(judgeYAML, "acme", "evil", 1)}}, "archive_file_refused", "there twice"},
		"a file below a file":        {file("judge/evil"), "archive_file_refused", "lies in a file"},
		"a folder in place of one":   {kind(tar.TypeDir, ""), "", ""},
		"a folder named as a file":   {[]entry{{name: "judge/", kind: tar.TypeDir}}, "archive_file_refused", "a file and a folder"},
		"a file named as a folder":   {file("data"), "archive_file_refused", "a file and a folder"},
		"too deep":                   {file(strings.Repeat("d/", 20) + "evil"), "archive_file_refused", "folders deep"},
		"a large file":               {[]entry{{name: "evil", text: "", change: func(h *tar.Header) { h.Size = 3 << 30 }}}, "package_too_large", "bytes"},
		"a file that ends early":     {[]entry{{name: "evil", text: "x", change: func(h *tar.Header) { h.Size = 9000 }}}, "archive_invalid", "ends too early"},
		"zeros":                      {[]entry{{name: "evil", text: string(make([]byte, 40<<20))}}, "archive_bomb", "100 times its size"},
		"many files":                 {many(10_000, tar.TypeReg), "package_too_large", "10000 files"},
		"many folders":               {many(10_000, tar.TypeDir), "package_too_large", "10000 files"},
	} {
		t.Run(name, func(t *testing.T) {
			w := judge(t)
			_, err := install.Add(t.Context(), w.file("judge.tar.gz", archive(t, tt.entries...)), w.options)
			if tt.reason == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if sdk.ReasonOf(err) != tt.reason || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "judge.tar.gz") {
				t.Fatalf("%v (%s)", err, sdk.ReasonOf(err))
			}
			w.nothingLeft()
			if found, _ := filepath.Glob(filepath.Join(w.dir, "*evil*")); len(found) > 0 {
				t.Errorf("it wrote %v", found)
			}
		})
	}
}

// many is that many files or folders.
func many(n int, kind byte) []entry {
	entries := make([]entry, n)
	for i := range entries {
		entries[i] = entry{name: fmt.Sprintf("d/%d", i), kind: kind}
	}
	return entries
}

func TestAdd_RefusesDamagedArchives(t *testing.T) {
	good := archive(t)
	plain := unzip(t, good)
	flip := func(at int) []byte {
		data := bytes.Clone(good)
		data[at] ^= 1
		return data
	}
	for name, tt := range map[string]struct {
		data []byte
		want string
	}{
		"nothing":               {nil, "ends too early"},
		"no gzip":               {plain, "isn't compressed with gzip"},
		"a zip file":            {[]byte("PK\x03\x04 and more than ten bytes"), "isn't compressed with gzip"},
		"its head only":         {good[:5], "ends too early"},
		"its first half":        {good[:len(good)/2], "ends too early"},
		"all but its checksum":  {good[:len(good)-8], "ends too early"},
		"all but its last byte": {good[:len(good)-1], "ends too early"},
		"a byte of its content": {flip(len(good) / 2), "no whole .tar.gz"},
		"a byte of its sum":     {flip(len(good) - 6), "no whole .tar.gz"},
		"a byte of its length":  {flip(len(good) - 2), "no whole .tar.gz"},
		"something behind it":   {append(bytes.Clone(good), 'x'), "something follows its end"},
		"a second one":          {append(bytes.Clone(good), good...), "something follows its end"},
		"text behind its files": {zipped(t, append(bytes.Clone(plain), "evil"...)), "something follows its last file"},
		"zeros behind it":       {zipped(t, append(bytes.Clone(plain), make([]byte, 40<<20)...)), "100 times its size"},
		"no tar":                {zipped(t, bytes.Repeat([]byte("x"), 600)), "no whole .tar.gz"},
		"a tar without files":   {zipped(t, make([]byte, 1024)), "has no plugin.yaml at its top"},
		"a folder in it":        {archiveOf(t, entry{name: "judge/plugin.yaml", text: judgeYAML}), "has no plugin.yaml at its top"},
		"no plugin.yaml":        {archiveOf(t, entry{name: "judge", text: "x"}), "has no plugin.yaml at its top"},
		"a bad plugin.yaml":     {archiveOf(t, entry{name: "plugin.yaml", text: "x"}), "judge.tar.gz/plugin.yaml:1:1: "},
		"no program":            {archiveOf(t, entry{name: "plugin.yaml", text: judgeYAML}), "no file of the package"},
	} {
		t.Run(name, func(t *testing.T) {
			w := judge(t)
			_, err := install.Add(t.Context(), w.file("judge.tar.gz", tt.data), w.options)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatal(err)
			}
			w.nothingLeft()
		})
	}
}

func zipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func unzip(t *testing.T, data []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

// Whatever the bytes are, the archive is added as what it holds or leaves nothing.
func FuzzAdd_Archive(f *testing.F) {
	f.Add(archive(f))
	f.Add(archive(f, entry{name: "../evil", text: "x"}))
	f.Add(archive(f, entry{name: "evil", kind: tar.TypeSymlink, link: "/etc"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		w := newWorld(t, nil)
		p, err := install.Add(context.Background(), w.file("a.tar.gz", data), w.options)
		if err != nil {
			w.nothingLeft()
			return
		}
		if found, err := p.Verify(t.Context()); err != nil || len(found) > 0 {
			t.Errorf("%v %v", found, err)
		}
	})
}
