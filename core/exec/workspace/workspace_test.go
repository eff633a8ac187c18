//go:build unix

package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/sdk"
)

func isCode(err error, code sdk.Code) bool {
	var e *sdk.Error
	return errors.As(err, &e) && e.Code == code
}

func TestMake_CopiesTheOriginal(t *testing.T) {
	files := map[string]string{
		"a.txt": "a", "b/run": "x b", "b/c/link": "-> ../../a.txt", "b/dangling": "-> nothing", "b/round": "-> round", "dirlink": "-> b/c",
	}
	from, dir := tree(t, files), t.TempDir()
	must(t, os.MkdirAll(filepath.Join(from, "empty"), 0o555))
	must(t, os.Chmod(filepath.Join(from, "b/run"), 0o755|os.ModeSetuid))
	must(t, os.Link(filepath.Join(from, "a.txt"), filepath.Join(from, "second")))
	files["second"] = "a"
	must(t, os.Chtimes(filepath.Join(from, "a.txt"), time.Time{}, time.Unix(1_700_000_000, 5000)))

	w, refused, err := Make(context.Background(), Options{Dir: dir, Folder: filepath.Dir(from)}, &sdk.ExecWorkspace{From: filepath.Base(from)}, "")
	if err != nil || refused != nil {
		t.Fatal(refused, err)
	}
	if d := cmp.Diff(files, listing(t, dir)); d != "" {
		t.Error(d)
	}
	info, _ := os.Stat(filepath.Join(dir, "a.txt"))
	if links(info) != 1 || info.ModTime().UnixNano() != 1_700_000_000_000_005_000 {
		t.Error(info.ModTime(), links(info))
	}
	if info, _ := os.Stat(filepath.Join(dir, "b/run")); info.Mode() != 0o755 {
		t.Error(info.Mode())
	}
	if info, err := os.Stat(filepath.Join(dir, "empty")); err != nil || info.Mode().Perm() != 0o755 {
		t.Error(info, err)
	}
	// The digest of the original is the same until somebody changes it.
	again := func() string {
		w, _, err := Make(context.Background(), Options{Dir: t.TempDir(), Folder: from}, &sdk.ExecWorkspace{From: "."}, "")
		must(t, err)
		return w.Original
	}
	if again() != w.Original {
		t.Error("the digest differs without a change")
	}
	must(t, os.WriteFile(filepath.Join(from, "a.txt"), []byte("b"), 0o644))
	if again() == w.Original {
		t.Error("the digest is the same after a change")
	}
}

