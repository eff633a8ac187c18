package wasm_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/wasm"
	"github.com/reflectory/reflectory/sdk"
)

// bomb is the file of a module of coretest.CompileBombs.
func bomb(t testing.TB, name string) string {
	t.Helper()
	for _, b := range coretest.CompileBombs() {
		if b.Name == name {
			return moduleFile(t, b.Module())
		}
	}
	t.Fatal("no such bomb: " + name)
	return ""
}

// A module that would cost the host too much is refused before an engine sees it, and the
// driver keeps working.
func TestCompile_RefusesBombsBeforeTheEngine(t *testing.T) {
	d := newDriver(t, wasm.Options{})
	for _, b := range coretest.CompileBombs() {
		if !b.Refused {
			continue
		}
		p := plugin.Installed{Name: "acme/bomb", Runtime: plugin.RuntimeWASM, Path: moduleFile(t, b.Module())}
		_, err := d.Compile(t.Context(), p)
		if sdk.ReasonOf(err) != "module_too_complex" || !strings.Contains(err.Error(), "acme/bomb") || sdk.AsError(err).Hint == "" {
			t.Errorf("%s: %v", b.Name, err)
		}
		if _, err := d.Start(t.Context(), p); sdk.ReasonOf(err) != "module_too_complex" {
			t.Errorf("%s: start: %v", b.Name, err)
		}
		if _, err := wasm.Inspect(t.Context(), p); sdk.ReasonOf(err) != "module_too_complex" {
			t.Errorf("%s: inspect: %v", b.Name, err)
		}
	}
	if got := feedback(t, start(t, d, plugin.Installed{Path: cGuest}), do("count")); got != "1" {
		t.Errorf("a good module after them: %s", got)
	}
}

// Each limit of a compilation is named when it is passed.
func TestCompile_NamesTheLimitThatIsPassed(t *testing.T) {
	coretest.Long(t)
	if coretest.Plain(t) {
		return
	}
	for limit, tt := range map[string]struct {
		bomb   string
		limits wasm.CompileLimits
		says   string
	}{
		"cpu":  {"a br_table of 999,999", wasm.CompileLimits{CPU: time.Second}, "more than 1s of processor time"},
		"time": {"a br_table of 999,999", wasm.CompileLimits{Wall: 100 * time.Millisecond}, "longer than 100ms"},
		"load": {"200 functions of 49,999 locals", wasm.CompileLimits{}, "MiB to load (limit 64 MiB)"},
	} {
		d := newDriver(t, wasm.Options{Compile: tt.limits, CacheDir: t.TempDir()})
		_, err := d.Compile(t.Context(), plugin.Installed{Name: "acme/bomb", Path: bomb(t, tt.bomb)})
		if sdk.ReasonOf(err) != "compile_limit" || sdk.AsError(err).Details["limit"] != limit || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", limit, err)
		}
	}
}

