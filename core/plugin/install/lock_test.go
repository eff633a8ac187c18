package install_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/sdk"
)

func TestALockSurvivesAsItIs(t *testing.T) {
	w := judge(t)
	w.add()
	first, err := os.ReadFile(w.place.Lock)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := install.ReadLock(w.place.Lock)
	if err != nil {
		t.Fatal(err)
	}
	if len(lock.Plugins) != 1 || lock.Plugins[0].Name != "acme/judge" || lock.Plugins[0].Version != "1.2.3" {
		t.Fatalf("%+v", lock)
	}
	if got := slices.Sorted(maps.Keys(lock.Plugins[0].Files)); !slices.Equal(got, []string{"data/words", "judge", "plugin.yaml"}) {
		t.Errorf("it pins %v", got)
	}
	w.add()
	again, err := os.ReadFile(w.place.Lock)
	if err != nil || !bytes.Equal(first, again) {
		t.Errorf("the same package makes another lock: %v\n%s", err, cmp.Diff(string(first), string(again)))
	}
	if entries, err := os.ReadDir(filepath.Dir(w.place.Lock)); err != nil || len(entries) != 1 {
		t.Errorf("beside the lock is %v: %v", entries, err)
	}
}

func TestALockThatNobodyWroteIsRefused(t *testing.T) {
	sum := strings.Repeat("ab", 32)
	entry := func(more string) string {
		return `{"format": 1, "plugins": [{"name": "acme/judge", "version": "1.0.0", "granted": {}, "files": {"plugin.yaml": "` + sum + `"}` + more + `}]}`
	}
	if _, err := parse(t, entry("")); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct{ text, want string }{
		"no JSON":                   {"plugins:\n", "invalid character"},
		"an unknown key":            {entry(`, "trusted": true`), "trusted"},
		"something behind it":       {entry("") + "{}", "something follows"},
		"a name that climbs":        {strings.Replace(entry(""), "acme/judge", "../judge", 1), "no plugin's name"},
		"a name of another version": {strings.Replace(entry(""), "acme/judge", "acme/judge@2.0.0", 1), "no plugin's name"},
		"a name without version":    {strings.Replace(entry(""), "acme/judge", "acme/judge@", 1), "no plugin's name"},
		"a version that climbs":     {strings.Replace(entry(""), "1.0.0", "../../x", 1), "no version"},
		"a path that climbs":        {entry(`, "path": "../../etc"`), "doesn't stay below"},
		"an absolute path":          {entry(`, "path": "/etc"`), "doesn't stay below"},
		"a source that climbs":      {entry(`, "source": "../x"`), "neither stays below"},
		"a source of no kind":       {entry(`, "source": "ftp://a/x"`), "nor is the address of an archive"},
		"a source with a password":  {entry(`, "source": "https://a:b@c/x"`), "nor is the address of an archive"},
		"a source that steers":      {entry(`, "source": "https://c/x\u001b[2K"`), "nor is the address of an archive"},
		"a source over http":        {entry(`, "source": "http://c/x"`), "nor is the address of an archive"},
		"an archive's digest":       {entry(`, "archive": "x"`), "no SHA-256 of an archive"},
		"a file that climbs":        {strings.Replace(entry(""), `"plugin.yaml"`, `"plugin.yaml": "`+sum+`", "../x"`, 1), "no SHA-256 of a file"},
		"a digest that is none":     {strings.Replace(entry(""), sum, "abc", 1), "no SHA-256"},
		"a digest in upper case":    {strings.Replace(entry(""), sum, strings.ToUpper(sum), 1), "no SHA-256"},
		"no plugin.yaml":            {strings.Replace(entry(""), "plugin.yaml", "other.yaml", 1), "pins no plugin.yaml"},
		"a capability of no kind":   {strings.Replace(entry(""), `"granted": {}`, `"granted": {"network": ["*:1"]}`, 1), "names no host"},
		"a plugin twice":            {strings.Replace(entry(""), "]}", ","+entry("")[strings.Index(entry(""), "[")+1:], 1), "aren't sorted"},
		"more plugins than anyone":  {`{"format": 1, "plugins": [` + strings.Repeat("{},", 1000) + "{}]}", "more than 1000 plugins"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := parse(t, tt.text)
			wantError(t, err, sdk.Invalid, "lock_invalid", tt.want, "hint: take an earlier version of the file", `"verb":"plugin add"`)
		})
	}
	_, err := parse(t, strings.Replace(entry(""), `"format": 1`, `"format": 2`, 1))
	wantError(t, err, sdk.Incompatible, "lock_format", "has format 2; this program knows 1")
}

func parse(t *testing.T, text string) (*install.Lock, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), install.LockFile)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return install.ReadLock(file)
}

