package store_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

// TestPrune_AFileThatWasChangedIsFound changes each line, and the whole.
func TestPrune_AFileThatWasChangedIsFound(t *testing.T) {
	a := newArchive(t, mem.Open())
	o := a.options(6)
	o.BatchKeys = 1000
	_, err := store.Prune(t.Context(), a.writer(), o)
	a.must(err)
	for _, path := range a.files() {
		data, err := os.ReadFile(path)
		a.must(err)
		lines := strings.SplitAfter(string(data), "\n")
		changed := map[string]string{
			"cut": string(data[:len(data)/2]), "without its last line end": strings.TrimSuffix(string(data), "\n"),
			"line ends of another system": strings.ReplaceAll(string(data), "\n", "\r\n"), "empty": "", "another file": "{}\n",
			"more after it": string(data) + lines[len(lines)-2], "twice": string(data) + strings.Join(lines[1:], ""),
		}
		for i, line := range lines {
			rest := func(line string) string {
				return strings.Join(slices.Concat(lines[:i], []string{line}, lines[i+1:]), "")
			}
			if line != "" {
				changed[fmt.Sprintf("without line %d", i+1)] = rest("")
				changed[fmt.Sprintf("line %d", i+1)] = rest(strings.Replace(line, "0", "1", 1))
			}
		}
		for what, text := range changed {
			var found error
			a.must(a.store.View(t.Context(), func(r core.Reader) error {
				_, found = store.CheckSegments(t.Context(), r, strings.NewReader(text))
				return nil
			}))
			if text != string(data) && sdk.ReasonOf(found) != "segment_broken" && !journal.IsBroken(found) {
				t.Errorf("%s: %s: %v", filepath.Base(path), what, found)
			}
		}
		other := &archive{t, mem.Open(), a.clock, a.dir}
		if _, err := other.checkFile(path); !strings.Contains(fmt.Sprint(err), "no seal of the store names a file") {
			t.Errorf("in another store: %v", err)
		}
	}
	newer := strings.NewReader(`{"reflectory_segments":2}` + "\n")
	a.must(a.store.View(t.Context(), func(r core.Reader) error {
		if _, err := store.CheckSegments(t.Context(), r, newer); sdk.ReasonOf(err) != "segment_version_newer" {
			t.Errorf("got %v", err)
		}
		return nil
	}))
}

// TestPrune_AFileAndItsSealsAreHeldToEachOther: where the seals, or the root, were changed.
func TestPrune_AFileAndItsSealsAreHeldToEachOther(t *testing.T) {
	entry := func(stream string, seq byte) []byte {
		return []byte("event/" + stream + "\x00\x00\x00\x00\x00\x00\x00\x00" + string([]byte{seq}))
	}
	edit := func(key []byte, from, to string) func(core.Tx) error {
		return func(tx core.Tx) error {
			value, _, err := tx.Get(key)
			changed := bytes.Replace(value, []byte(from), []byte(to), 1)
			if bytes.Equal(changed, value) {
				t.Errorf("%q has no %q", value, from)
			}
			return core.JoinErrors(err, tx.Put(key, changed))
		}
	}
	for says, tamper := range map[string]func(core.Tx) error{
		"the file has 3 segments, but the store has seals of 2 of them":                func(tx core.Tx) error { return tx.Delete(entry("pruned", 5)) },
		"the seal in entry 3 of pruned doesn't match the file's segment":               edit(entry("pruned", 3), `"records":6`, `"records":7`),
		"the seal in entry 4 of pruned doesn't match the file's segment":               edit(entry("pruned", 4), `"stream":"run/run-00002"`, `"stream":"run/run-00006"`),
		"entry 7 of run/run-00000 isn't the one that the root recorded in its entry 1": edit(entry("root", 1), `"run/run-00000","seq":7,"hash":"sha256:`, `"run/run-00000","seq":7,"hash":"sha256:0`),
		"no seal of the store names a file of digest sha256:":                          edit(entry("pruned", 3), `"digest":"sha256:`, `"digest":"sha256:0`),
	} {
		a := newArchive(t, mem.Open())
		o := a.options(6)
		o.BatchKeys = 1000
		_, err := store.Prune(t.Context(), a.writer(), o)
		a.must(err)
		if strings.HasPrefix(says, "no seal") { // of any of its segments
			change(t, a.store, edit(entry("pruned", 4), `"digest":"sha256:`, `"digest":"sha256:0`))
			change(t, a.store, edit(entry("pruned", 5), `"digest":"sha256:`, `"digest":"sha256:0`))
		}
		change(t, a.store, tamper)
		if _, err := a.checkFile(a.files()[1]); sdk.ReasonOf(err) != "segment_broken" || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, not %s", err, says)
		}
	}
}

func FuzzSegments(f *testing.F) {
	f.Add(`{"reflectory_segments":1}` + "\n" + `{"stream":"run/a","first":1,"last":1,"records":1}` + "\n" + `{"seq":1}` + "\n" + `{"key":"run/a","value":{}}` + "\n")
	f.Add(`{"reflectory_segments":1}` + "\n" + `{"stream":"run/a","first":1,"last":18446744073709551615,"records":9}` + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		err := mem.Open().View(t.Context(), func(r core.Reader) error {
			_, err := store.CheckSegments(t.Context(), r, strings.NewReader(text))
			return err
		})
		if err == nil {
			t.Errorf("%q holds, though no seal names it", text)
		}
	})
}
