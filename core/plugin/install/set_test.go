package install_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/sdk"
)

func TestWhatStartsIsAPrivateCopyOfWhatWasPinned(t *testing.T) {
	w := judge(t)
	locked := w.add()
	set, d := w.open(), &driver{}
	for range 2 {
		if err := start(t, set, d); err != nil {
			t.Fatal(err)
		}
	}
	got := d.got[0]
	if got.Path == d.got[1].Path && got.Digest == locked.Locked.Files["judge"] && got.Path == filepath.Join(got.Dir, "judge") {
		for name, want := range map[string]string{"judge": "#!/bin/true\n", "data/words": "a\n", "plugin.yaml": judgeYAML} {
			path := filepath.Join(got.Dir, name)
			text, err := os.ReadFile(path)
			info, _ := os.Stat(path)
			if err != nil || string(text) != want || info.Mode().Perm()&0o222 != 0 || info.Mode().Perm()&0o500 != 0o500 {
				t.Errorf("%s: %v %v %q", name, err, info.Mode(), text)
			}
		}
	} else {
		t.Errorf("started %+v and %+v", got, d.got[1])
	}
	if got.Source != locked.Folder {
		t.Errorf("messages would name %s, not %s", got.Source, locked.Folder)
	}
	if strings.HasPrefix(got.Dir, locked.Folder) {
		t.Errorf("the installed files themselves were started: %s", got.Dir)
	}
	if err := set.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(got.Dir)); !os.IsNotExist(err) {
		t.Errorf("the private folder is left: %v", err)
	}
}

func TestOnlyWhatIsUsedIsCopied(t *testing.T) {
	w := judge(t)
	w.add()
	set := w.open()
	if found, _ := filepath.Glob(filepath.Join(w.dir, "reflectory-plugins-*")); len(found) != 0 {
		t.Errorf("before any use there is %v", found)
	}
	if list := set.Installed(); len(list) != 1 || list[0].Name != "acme/judge" || list[0].Version != "1.2.3" || list[0].Path != "" {
		t.Errorf("installed %+v", list)
	}
}

func TestWhatIsNotAsPinnedDoesNotStart(t *testing.T) {
	tests := map[string]struct {
		change func(t *testing.T, folder string)
		reason string
		want   []string
	}{
		"a changed byte": {func(t *testing.T, folder string) {
			write(t, folder, map[string]string{"judge": "#!/bin/trux\n"})
		}, "checksum_mismatch", []string{
			"plugin acme/judge is not what ", "judge: wanted SHA-256 " + digest("#!/bin/true\n") + ", got " + digest("#!/bin/trux\n"), "hint: restore it from a package that you trust\n", `try: {"verb":"plugin add","args":{"path":null}}`,
		}},
		"a changed file that isn't the program": {func(t *testing.T, folder string) {
			write(t, folder, map[string]string{"data/words": "b\n"})
		}, "checksum_mismatch", []string{"words: wanted SHA-256 "}},
		"a changed plugin.yaml": {func(t *testing.T, folder string) {
			write(t, folder, map[string]string{"plugin.yaml": judgeYAML + "capabilities: {env: [HOME]}\n"})
		}, "checksum_mismatch", []string{"plugin.yaml: wanted", "it now asks for more than it was granted: env:HOME", `"grant":"env:HOME"`}},
		"an added file": {func(t *testing.T, folder string) {
			write(t, folder, map[string]string{"data/more": ""})
		}, "package_changed", []string{"more: no such file is pinned"}},
		"a missing file": {func(t *testing.T, folder string) {
			remove(t, filepath.Join(folder, "data", "words"))
		}, "package_changed", []string{"words: the file is gone"}},
		"a link in the place of a file": {func(t *testing.T, folder string) {
			remove(t, filepath.Join(folder, "judge"))
			symlink(t, "/bin/sh", filepath.Join(folder, "judge"))
		}, "package_file_refused", []string{"symbolic link"}},
		"a link in the place of a folder": {func(t *testing.T, folder string) {
			remove(t, filepath.Join(folder, "data"))
			symlink(t, "/etc", filepath.Join(folder, "data"))
		}, "package_file_refused", []string{"symbolic link"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := judge(t)
			p := w.add()
			tt.change(t, p.Folder)
			d := &driver{}
			wantError(t, start(t, w.open(), d), sdk.Denied, tt.reason, tt.want...)
			if len(d.got) != 0 {
				t.Errorf("it was started: %+v", d.got)
			}
		})
	}
}

