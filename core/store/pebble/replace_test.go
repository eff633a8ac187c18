package pebble

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/reflectory/reflectory/sdk"
)

func TestNobodyOpensAStoreThatIsBeingReplaced(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "store")
	staged, err := Stage(t.Context(), Options{Dir: target}, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Options{Dir: target}); sdk.ReasonOf(err) != "store_locked" {
		t.Errorf("open: %v", err)
	}
	if _, err := Stage(t.Context(), Options{Dir: target}, true); sdk.ReasonOf(err) != "store_locked" {
		t.Errorf("stage: %v", err)
	}
	staged.Discard()
	staged.Discard()
	if _, err := os.Stat(filepath.Join(target, holderFile)); !os.IsNotExist(err) {
		t.Errorf("the holder file: %v", err)
	}
	if got := value(t, target); got != "" {
		t.Errorf("%q", got)
	}
	only(t, dir, "store")
}

// TestAKilledReplacementLeavesAWholeStore: wherever it stopped, the next open finds
// the old store or the new one.
func TestAKilledReplacementLeavesAWholeStore(t *testing.T) {
	cases := []struct {
		name    string
		folders map[string]string
		want    string
	}{
		{"while it was made", map[string]string{"store": "old", "store.staged-1": "new"}, "old"},
		{"before the first rename", map[string]string{"store": "old", "store.ready": "new"}, "old"},
		{"between the renames", map[string]string{"store.replaced": "old", "store.ready": "new"}, "new"},
		{"before the old one was removed", map[string]string{"store": "new", "store.replaced": "old"}, "new"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, value := range c.folders {
				made(t, filepath.Join(dir, name), value)
			}
			target := filepath.Join(dir, "store")
			if got := value(t, target); got != c.want {
				t.Errorf("the store holds %q", got)
			}
			only(t, dir, "store") // the rest holds what a purge couldn't find
			// And the next replacement works.
			if err := Restore(t.Context(), made(t, filepath.Join(dir, "backup"), "next"), Options{Dir: target}, true); err != nil {
				t.Fatal(err)
			}
			if got := value(t, target); got != "next" {
				t.Errorf("then it holds %q", got)
			}
			only(t, dir, "backup", "store")
		})
	}
}

// TestACopyTakesThePlaceOfItsStore: also where a replacement was killed before.
func TestACopyTakesThePlaceOfItsStore(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "store")
	made(t, target+readySuffix, "old")
	made(t, target+replacedSuffix, "older")
	staged, err := StageCopy(t.Context(), Options{Dir: target})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := staged.Scratch(); err != nil {
		t.Fatal(err)
	}
	if got := value(t, staged.Dir); got != "old" {
		t.Errorf("the copy holds %q", got)
	}
	if err := staged.Install(); err != nil {
		t.Fatal(err)
	}
	if got := value(t, target); got != "old" {
		t.Errorf("the store holds %q", got)
	}
	only(t, dir, "store")
}