func TestAdditionsAtOnceLoseNothing(t *testing.T) {
	w := judge(t)
	var wg sync.WaitGroup
	const many = 16
	for n := range many {
		source := filepath.Join(w.dir, fmt.Sprint("source", n))
		write(t, source, map[string]string{"plugin.yaml": strings.Replace(judgeYAML, "judge\n", fmt.Sprintf("judge-%d\n", n), 1), "judge": fmt.Sprint(n)})
		wg.Go(func() {
			if _, err := install.Add(t.Context(), source, w.options); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	lock, err := install.ReadLock(w.place.Lock)
	if err != nil || len(lock.Plugins) != many {
		t.Fatalf("%d plugins are pinned, want %d: %v", len(lock.Plugins), many, err)
	}
}

func TestAnAdditionThatIsRefusedLeavesNothing(t *testing.T) {
	no := sdk.Errorf(sdk.Denied, "no", "no")
	for name, change := range map[string]func(*install.AddOptions){
		"by who is asked": func(o *install.AddOptions) { o.Approve = func(install.Request) error { return no } },
		"by a check":      func(o *install.AddOptions) { o.Check = func(context.Context, *install.Plugin) error { return no } },
	} {
		w := judge(t)
		change(&w.options)
		_, err := install.Add(t.Context(), w.source, w.options)
		wantError(t, err, sdk.Denied, "no")
		if _, err := os.Stat(w.place.Lock); !os.IsNotExist(err) {
			t.Errorf("%s: there is a lock: %v", name, err)
		}
		if left, _ := os.ReadDir(w.place.Dir); len(left) != 0 {
			t.Errorf("%s: the plugin folder holds %v", name, left)
		}
	}
}

func TestWhatIsCheckedIsWhatGetsPinned(t *testing.T) {
	w := judge(t)
	var text []byte
	w.options.Approve = func(install.Request) error {
		write(t, w.source, map[string]string{"judge": "another"})
		return nil
	}
	w.options.Check = func(_ context.Context, p *install.Plugin) (err error) {
		text, err = os.ReadFile(filepath.Join(p.Folder, "judge"))
		return err
	}
	p := w.add()
	if got := digest(string(text)); got != p.Locked.Files["judge"] || string(text) == "another" {
		t.Errorf("%q was checked, and %s is pinned", text, p.Locked.Files["judge"])
	}
	if _, err := os.Stat(filepath.Join(p.Folder, "judge")); err != nil {
		t.Errorf("the folder of what was added: %v", err)
	}
}

func TestApprovalSeesWhatIsNew(t *testing.T) {
	w := newWorld(t, map[string]string{"plugin.yaml": judgeYAML + "capabilities: {env: [A]}\n", "judge": "x"})
	var asked []install.Request
	w.options.Approve = func(r install.Request) error { asked = append(asked, r); return nil }
	w.add()
	write(t, w.source, map[string]string{"plugin.yaml": judgeYAML + "capabilities: {env: [A, B], host: [cache]}\n"})
	p := w.add()
	if asked[0].Before != nil || !slices.Equal(asked[0].New(), []string{"env:A"}) {
		t.Errorf("first: %+v", asked[0])
	}
	if !slices.Equal(asked[1].New(), []string{"env:B", "host:cache"}) || !slices.Equal(p.Locked.Granted.List(), []string{"env:A", "env:B", "host:cache"}) {
		t.Errorf("then: %v, granted %v", asked[1].New(), p.Locked.Granted)
	}
}

func TestAGrantNamesExactlyWhatIsAskedFor(t *testing.T) {
	p := &install.Package{Name: "a/b", Capabilities: plugin.Capabilities{Network: []string{"x.org:1"}, FS: []string{"/my files"}}}
	for _, grant := range [][]string{nil, {"network:x.org:1"}, {"network:x.org:1", "fs:/my files", "env:A"}, {"network"}} {
		wantError(t, install.Exactly(p, grant), sdk.Denied, "capability_not_granted", "hint: to grant that, add: --grant 'fs:/my files,network:x.org:1'")
	}
	if err := install.Exactly(p, []string{"network:x.org:1", "fs:/my files"}); err != nil {
		t.Error(err)
	}
	wantError(t, install.Exactly(&install.Package{Name: "a/b"}, []string{"env:A"}), sdk.Denied, "capability_not_granted", "leave out --grant")
}

func TestWhatCanNotBeAdded(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	write(t, filepath.Dir(outside), map[string]string{"secret": "x"})
	tests := map[string]struct {
		files  map[string]string
		change func(t *testing.T, w *world)
		code   sdk.Code
		reason string
		want   string
	}{
		"a folder without plugin.yaml": {files: map[string]string{"judge": "x"}, code: sdk.NotFound, reason: "package_not_found", want: "plugin.yaml"},
		"a program that isn't built":   {files: map[string]string{"plugin.yaml": judgeYAML}, code: sdk.Invalid, reason: "package_invalid", want: `its entry "judge" is no file`},
		"an interpreter that isn't asked for": {
			files: map[string]string{"plugin.yaml": strings.Replace(judgeYAML, "entry: judge", "entry: [python3, main.py]", 1), "main.py": ""},
			code:  sdk.Invalid, reason: "package_invalid", want: "capabilities: {fs: [system]}",
		},
		"a symbolic link to outside": {files: map[string]string{"plugin.yaml": judgeYAML, "judge": "x"}, code: sdk.Denied, reason: "package_file_refused", want: "symbolic link",
			change: func(t *testing.T, w *world) { symlink(t, outside, filepath.Join(w.source, "data")) }},
		"a program that is a link": {files: map[string]string{"plugin.yaml": judgeYAML}, code: sdk.Denied, reason: "package_file_refused", want: `"judge"`,
			change: func(t *testing.T, w *world) { symlink(t, outside, filepath.Join(w.source, "judge")) }},
		"a name that controls a terminal":    {files: map[string]string{"plugin.yaml": judgeYAML, "judge": "x", "a\u009b2K": ""}, code: sdk.Denied, reason: "package_file_refused", want: `"a\u009b2K"`},
		"a name that turns the text":         {files: map[string]string{"plugin.yaml": judgeYAML, "judge": "x", "a\u202eb": ""}, code: sdk.Denied, reason: "package_file_refused", want: `"a\u202eb"`},
		"a name that not every platform has": {files: map[string]string{"plugin.yaml": judgeYAML, "judge": "x", "a\nb": ""}, code: sdk.Denied, reason: "package_file_refused", want: `"a\nb"`},
		"in place, elsewhere": {files: map[string]string{"plugin.yaml": judgeYAML, "judge": "x"}, code: sdk.Invalid, reason: "not_below_lock", want: "leave out --in-place",
			change: func(_ *testing.T, w *world) { w.options.InPlace = true }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tt.files)
			if tt.change != nil {
				tt.change(t, w)
			}
			_, err := install.Add(t.Context(), w.source, w.options)
			wantError(t, err, tt.code, tt.reason, tt.want)
		})
	}
}

func symlink(t *testing.T, to, at string) {
	t.Helper()
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
}

func TestRemoveKeepsTheFilesUnlessPurged(t *testing.T) {
	w := judge(t)
	folder := w.add().Folder
	if err := install.Remove(w.place, "acme/judge", false); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(folder); err != nil || w.open().Find("acme/judge") != nil {
		t.Errorf("%v", err)
	}
	w.add()
	if err := install.Remove(w.place, "acme/judge", true); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the files are still there: %v", err)
	}
	wantError(t, install.Remove(w.place, "acme/judge", false), sdk.NotFound, "plugin_not_found")
}

