package table_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store/mem"
	. "github.com/reflectory/reflectory/core/table"
	"github.com/reflectory/reflectory/sdk"
)

// loan is a record of [loans], whose values are its text.
type loan struct{ Reader, Note string }

const notePrefix = "note/"

// loans are a kind with all that a kind can have.
func loans() *Kind[loan] {
	k := &Kind[loan]{
		Part: "loans", Prefix: "loan/", Doc: "id | a loan: a reader and a note",
		Show:   func(key []byte) string { return "key " + string(key) },
		Encode: func(l *loan) ([]byte, error) { return []byte(l.Reader + " " + l.Note), nil },
		Decode: func(_ string, value []byte) (*loan, error) {
			reader, note, ok := strings.Cut(string(value), " ")
			if !ok {
				return nil, errors.New("it has no reader")
			}
			return &loan{reader, note}, nil
		},
		Indices: []Index[loan]{
			{Prefix: "loan-reader/", Doc: "number(8) id | index: empty", ID: AfterNumber("loan-reader/", 0), Entries: func(id string, l *loan) []Entry {
				return []Entry{{Key: append([]byte("loan-reader/12345678"), id...)}}
			}},
			{Prefix: "loan-memory/", Doc: "memory `/` id | index: empty", Quotes: func(l *loan) []string { return strings.Fields(l.Note) }},
			{Prefix: "loan-page/", Doc: "memory `/` id | index: empty", QuotesFrom: func(r core.Reader, id string, _ *loan) ([]string, error) {
				value, _, err := r.Get([]byte(notePrefix + id))
				return strings.Fields(string(value)), err
			}},
		},
	}
	k.Sums = []Sum[loan]{{
		Prefix: "loan-count/", Doc: "reader | how many there are", Wrong: "it isn't how many loans the reader has",
		Of: func(_ string, l *loan) string { return l.Reader },
		Value: func(_ context.Context, k *Kind[loan], r core.Reader, name string) (value []byte, err error) {
			n := 0
			err = k.Each(r, "", func(_ string, l *loan) error {
				if l.Reader == name {
					n++
				}
				return nil
			})
			if n > 0 {
				value = strconv.AppendInt(nil, int64(n), 10)
			}
			return value, err
		},
	}}
	return k
}

func lent(t *testing.T) (*Kind[loan], core.Store) {
	t.Helper()
	k, s := loans(), mem.Open()
	update(t, s, func(tx core.Tx) error {
		return core.JoinErrors(tx.Put([]byte(notePrefix+"1"), []byte("p")), k.Add(tx, "1", &loan{"ann", "m1 m2"}), k.Add(tx, "2", &loan{"bob", "m2"}),
			tx.Put([]byte("loan-page/p/1"), nil), tx.Put([]byte("loan-count/ann"), []byte("1")), tx.Put([]byte("loan-count/bob"), []byte("1")))
	})
	return k, s
}

