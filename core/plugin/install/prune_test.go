package install_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/sdk"
)

// version writes the world's package as another version.
func (w *world) version(v string) {
	w.t.Helper()
	write(w.t, w.source, map[string]string{"plugin.yaml": strings.Replace(judgeYAML, "1.2.3", v, 1)})
}

// Five versions were added, the last one by a second project too, an older one by a third
// that is gone: only what a lock still names is kept.
func TestPrune_KeepsWhatALockNames(t *testing.T) {
	w := judge(t)
	for _, v := range []string{"1.0.0", "1.1.0", "1.2.0", "1.3.0"} {
		w.version(v)
		w.add()
	}
	second, third := *w, *w
	second.options.Place.Lock = filepath.Join(w.dir, "second", install.LockFile)
	third.options.Place.Lock = filepath.Join(w.dir, "third", install.LockFile)
	kept := second.add().Folder
	w.version("1.4.0")
	mine := w.add().Folder
	w.version("0.9.0")
	gone := third.add().Folder
	if err := os.Remove(third.options.Place.Lock); err != nil {
		t.Fatal(err)
	}

	for _, dryRun := range []bool{true, false} {
		pruned, err := install.Prune(w.place, dryRun)
		if err != nil {
			t.Fatal(err)
		}
		if len(pruned.Removed) != 4 || pruned.Removed[0] != gone || pruned.Bytes == 0 {
			t.Errorf("dry run %t: %+v", dryRun, pruned)
		}
		if diff := cmp.Diff([]string{w.place.Lock, second.options.Place.Lock}, pruned.Locks); diff != "" {
			t.Error(diff)
		}
		for folder, wanted := range map[string]bool{kept: true, mine: true, gone: dryRun} {
			if _, err := os.Stat(folder); (err == nil) != wanted {
				t.Errorf("dry run %t: %s: %v", dryRun, folder, err)
			}
		}
	}
	if again, err := install.Prune(w.place, false); err != nil || len(again.Removed) != 0 {
		t.Errorf("a second time: %+v, %v", again, err)
	}

	// What a damaged lock pins isn't known, so nothing is deleted.
	write(t, filepath.Dir(second.options.Place.Lock), map[string]string{install.LockFile: "{"})
	if _, err := install.Prune(w.place, false); sdk.ReasonOf(err) != "lock_invalid" {
		t.Errorf("beside a damaged lock: %v", err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
}

// The name of the plugin folder isn't a pattern.
func TestPrune_TakesAnyFolder(t *testing.T) {
	w := judge(t)
	w.place.Dir = filepath.Join(w.dir, "plu[g]ins*")
	w.options.Place = w.place
	gone := w.add().Folder
	w.version("1.4.0")
	w.add()
	if pruned, err := install.Prune(w.place, false); err != nil || !slices.Equal(pruned.Removed, []string{gone}) {
		t.Errorf("%+v %v", pruned, err)
	}
}

// What a killed program was adding is removed by the next one that adds or prunes.
func TestPrune_RemovesWhatWasNeverAdded(t *testing.T) {
	w := judge(t)
	w.add()
	for name, next := range map[string]func(){
		"add": func() { w.add() },
		"prune": func() {
			if _, err := install.Prune(w.place, false); err != nil {
				t.Error(err)
			}
		},
	} {
		left := filepath.Join(w.place.Dir, ".adding-123")
		write(t, left, map[string]string{"judge": "#!/bin/true\n"})
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(left, old, old); err != nil {
			t.Fatal(err)
		}
		next()
		if entries, err := filepath.Glob(filepath.Join(w.place.Dir, ".adding-*")); err != nil || len(entries) > 0 {
			t.Errorf("%s leaves %v (%v)", name, entries, err)
		}
	}
}

func TestRequest_SaysWhatIsReplaced(t *testing.T) {
	asks := "capabilities: {fs: [system], env: [WORDS]}\n"
	w := newWorld(t, map[string]string{"plugin.yaml": judgeYAML + asks, "judge": "#!/bin/true\n"})
	var replaced []string
	w.options.Approve = func(r install.Request) error {
		replaced = r.Replaced()
		return nil
	}
	for _, step := range []struct {
		files map[string]string
		want  []string
	}{
		{nil, nil},
		{nil, nil}, // the same again
		{map[string]string{"judge": "#!/bin/false\n"}, []string{"other files of the same version"}},
		{map[string]string{"plugin.yaml": strings.Replace(judgeYAML, "1.2.3", "1.10.0", 1) + asks}, []string{"version 1.2.3"}},
		{map[string]string{"plugin.yaml": strings.Replace(judgeYAML, "1.2.3", "1.9.0", 1)},
			[]string{"1.10.0, so it is a downgrade", "what was granted env:WORDS, fs:system"}},
	} {
		write(t, w.source, step.files)
		w.add()
		if diff := cmp.Diff(step.want, replaced); diff != "" {
			t.Errorf("%v: %s", step.files, diff)
		}
	}
}
