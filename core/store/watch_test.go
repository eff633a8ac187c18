package store_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/mem"
)

// An import says what it is at, also while it rebuilds and checks, which may take longer
// than the file; an export says of how many records it has written how many.
func TestImportAndExportSayHowFarTheyAre(t *testing.T) {
	const n = 3500
	s := mem.Open()
	var seen []store.Doing
	last := map[store.Doing]store.Work{}
	watch := func(w store.Work) {
		if len(seen) == 0 || seen[len(seen)-1] != w.Doing {
			seen = append(seen, w.Doing)
		}
		if w.Records < last[w.Doing].Records || w.Bytes < last[w.Doing].Bytes {
			t.Errorf("%+v after %+v", w, last[w.Doing])
		}
		last[w.Doing] = w
	}
	moved, err := store.Import(t.Context(), s, &lines{records: n}, parts(), watch)
	if err != nil {
		t.Fatal(err)
	}
	if len(seen) != 3 || seen[0] != store.Moving || seen[1] != store.Rebuilding || seen[2] != store.Checking {
		t.Errorf("says %v", seen)
	}
	if w := last[store.Moving]; w.Records != 3000 || w.Bytes == 0 || w.Bytes >= moved.Bytes {
		t.Errorf("the last of the file: %+v of %+v", w, moved)
	}
	if w := last[store.Checking]; w.Bytes != moved.Bytes {
		t.Errorf("the last of the check: %+v", w)
	}
	seen, last = nil, map[store.Doing]store.Work{}
	if _, err := store.Export(t.Context(), s, io.Discard, nil, watch); err != nil {
		t.Fatal(err)
	}
	if w := last[store.Moving]; w.Records != 3000 || w.Total != n || len(seen) != 1 {
		t.Errorf("the export: %+v", w)
	}
	var with, without bytes.Buffer
	_, _ = store.Export(t.Context(), s, &with, nil, func(store.Work) {})
	_, _ = store.Export(t.Context(), s, &without, nil, nil)
	if with.Len() == 0 || !bytes.Equal(with.Bytes(), without.Bytes()) {
		t.Error("an export that is watched differs")
	}
}

func TestWatchCountsWhatScansRead(t *testing.T) {
	s := mem.Open()
	if _, err := store.Import(t.Context(), s, &lines{records: 1200}, parts(), nil); err != nil {
		t.Fatal(err)
	}
	var seen []int64
	watched := store.Watch(s, func(n int64) { seen = append(seen, n) })
	all := func(r core.Reader) error {
		return r.Scan(nil, nil, func(_, _ []byte) (bool, error) { return true, nil })
	}
	if err := watched.View(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	if err := watched.Update(t.Context(), func(tx core.Tx) error { return all(tx) }); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 2 || seen[0] != 1000 || seen[1] != 2000 {
		t.Errorf("tells %v", seen)
	}
}