// Two versions of a name are pinned next to each other, each with its copy, its grants and its name.
func TestAdd_SideBySide(t *testing.T) {
	w := judge(t)
	w.add()
	one := w.options
	one.SideBySide = true
	if _, err := install.Add(t.Context(), w.source, one); err != nil { // the same files as the one without a version
		t.Fatal(err)
	}
	write(t, w.source, map[string]string{"plugin.yaml": strings.Replace(judgeYAML, "1.2.3", "2.0.0", 1)})
	one.Approve = func(r install.Request) error {
		if r.Before != nil {
			t.Errorf("it replaces %v", r.Before)
		}
		return nil
	}
	if _, err := install.Add(t.Context(), w.source, one); err != nil {
		t.Fatal(err)
	}
	want := []string{"acme/judge 1.2.3", "acme/judge@1.2.3 1.2.3", "acme/judge@2.0.0 2.0.0"}
	check := func() *install.Set {
		t.Helper()
		set := w.open()
		var got []string
		for _, p := range set.Plugins() {
			got = append(got, p.Name+" "+p.Version)
			d := &driver{manifest: sdk.Manifest{Name: "judge", Version: p.Version, Kinds: []sdk.Kind{sdk.KindEvaluator}}}
			if _, err := set.Driver(d).Start(t.Context(), plugin.Installed{Name: p.Name}); err != nil {
				t.Errorf("%s: %v", p.Name, err)
			}
			if found, err := p.Verify(t.Context()); err != nil || len(found) > 0 {
				t.Errorf("%s: %v %v", p.Name, found, err)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		return set
	}
	check()

	// The copy that two names share stays until neither needs it.
	w.options.Purge = true
	write(t, w.source, map[string]string{"plugin.yaml": strings.Replace(judgeYAML, "1.2.3", "1.4.0", 1)})
	w.add()
	want[0] = "acme/judge 1.4.0"
	check()
	if pruned, err := install.Prune(w.place, false); err != nil || len(pruned.Removed) > 0 {
		t.Errorf("%v %v", pruned, err)
	}
	if err := install.Remove(w.place, "acme/judge@1.2.3", true); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(w.place.Dir, "acme/judge/1.2.3-*")); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	want = []string{want[0], want[2]}
	check()
}