// Who gives up waiting needn't wait for the compiler's end, and neither does the
// end of the driver.
func TestCompile_EndsWithTheDriver(t *testing.T) {
	dir := t.TempDir()
	d, err := wasm.New(wasm.Options{CacheDir: dir, Compile: wasm.CompileLimits{CPU: time.Hour, Wall: time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := d.Compile(ctx, plugin.Installed{Name: "acme/bomb", Path: bomb(t, "a br_table of 999,999")}); err == nil {
		t.Error("it compiled")
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	entries, err := filepath.Glob(filepath.Join(dir, "compile-*"))
	if err != nil || len(entries) > 0 {
		t.Errorf("%v is left of the compiler (%v)", entries, err)
	}
}

// What is kept is enough for another driver of the folder, which compiles nothing: its
// own compiler wouldn't have the time to begin.
func TestCompile_IsDoneOnce(t *testing.T) {
	dir := t.TempDir()
	guest := plugin.Installed{Name: "guest", Path: cGuest}
	if _, err := newDriver(t, wasm.Options{CacheDir: dir}).Compile(t.Context(), guest); err != nil {
		t.Fatal(err)
	}
	hasty := wasm.CompileLimits{Wall: time.Nanosecond}
	i := start(t, newDriver(t, wasm.Options{CacheDir: dir, Compile: hasty}), guest)
	if got := feedback(t, i, do("count")); got != "1" {
		t.Error(got)
	}
	if _, err := newDriver(t, wasm.Options{CacheDir: t.TempDir(), Compile: hasty}).Compile(t.Context(), guest); err == nil {
		t.Error("its compiler has the time")
	}
}

// What is kept of a module is looked at before it is trusted: the host never
// compiles in the place of what is gone.
func TestCompile_MakesAgainWhatIsGone(t *testing.T) {
	dir := t.TempDir()
	run := func() {
		t.Helper()
		i := start(t, newDriver(t, wasm.Options{CacheDir: dir, VerdictCacheBytes: -1}), plugin.Installed{Path: cGuest})
		if got := feedback(t, i, do("count")); got != "1" {
			t.Error(got)
		}
	}
	run()
	files := func(pattern string) []string {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: %v %v", pattern, found, err)
		}
		return found
	}
	code, err := os.ReadFile(files("code/*/*")[0])
	if err != nil {
		t.Fatal(err)
	}
	flip := func(path string, at int64) {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		b := make([]byte, 1)
		_, err = f.ReadAt(b, at)
		b[0] ^= 1
		if _, writeErr := f.WriteAt(b, at); err != nil || writeErr != nil {
			t.Fatal(err, writeErr)
		}
	}
	const functionOffsets = 20 // behind the engine's header; its checksum leaves them out
	for _, damage := range []func(){
		func() { flip(files("code/*/*")[0], functionOffsets) },
		func() { flip(files("modules/*")[0], 2000) },
		func() { _ = os.Remove(files("code/*/*")[0]) },
		func() { _ = os.Truncate(files("code/*/*")[0], 100) },
		func() { _ = os.Truncate(files("modules/*")[0], 100) },
		func() { _ = os.Remove(files("modules/*")[0]) },
	} {
		damage()
		run()
		if now, err := os.ReadFile(files("code/*/*")[0]); err != nil || !bytes.Equal(now, code) {
			t.Errorf("%d bytes, %v", len(now), err)
		}
	}
}

func TestTheFoldersOfModulesArePrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	start(t, newDriver(t, wasm.Options{CacheDir: dir}), plugin.Installed{Path: cGuest})
	for _, folder := range []string{"", "code", "modules", "verdicts"} {
		if info, err := os.Stat(filepath.Join(dir, folder)); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%q: %v %v", folder, info, err)
		}
	}
}

// What is in the folder is run as the host's own code, so nobody else may have had a
// hand in it.
func TestAFolderThatOthersMayWriteToIsRefused(t *testing.T) {
	for name, make := range map[string]func(dir string) error{
		"writable": func(dir string) error { return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o777)) },
		"writable within": func(dir string) error {
			return errors.Join(os.MkdirAll(filepath.Join(dir, "code"), 0o700), os.Chmod(filepath.Join(dir, "code"), 0o770))
		},
		"a link to elsewhere": func(dir string) error {
			elsewhere := dir + "-elsewhere"
			return errors.Join(os.Mkdir(elsewhere, 0o755), os.Symlink(elsewhere, dir))
		},
		"somebody else's": func(dir string) error {
			if os.Getuid() != 0 { // who can't give a folder away
				return errors.Join(os.Mkdir(dir, 0o777), os.Chmod(dir, 0o777))
			}
			return errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, 54321, 54321))
		},
	} {
		dir := filepath.Join(t.TempDir(), "cache")
		if err := make(dir); err != nil {
			t.Fatal(err)
		}
		before, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		d, err := wasm.New(wasm.Options{CacheDir: dir})
		if err == nil {
			_ = d.Close()
		}
		if sdk.ReasonOf(err) != "cache_unusable" || !strings.Contains(err.Error(), dir) || sdk.AsError(err).Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
		if after, err := os.Stat(dir); err != nil || after.Mode() != before.Mode() {
			t.Errorf("%s: its mode was %v, and is %v (%v)", name, before.Mode(), after.Mode(), err)
		}
	}
}

// A driver without a folder of its own leaves nothing behind.
func TestATemporaryCacheEndsWithItsDriver(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	d, err := wasm.New(wasm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Compile(t.Context(), plugin.Installed{Name: "guest", Path: cGuest}); err != nil {
		t.Error(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(entries) > 0 {
		t.Errorf("%v %v", entries, err)
	}
}