func TestMake_RefusesWhatLeaves(t *testing.T) {
	outside := tree(t, map[string]string{"secret": "s"})
	for name, c := range map[string]struct {
		files map[string]string
		from  string
		want  sdk.Code
	}{
		"an absolute link":        {map[string]string{"w/l": "-> /etc/passwd"}, "w", sdk.Invalid},
		"an absolute link inside": {map[string]string{"w/l": "-> DIR/w/x", "w/x": ""}, "w", sdk.Invalid},
		"a link upwards":          {map[string]string{"w/l": "-> ../other", "other": ""}, "w", sdk.Invalid},
		"a link to the folder":    {map[string]string{"w/a/l": "-> ../../w/x", "w/x": ""}, "w", sdk.Invalid},
		"a link through a link":   {map[string]string{"w/d": "-> a/b", "w/a/b/": "", "w/l": "-> d/../../../../x"}, "w", sdk.Invalid},
		"links that go on":        {map[string]string{"w/a/b/c/": "", "w/s": "-> a/b/c", "w/t/l": "-> ../s/../../../../x"}, "w", sdk.Invalid},
		"from upwards":            {nil, "../x", sdk.Denied},
		"from above, inside":      {map[string]string{"w/": ""}, "w/../..", sdk.Denied},
		"from elsewhere":          {nil, outside, sdk.Denied},
		"from a link elsewhere":   {map[string]string{"w": "-> " + outside}, "w", sdk.Denied},
		"from below a link":       {map[string]string{"w": "-> " + filepath.Dir(outside)}, "w/" + filepath.Base(outside), sdk.Denied},
		"from nothing":            {nil, "no", sdk.Invalid},
		"from a file":             {map[string]string{"w": ""}, "w", sdk.Invalid},
		"from below a file":       {map[string]string{"w": ""}, "w/x", sdk.Denied},
	} {
		t.Run(name, func(t *testing.T) {
			folder := tree(t, nil)
			for at, text := range c.files {
				c.files[at] = strings.ReplaceAll(text, "DIR", folder)
			}
			folder = tree(t, c.files)
			_, _, err := Make(context.Background(), Options{Dir: t.TempDir(), Folder: folder, Granted: []string{"/nonexistent"}}, &sdk.ExecWorkspace{From: c.from}, "")
			if !isCode(err, c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestMake_NamesEachWrongFile(t *testing.T) {
	folder := tree(t, map[string]string{"l": "-> /etc/passwd", "d/m": "-> ../../x"})
	must(t, syscall.Mkfifo(filepath.Join(folder, "pipe"), 0o600))
	_, _, err := Make(context.Background(), Options{Dir: t.TempDir(), Folder: folder}, &sdk.ExecWorkspace{From: "."}, "")
	for _, want := range []string{"l is a link that leads out of it, to /etc/passwd", "d/m is a link", "pipe is neither a file, a folder nor a link"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v doesn't have %q", err, want)
		}
	}
}

func TestMake_GrantedFolders(t *testing.T) {
	folder, granted := tree(t, map[string]string{"w/a": "1"}), tree(t, map[string]string{"in/b": "2"})
	for from, want := range map[string]string{"w": "a", filepath.Join(folder, "w"): "a", filepath.Join(granted, "in"): "b", granted + "/in/../in/": "b"} {
		dir := t.TempDir()
		_, _, err := Make(context.Background(), Options{Dir: dir, Folder: folder, Granted: []string{granted}}, &sdk.ExecWorkspace{From: from}, "")
		if _, has := listing(t, dir)[want]; err != nil || !has {
			t.Error(from, err)
		}
	}
	if _, _, err := Make(context.Background(), Options{Dir: t.TempDir()}, &sdk.ExecWorkspace{From: "w"}, ""); !isCode(err, sdk.Denied) {
		t.Error(err)
	}
	// A name that only begins like a granted folder isn't in it.
	if _, _, err := Make(context.Background(), Options{Dir: t.TempDir(), Granted: []string{granted}}, &sdk.ExecWorkspace{From: granted + "x"}, ""); !isCode(err, sdk.Denied) {
		t.Error(err)
	}
}

func TestMake_Limits(t *testing.T) {
	folder := tree(t, map[string]string{"a": "12345", "b/c": "67890", "b/d": ""})
	for _, c := range []struct {
		bytes int64
		files int
		want  string
	}{{9, 0, "4 files and 10 bytes (limits 100000 and 9)"}, {0, 3, "4 files and 10 bytes (limits 3 and 1073741824)"}, {10, 4, ""}} {
		dir := t.TempDir()
		_, _, err := Make(context.Background(), Options{Dir: dir, Folder: folder, Bytes: c.bytes, Files: c.files}, &sdk.ExecWorkspace{From: "."}, "")
		if c.want == "" && err == nil {
			continue
		}
		if c.want == "" || err == nil || !strings.Contains(err.Error(), c.want) || len(listing(t, dir)) > 0 {
			t.Error(err, listing(t, dir))
		}
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := Make(cancelled, Options{Dir: t.TempDir(), Folder: folder}, &sdk.ExecWorkspace{From: "."}, ""); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestReport(t *testing.T) {
	secret := filepath.Join(tree(t, map[string]string{"secret": "s"}), "secret")
	for name, c := range map[string]struct {
		after func(dir string) error // what the program does
		want  string
		bad   bool
	}{
		"nothing":       {func(string) error { return nil }, "", false},
		"a report":      {func(dir string) error { return os.WriteFile(dir+"/out/r", []byte("new"), 0o600) }, "new", false},
		"a link":        {func(dir string) error { return os.Symlink(secret, dir+"/out/r") }, "", true},
		"a link inside": {func(dir string) error { return os.Symlink("../a", dir+"/out/r") }, "", true},
		"a hard link":   {func(dir string) error { return os.Link(dir+"/a", dir+"/out/r") }, "", true},
		"a pipe":        {func(dir string) error { return syscall.Mkfifo(dir+"/out/r", 0o600) }, "", true},
		"a folder":      {func(dir string) error { return os.Mkdir(dir+"/out/r", 0o700) }, "", true},
		"a folder that's link": {func(dir string) error {
			return errors.Join(os.Rename(dir+"/out", dir+"/x"), os.Symlink(filepath.Dir(secret), dir+"/out"))
		}, "", true},
		"too much": {func(dir string) error { return os.WriteFile(dir+"/out/r", make([]byte, MaxReport+1), 0o600) }, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			folder := tree(t, map[string]string{"a": "a", "out/r": "old", "out/keep": ""})
			w, _, err := Make(context.Background(), Options{Dir: dir, Folder: folder}, &sdk.ExecWorkspace{From: "."}, "out/r")
			must(t, err)
			defer w.Close()
			must(t, c.after(dir))
			got, err := w.Report()
			if got != c.want || (err != nil) != c.bad {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}