// The order of paths isn't the order in which folders are walked: a-b/x comes before a/x.
func TestNames_AreComparedWhateverTheirOrder(t *testing.T) {
	for _, names := range [][]string{
		{"a/x", "a-b/x"}, {"a/x", "a.b"}, {"a/x", "a b/x"}, {"a/x", "a!"}, {"a/b/x", "a/b-c/x"}, {"a/x", "a+/x", "a-/x", "a/y"},
		{"node_modules/ajv/lib/ajv.js", "node_modules/ajv-formats/LICENSE"}, {"a-b/x", "a-b.c/x", "a/x"}, {"a/x", "a0", "a.d/y/z"},
	} {
		files := map[string]string{"plugin.yaml": judgeYAML, "judge": "#!/bin/true\n"}
		for _, name := range names {
			files[name] = name
		}
		w := newWorld(t, files)
		w.add()
		if err := start(t, w.open(), &driver{}); err != nil {
			t.Errorf("%q: %v", names, err)
		}
	}
}

func digest(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

// The bytes that were compared with the lock are those that run, whatever becomes
// of the installed file afterwards.
func TestASwapAfterTheComparisonChangesNothing(t *testing.T) {
	w := judge(t)
	p := w.add()
	set, d := w.open(), &driver{}
	if err := start(t, set, d); err != nil {
		t.Fatal(err)
	}
	write(t, p.Folder, map[string]string{"judge": "evil"})
	if err := start(t, set, d); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(d.got[1].Path); err != nil || string(text) != "#!/bin/true\n" {
		t.Errorf("what runs is %q: %v", text, err)
	}
}

func TestAPinnedPluginThatIsNotHereSaysHowToInstallIt(t *testing.T) {
	w := judge(t)
	remove(t, w.add().Folder)
	set := w.open()
	wantError(t, start(t, set, &driver{}), sdk.NotFound, "package_not_installed", "isn't on this machine", `"verb":"plugin add"`)
	if set.Find("acme/judge").Problem == nil {
		t.Error("it has no problem")
	}
}

func TestMoreThanTheLockGrantsIsRefused(t *testing.T) {
	w := newWorld(t, map[string]string{"plugin.yaml": judgeYAML + "capabilities: {network: ['a.org:1', 'b.org:2']}\n", "judge": "x"})
	w.add()
	text, err := os.ReadFile(w.place.Lock)
	if err != nil {
		t.Fatal(err)
	}
	less := strings.Replace(string(text), "\"a.org:1\",\n", "", 1)
	write(t, filepath.Dir(w.place.Lock), map[string]string{install.LockFile: less})
	wantError(t, start(t, w.open(), &driver{}), sdk.Denied, "capability_not_granted",
		"grants: network:a.org:1 (granted: network:b.org:2)", "hint: if you grant that, pin it again\n",
		`try: {"verb":"plugin add","args":{"grant":"network:a.org:1,network:b.org:2","path":null}}`)
}

func TestAPluginThatLiesOfItselfIsEnded(t *testing.T) {
	evaluator := []sdk.Kind{sdk.KindEvaluator}
	tests := map[string]struct {
		manifest sdk.Manifest
		want     string
	}{
		"another name":     {sdk.Manifest{Name: "other", Version: "1.2.3", Kinds: evaluator}, "it says name other, not judge"},
		"another version":  {sdk.Manifest{Name: "judge", Version: "1.2.4", Kinds: evaluator}, "it says version 1.2.4, not 1.2.3"},
		"more kinds":       {sdk.Manifest{Name: "judge", Version: "1.2.3", Kinds: []sdk.Kind{"generator", "evaluator"}}, "it says kinds evaluator+generator, not evaluator"},
		"a capability":     {sdk.Manifest{Name: "judge", Version: "1.2.3", Kinds: evaluator, Capabilities: []string{"network"}}, "it says that it needs network"},
		"one more of many": {sdk.Manifest{Name: "judge", Version: "1.2.3", Kinds: evaluator, Capabilities: []string{"env", "env:A", "env:B"}}, "it says that it needs env:B"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, map[string]string{"plugin.yaml": judgeYAML + "capabilities: {env: [A]}\n", "judge": "x"})
			w.add()
			d := &driver{manifest: tt.manifest}
			err := start(t, w.open(), d)
			wantError(t, err, sdk.Invalid, "manifest_mismatch", "the manifest of plugin acme/judge contradicts its plugin.yaml", tt.want)
			if d.killed == nil {
				t.Error("it still runs")
			}
		})
	}
}

