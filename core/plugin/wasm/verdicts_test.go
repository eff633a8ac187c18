package wasm_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/wasm"
	"github.com/reflectory/reflectory/sdk"
)

// kept lists the files of a verdict cache.
func kept(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "verdicts", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestVerdictsOfPureModulesAreKept(t *testing.T) {
	dir := t.TempDir()
	open := func() *wasm.Driver { return newDriver(t, wasm.Options{CacheDir: dir}) }
	pure := plugin.Installed{Path: cGuest}
	first, err := evaluate(start(t, open(), pure), do("work"), `1`)
	if err != nil || len(kept(t, dir)) != 1 {
		t.Fatalf("%v: %v", err, kept(t, dir))
	}
	again, err := evaluate(start(t, open(), pure), do("work"), `1`) // another host
	if err != nil || again.Verdict.Feedback != first.Verdict.Feedback || again.Metadata[wasm.MetadataFuel] != first.Metadata[wasm.MetadataFuel] {
		t.Errorf("%+v %v", again, err)
	}
	for name, tt := range map[string]struct {
		plugin plugin.Installed
		do     string
		more   int
	}{
		"the same":            {pure, "work", 0},
		"a small call":        {pure, "ok", 0},
		"an error":            {pure, "nan", 0},
		"with a network":      {plugin.Installed{Path: cGuest, Granted: plugin.Capabilities{Network: []string{"example.org:443"}}}, "work", 0},
		"with a service":      {plugin.Installed{Path: cGuest, Granted: plugin.Capabilities{Host: []plugin.Service{"cache"}}}, "work", 0},
		"with state":          {plugin.Installed{Path: cGuest, Stateful: true}, "work", 0},
		"with other fuel":     {plugin.Installed{Path: cGuest, Limits: plugin.Limits{Fuel: 50_000_000}}, "work", 1},
		"with other memory":   {plugin.Installed{Path: cGuest, Limits: plugin.Limits{MemoryBytes: 1 << 20}}, "work", 1},
		"with a variable":     {plugin.Installed{Path: cGuest, Env: []string{"A=1"}}, "work", 1},
		"with another config": {pure, `work","x":"`, 1},
	} {
		before := len(kept(t, dir))
		evaluate(start(t, open(), tt.plugin), do(tt.do), `1`)
		if got := len(kept(t, dir)) - before; got != tt.more {
			t.Errorf("%s: %d more kept", name, got)
		}
	}
}

// A pure module isn't sent which run it serves, so what it said in one is its answer in
// the next.
func TestAPureModuleKnowsNoRun(t *testing.T) {
	dir := t.TempDir()
	i := start(t, newDriver(t, wasm.Options{CacheDir: dir}), plugin.Installed{Path: cGuest})
	for _, run := range []string{"one", "two"} {
		req := &sdk.EvaluateRequest{Call: sdk.Call{RunID: run, IdempotencyKey: run + "/1/evaluate"}, Output: json.RawMessage("1")}
		results, err := i.Evaluate(t.Context(), do("work"), []*sdk.EvaluateRequest{req})
		if err != nil || results[0].Err != nil {
			t.Fatal(err, results)
		}
	}
	if files := kept(t, dir); len(files) != 1 {
		t.Errorf("%d answers to one question are kept", len(files))
	}
}

// A verdict that is read back isn't made again: what is on disk is believed, if
// its checksum is right.
func TestBrokenVerdictsAreIgnored(t *testing.T) {
	dir := t.TempDir()
	i := start(t, newDriver(t, wasm.Options{CacheDir: dir}), plugin.Installed{Path: cGuest})
	want := feedback(t, i, do("work"))
	file := kept(t, dir)[0]
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]string{
		"changed":   strings.Replace(string(good), "300000", "300001", 1),
		"cut short": string(good[:len(good)-1]),
		"empty":     "",
	} {
		if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := feedback(t, i, do("work")); got != want {
			t.Errorf("%s: %s", name, got)
		}
		if now, _ := os.ReadFile(file); string(now) != string(good) {
			t.Errorf("%s: it wasn't written again", name)
		}
	}
}

func TestTheOldestVerdictsGoFirst(t *testing.T) {
	dir := t.TempDir()
	d := newDriver(t, wasm.Options{CacheDir: dir, VerdictCacheBytes: 500})
	i := start(t, d, plugin.Installed{Path: cGuest})
	var last string
	for _, n := range []string{"1", "2", "3", "4", "5", "6"} {
		if _, err := evaluate(i, do("work"), n); err != nil {
			t.Fatal(err)
		}
		last = kept(t, dir)[0]
	}
	var size int64
	for _, f := range kept(t, dir) {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if size > 500 || last == "" {
		t.Errorf("%d bytes are kept", size)
	}
	before := len(kept(t, dir))
	if err := os.WriteFile(filepath.Join(dir, "verdicts", ".new-1"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	newDriver(t, wasm.Options{CacheDir: dir, VerdictCacheBytes: 500})
	if _, err := os.Stat(filepath.Join(dir, "verdicts", ".new-1")); err == nil || len(kept(t, dir)) != before {
		t.Error("what was cut short is left, or what wasn't is gone")
	}
}

func TestTheCacheIsPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	newDriver(t, wasm.Options{CacheDir: dir})
	for _, sub := range []string{"", "code", "modules", "verdicts"} {
		info, err := os.Stat(filepath.Join(dir, sub))
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v %v", sub, info.Mode(), err)
		}
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := wasm.New(wasm.Options{CacheDir: filepath.Join(file, "x")}); sdk.ReasonOf(err) != "cache_unusable" {
		t.Error(err)
	}
}

func TestWhatIsKeptIsMeasured(t *testing.T) {
	dir := t.TempDir()
	if u, err := wasm.Measure(filepath.Join(dir, "none")); err != nil || u.CodeBytes+u.ModuleBytes+u.VerdictBytes != 0 || u.VerdictLimit != 64<<20 {
		t.Errorf("of no folder: %+v %v", u, err)
	}
	feedback(t, start(t, newDriver(t, wasm.Options{CacheDir: dir}), plugin.Installed{Path: cGuest}), do("work"))
	u, err := wasm.Measure(dir)
	if err != nil || u.CodeBytes == 0 || u.ModuleBytes == 0 || u.Verdicts != len(kept(t, dir)) || u.Verdicts != 1 || u.VerdictBytes == 0 {
		t.Errorf("%+v %v", u, err)
	}
}