func wrong[R any](t *testing.T, s core.Store, k *Kind[R]) (list []string) {
	t.Helper()
	err := s.View(t.Context(), func(r core.Reader) error {
		return k.Check(t.Context(), r, func(p core.Problem) {
			list = append(list, p.Key+": "+p.Message)
			if !p.Rebuildable {
				t.Errorf("not rebuildable: %s", p.Key)
			}
		}, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Whatever derived key is lost, changed or added, the check says so, and the rebuild makes the
// store as it was.
func TestKind_DerivedKeysAreCheckedAndMadeAgain(t *testing.T) {
	k, s := lent(t)
	whole := keys(t, s)
	if found := wrong(t, s, k); len(found) > 0 {
		t.Fatalf("before: %q", found)
	}
	for _, key := range whole {
		if strings.HasPrefix(key, k.Prefix) || strings.HasPrefix(key, notePrefix) {
			continue
		}
		for name, tamper := range map[string]func(core.Tx) error{
			"lost":    func(tx core.Tx) error { return tx.Delete([]byte(key)) },
			"changed": func(tx core.Tx) error { return tx.Put([]byte(key), []byte("7")) },
			"added":   func(tx core.Tx) error { return tx.Put([]byte(key+"x"), nil) },
			"swapped": func(tx core.Tx) error {
				return core.JoinErrors(tx.Delete([]byte(key)), tx.Put([]byte(key+"x"), nil))
			},
			"all lost": func(tx core.Tx) error {
				for _, prefix := range k.Derived() {
					for _, key := range whole {
						if strings.HasPrefix(key, prefix) {
							if err := tx.Delete([]byte(key)); err != nil {
								return err
							}
						}
					}
				}
				return nil
			},
		} {
			t.Run(name+" "+key, func(t *testing.T) {
				update(t, s, tamper)
				found := wrong(t, s, k)
				if !slices.ContainsFunc(found, func(p string) bool { return strings.HasPrefix(p, "key "+key) }) {
					t.Errorf("found %q", found)
				}
				if err := k.Rebuild(t.Context(), s); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(whole, keys(t, s)); diff != "" {
					t.Error(diff)
				}
				if found := wrong(t, s, k); len(found) > 0 {
					t.Errorf("after the rebuild: %q", found)
				}
			})
		}
	}
}

// An index is one line of a declaration: the writes, the check, the rebuild, the purge and the
// description of the format follow from it.
func TestKind_IndexIsOneLine(t *testing.T) {
	k, s := lent(t)
	k.Indices = append(k.Indices, Index[loan]{Prefix: "loan-also/", Doc: "memory `/` id | index: empty", Quotes: func(l *loan) []string { return strings.Fields(l.Note)[:1] }})
	if found := wrong(t, s, k); len(found) != 2 {
		t.Errorf("found %q", found)
	}
	if err := k.Rebuild(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if list := keys(t, s); !slices.Contains(list, "loan-also/m1/1") || !slices.Contains(list, "loan-also/m2/2") {
		t.Errorf("%q", list)
	}
	update(t, s, func(tx core.Tx) error { return k.Put(tx, "2", &loan{"bob", "m3"}) })
	update(t, s, func(tx core.Tx) error { return k.Forget(tx, "m1", nil) })
	if list := keys(t, s); slices.ContainsFunc(list, func(key string) bool { return strings.Contains(key, "m1") || key == "loan-also/m2/2" }) || !slices.Contains(list, "loan-also/m3/2") {
		t.Errorf("%q", list)
	}
	if !slices.Contains(k.Derived(), "loan-also/") || !slices.Contains(k.Rows(), "| ▵ `loan-also/` memory `/` id | index: empty |") || k.Rows()[0] != "| `loan/` id | a loan: a reader and a note |" {
		t.Errorf("%q %q", k.Derived(), k.Rows())
	}
}

// A damaged record may still have the text of a memory. A rebuild leaves the entry that leads to it,
// so the purge of that memory fails and says which record it is.
func TestKind_ForgetRefusesADamagedRecord(t *testing.T) {
	k, s := lent(t)
	update(t, s, func(tx core.Tx) error { return tx.Put([]byte("loan/1"), []byte("x")) })
	if err := k.Rebuild(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	for _, remove := range []func(string, *loan) error{nil, func(string, *loan) error { return nil }} {
		err := s.Update(t.Context(), func(tx core.Tx) error { return k.Forget(tx, "m1", remove) })
		if !Corrupt(err) || !strings.Contains(err.Error(), "loan/1") {
			t.Errorf("%v", err)
		}
	}
}

// A purge finds what quotes the memory, and leaves the rest.
func TestKind_Forget(t *testing.T) {
	k, s := lent(t)
	update(t, s, func(tx core.Tx) error {
		return k.Forget(tx, "m2", func(id string, l *loan) error {
			l.Note = strings.TrimSpace(strings.ReplaceAll(l.Note, "m2", ""))
			return k.Put(tx, id, l)
		})
	})
	update(t, s, func(tx core.Tx) error { return k.Forget(tx, "m1", nil) })
	want := []string{"loan-count/ann", "loan-count/bob", "loan-reader/123456782", "loan/2", "note/1"}
	if diff := cmp.Diff(want, keys(t, s)); diff != "" {
		t.Error(diff)
	}
}

func TestKind_DamagedValueIsAnError(t *testing.T) {
	k, s := lent(t)
	update(t, s, func(tx core.Tx) error { return tx.Put([]byte("loan/1"), []byte("x")) })
	err := s.View(t.Context(), func(r core.Reader) error {
		_, err := k.Named(r, nil, "1")
		if _, none := k.Named(r, []byte("loan-page/9"), "9"); !Corrupt(none) || !strings.Contains(none.Error(), "record key loan-page/9: it names a record that isn't there") {
			t.Errorf("%v", none)
		}
		return err
	})
	if !Corrupt(err) || !strings.Contains(err.Error(), "record key loan/1: it has no reader") {
		t.Errorf("%v", err)
	}
	if err := k.Rebuild(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if list := keys(t, s); !slices.Contains(list, "loan-reader/123456781") || !slices.Contains(list, "loan-memory/m2/1") {
		t.Errorf("%q", list)
	}
}

// A field that the program doesn't write is reported, and only that.
func TestKind_Strict(t *testing.T) {
	k := books(false)
	k.Strict = true
	s := two(t, k)
	update(t, s, func(tx core.Tx) error { return tx.Put([]byte("book/2"), []byte(`{"title":"two","words":["a"],"x":1}`)) })
	if found := problems(t, s, k); len(found) != 1 || !strings.HasPrefix(found[0], "books book/2: the record has a field that the program doesn't write: ") {
		t.Errorf("%q", found)
	}
}

func TestKind_Find(t *testing.T) {
	k, s := books(false), mem.Open()
	update(t, s, func(tx core.Tx) error {
		for _, id := range []string{"short", "12345678-a", "12345678-b", "12345678-b1", "22345678-a"} {
			if err := k.Add(tx, id, &book{Title: id}); err != nil {
				return err
			}
		}
		return nil
	})
	for begun, want := range map[string]string{
		"short": "short", "shor": "", "12345678-b": "12345678-b", "22345678": "22345678-a", "2234567": "", "32345678": "", "12345678": "book_ambiguous", "": "",
	} {
		err := s.View(t.Context(), func(r core.Reader) error {
			id, err := k.Find(r, "book", begun)
			if id != want && sdk.ReasonOf(err) != want {
				t.Errorf("%s is %q, %v", begun, id, err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	many := Ambiguous("book", "1", strings.Split(strings.Repeat("x", 11), ""))
	if !strings.Contains(many.Error(), "x, x, …") || sdk.CodeOf(many) != sdk.Conflict {
		t.Error(many)
	}
}

func TestKind_Page(t *testing.T) {
	k := books(false)
	s := two(t, k)
	all := func(string, *book) (bool, error) { return true, nil }
	for name, c := range map[string]struct {
		from string
		most int
		fits func(string, *book) (bool, error)
		want string
		more bool
	}{
		"all":         {"book-word/a/", 9, all, `["one","two"]`, false},
		"as many":     {"book-word/a/", 2, all, `["one","two"]`, false},
		"first":       {"book-word/a/", 1, all, `["one"]`, true},
		"rest":        {"book-word/a/1\x00", 1, all, `["two"]`, false},
		"none fit":    {"book-word/a/", 1, func(string, *book) (bool, error) { return false, nil }, `null`, false},
		"one fits":    {"book-word/a/", 1, func(id string, _ *book) (bool, error) { return id == "2", nil }, `["two"]`, false},
		"beyond them": {"book-word/a/3", 1, all, `null`, false},
	} {
		err := s.View(t.Context(), func(r core.Reader) error {
			page, more, err := k.Page(r, "book-word/", []byte(c.from), core.PrefixEnd([]byte("book-word/a/")), c.most, c.fits)
			var titles []string
			for _, b := range page {
				titles = append(titles, b.Title)
			}
			if got, _ := json.Marshal(titles); string(got) != c.want || more != c.more {
				t.Errorf("%s: %s, %t", name, got, more)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	update(t, s, func(tx core.Tx) error { return tx.Put([]byte("book-word/a/9"), nil) })
	err := s.View(t.Context(), func(r core.Reader) error {
		_, _, err := k.Page(r, "book-word/", []byte("book-word/a/"), core.PrefixEnd([]byte("book-word/a/")), 9, all)
		return err
	})
	if !Corrupt(err) {
		t.Error(err)
	}
}

// Writing a record again writes only what changed.
func TestKind_PutWritesWhatChanged(t *testing.T) {
	k := books(false)
	s := two(t, k)
	update(t, s, func(tx core.Tx) error {
		w := &writes{Tx: tx}
		err := k.Put(w, "1", &book{Title: "uno", Words: []string{"a", "c"}, Shelf: "top"})
		if diff := cmp.Diff("-book-word/b/1 +book-word/c/1 +book/1", strings.Join(w.list, " ")); diff != "" {
			t.Error(diff)
		}
		return err
	})
}

// writes lists what a transaction writes.
type writes struct {
	core.Tx
	list []string
}

func (w *writes) Put(key, value []byte) error {
	w.list = append(w.list, "+"+string(key))
	return w.Tx.Put(bytes.Clone(key), value)
}

func (w *writes) Delete(key []byte) error {
	w.list = append(w.list, "-"+string(key))
	return w.Tx.Delete(key)
}

// A check and a rebuild stop when their context ends.
func TestKind_StopsWithItsContext(t *testing.T) {
	k, s := lent(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := s.View(ctx, func(r core.Reader) error {
		cancel()
		return k.Check(ctx, r, func(core.Problem) {}, nil)
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