func TestTheFirstLockCountsAndDevelopmentComesBefore(t *testing.T) {
	first, second := judge(t), judge(t)
	write(t, second.source, map[string]string{"plugin.yaml": strings.Replace(judgeYAML, "1.2.3", "2.0.0", 1)})
	first.add()
	second.add()
	both := func(o *install.Options) { o.Places = append(o.Places, second.place) }
	if p := first.open(both).Find("acme/judge"); p.Version != "1.2.3" || p.Dev() {
		t.Errorf("%+v", p)
	}
	var warned []string
	set := first.open(both, func(o *install.Options) {
		o.Dev = []string{second.source}
		o.Warn = func(p *install.Plugin) { warned = append(warned, p.Name+" "+p.Folder) }
	})
	if p := set.Find("acme/judge"); p.Version != "2.0.0" || !p.Dev() || len(warned) != 0 {
		t.Errorf("%+v, warned %v", p, warned)
	}
	d := &driver{manifest: sdk.Manifest{Name: "judge", Version: "2.0.0", Kinds: []sdk.Kind{"evaluator"}}}
	for range 2 {
		if err := start(t, set, d); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(warned, []string{"acme/judge " + second.source}) {
		t.Errorf("warned %v", warned)
	}
}

func TestAnEntryIsForThisPlatform(t *testing.T) {
	here := runtime.GOOS + "/" + runtime.GOARCH
	yaml := strings.Replace(judgeYAML, "entry: judge", fmt.Sprintf("entry: {plan9/mips: other, %s: [judge, --words, data/words, --n, '3']}", here), 1)
	w := newWorld(t, map[string]string{"plugin.yaml": yaml, "judge": "x", "other": "y", "data/words": "a"})
	w.add()
	d := &driver{}
	if err := start(t, w.open(), d); err != nil {
		t.Fatal(err)
	}
	got := d.got[0]
	if want := []string{"--words", filepath.Join(got.Dir, "data", "words"), "--n", "3"}; !slices.Equal(got.Args, want) {
		t.Errorf("arguments %q, want %q", got.Args, want)
	}
	if _, err := os.Stat(filepath.Join(got.Dir, "other")); !os.IsNotExist(err) {
		t.Error("another platform's program was copied")
	}
	write(t, w.source, map[string]string{"plugin.yaml": strings.Replace(judgeYAML, "entry: judge", "entry: {plan9/mips: other}", 1)})
	w.add()
	wantError(t, start(t, w.open(), d), sdk.Incompatible, "platform_unsupported", "no entry for "+here+"; it has plan9/mips")
}

func TestASystemProgramRunsAPackagesFile(t *testing.T) {
	w := newWorld(t, map[string]string{"run.sh": "exit", "plugin.yaml": strings.Replace(judgeYAML, "entry: judge", "entry: [sh, run.sh]\ncapabilities: {fs: [system]}", 1)})
	w.add()
	d := &driver{}
	if err := start(t, w.open(), d); err != nil {
		t.Fatal(err)
	}
	if got := d.got[0]; filepath.Base(got.Path) != "sh" || !slices.Equal(got.Args, []string{filepath.Join(got.Dir, "run.sh")}) || got.Digest != "" {
		t.Errorf("started %+v", got)
	}
	write(t, w.source, map[string]string{"plugin.yaml": strings.Replace(judgeYAML, "entry: judge", "entry: [no-such-program, run.sh]\ncapabilities: {fs: [system]}", 1)})
	w.add()
	wantError(t, start(t, w.open(), d), sdk.NotFound, "program_not_found", "hint: install no-such-program")
}

func TestAPackageInPlaceIsUsedWhereItIs(t *testing.T) {
	w := judge(t)
	w.source = filepath.Join(filepath.Dir(w.place.Lock), "plugins", "judge")
	write(t, w.source, map[string]string{"plugin.yaml": judgeYAML, "judge": "x"})
	w.options.InPlace = true
	if p := w.add(); p.Folder != w.source || p.Locked.Path != "plugins/judge" {
		t.Errorf("%+v", p)
	}
	if err := start(t, w.open(), &driver{}); err != nil {
		t.Fatal(err)
	}
	write(t, w.source, map[string]string{"judge": "y"})
	wantError(t, start(t, w.open(), &driver{}), sdk.Denied, "checksum_mismatch", `"args":{"in_place":true,"path":"`+w.source+`"}`)
	if err := install.Remove(w.place, "acme/judge", true); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(w.source); err != nil {
		t.Errorf("purging deleted the author's files: %v", err)
	}
}

func TestVerifyComparesTheFilesOfEveryPlatform(t *testing.T) {
	yaml := strings.Replace(judgeYAML, "entry: judge", fmt.Sprintf("entry: {plan9/mips: other, %s/%s: judge}", runtime.GOOS, runtime.GOARCH), 1)
	w := newWorld(t, map[string]string{"plugin.yaml": yaml, "judge": "x", "other": "y", "z": "z"})
	p := w.add()
	if found, err := p.Verify(t.Context()); err != nil || len(found) != 0 {
		t.Fatalf("%v, %v", found, err)
	}
	write(t, p.Folder, map[string]string{"other": "changed", "added": ""})
	remove(t, filepath.Join(p.Folder, "z"))
	found, err := p.Verify(t.Context())
	var names []string
	for _, d := range found {
		names = append(names, d.File)
	}
	if err != nil || !slices.Equal(names, []string{"added", "z", "other"}) || len(found[0].Got) != 64 || found[1].Got != "" {
		t.Errorf("%v, %v", found, err)
	}
}

func TestPrivateFoldersOfKilledProgramsAreSwept(t *testing.T) {
	w := judge(t)
	w.add()
	held := w.open()
	if err := start(t, held, &driver{}); err != nil {
		t.Fatal(err)
	}
	inUse, _ := filepath.Glob(filepath.Join(w.dir, "reflectory-plugins-*"))
	left, young, file := filepath.Join(w.dir, "reflectory-plugins-1"), filepath.Join(w.dir, "reflectory-plugins-2"), filepath.Join(w.dir, "reflectory-plugins-3")
	write(t, left, map[string]string{"a/b": "c"})
	write(t, young, map[string]string{"a": "b"})
	write(t, w.dir, map[string]string{filepath.Base(file): "a file"})
	for _, path := range append(inUse, left, file) {
		age(t, path)
	}
	if err := start(t, w.open(), &driver{}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{inUse[0]: true, left: false, young: true, file: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
}
