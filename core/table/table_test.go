package table_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store/mem"
	. "github.com/reflectory/reflectory/core/table"
)

type book struct {
	Title string   `json:"title"`
	Words []string `json:"words,omitempty"`
	Shelf string   `json:"shelf,omitempty"`
}

// books are by title and by word, and on a shelf there is one.
func books(passing bool) *Kind[book] {
	return &Kind[book]{
		Part: "books", Prefix: "book/", Passing: passing,
		Valid: func(_ string, b *book) string {
			if b.Title == "" {
				return "it has no title"
			}
			return ""
		},
		Indices: []Index[book]{
			{Prefix: "book-word/", ID: func(key, _ []byte) string { return string(key[strings.LastIndexByte(string(key), '/')+1:]) }, Entries: func(id string, b *book) (list []Entry) {
				for _, w := range b.Words {
					list = append(list, Entry{Key: []byte("book-word/" + w + "/" + id)})
				}
				return list
			}},
			{Prefix: "book-shelf/", ID: func(_, value []byte) string { return string(value) }, Entries: func(id string, b *book) []Entry {
				if b.Shelf == "" {
					return nil
				}
				return []Entry{{[]byte("book-shelf/" + b.Shelf), []byte(id)}}
			}},
		},
	}
}

func update(t *testing.T, s core.Store, fn func(tx core.Tx) error) {
	t.Helper()
	if err := s.Update(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func keys(t *testing.T, s core.Store) (list []string) {
	t.Helper()
	err := s.View(t.Context(), func(r core.Reader) error {
		return r.Scan(nil, nil, func(key, _ []byte) (bool, error) {
			list = append(list, string(key))
			return true, nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func problems(t *testing.T, s core.Store, k *Kind[book]) (list []string) {
	t.Helper()
	err := s.View(t.Context(), func(r core.Reader) error {
		return k.Check(t.Context(), r, func(p core.Problem) {
			mark := ""
			if p.Rebuildable {
				mark = " (rebuildable)"
			}
			list = append(list, p.Part+" "+p.Key+": "+p.Message+mark)
		}, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func two(t *testing.T, k *Kind[book]) core.Store {
	t.Helper()
	s := mem.Open()
	update(t, s, func(tx core.Tx) error {
		return core.JoinErrors(k.Put(tx, "1", &book{Title: "one", Words: []string{"a", "b"}, Shelf: "top"}), k.Add(tx, "2", &book{Title: "two", Words: []string{"a"}}))
	})
	return s
}

func TestKind_PutKeepsTheIndices(t *testing.T) {
	k := books(false)
	s := two(t, k)
	want := []string{"book-shelf/top", "book-word/a/1", "book-word/a/2", "book-word/b/1", "book/1", "book/2"}
	if diff := cmp.Diff(want, keys(t, s)); diff != "" {
		t.Error(diff)
	}
	update(t, s, func(tx core.Tx) error { return k.Put(tx, "1", &book{Title: "one", Words: []string{"b", "c"}}) })
	want = []string{"book-word/a/2", "book-word/b/1", "book-word/c/1", "book/1", "book/2"}
	if diff := cmp.Diff(want, keys(t, s)); diff != "" {
		t.Error(diff)
	}
	update(t, s, func(tx core.Tx) error {
		return core.JoinErrors(k.Delete(tx, "1"), k.Delete(tx, "1"), k.Delete(tx, "none"))
	})
	if diff := cmp.Diff([]string{"book-word/a/2", "book/2"}, keys(t, s)); diff != "" {
		t.Error(diff)
	}
}

// What is wrong is found, and a rebuild fixes what follows from a record; of what passes, all.
func TestKind_ChecksAndRebuilds(t *testing.T) {
	put := func(key, value string) func(core.Tx) error {
		return func(tx core.Tx) error { return tx.Put([]byte(key), []byte(value)) }
	}
	for name, c := range map[string]struct {
		tamper func(core.Tx) error
		want   string
		lost   bool // whether it can't be rebuilt, unless records pass
	}{
		"an entry is missing":          {func(tx core.Tx) error { return tx.Delete([]byte("book-word/a/1")) }, "books book-word/a/1: the index lacks book/1", false},
		"an entry has another value":   {put("book-shelf/top", "2"), "books book-shelf/top: the index lacks book/1", false},
		"an entry of no record":        {put("book-word/a/3", ""), "books book-word/a/3: the index has an entry that follows from no record", false},
		"an entry that isn't one":      {put("book-word/\xff", ""), `books book-word/\xff: the index has an entry`, false},
		"an entry of another record":   {put("book-word/z/2", ""), "books book-word/z/2: the index has an entry", false},
		"a record can't be decoded":    {put("book/1", "{"), "books book/1: ", true},
		"a record of other types":      {put("book/2", `{"title":1}`), "books book/2: ", true},
		"a record that is null":        {put("book/2", "null"), "books book/2: record book/2: it is null", true},
		"a record that isn't valid":    {put("book/2", `{}`), "books book/2: ", true},
		"a record without its entries": {put("book/3", `{"title":"three","words":["q"]}`), "books book-word/q/3: the index lacks book/3", false},
	} {
		for _, passing := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				k := books(passing)
				s := two(t, k)
				if found := problems(t, s, k); len(found) > 0 {
					t.Fatalf("before: %q", found)
				}
				update(t, s, c.tamper)
				found := problems(t, s, k)
				if !slices.ContainsFunc(found, func(p string) bool { return strings.HasPrefix(p, c.want) }) {
					t.Errorf("found %q, want %q", found, c.want)
				}
				if rebuildable := strings.HasSuffix(found[0], " (rebuildable)"); rebuildable != (!c.lost || passing) {
					t.Errorf("%q", found)
				}
				if err := k.Rebuild(t.Context(), s); err != nil {
					t.Fatal(err)
				}
				if after := problems(t, s, k); (len(after) > 0) != (c.lost && !passing) {
					t.Errorf("after the rebuild: %q", after)
				}
			})
		}
	}
}

// A damaged record keeps its entries until it is replaced or restored, and is an error to read.
func TestKind_DamagedRecordIsAnError(t *testing.T) {
	k := books(false)
	s := two(t, k)
	update(t, s, func(tx core.Tx) error { return tx.Put([]byte("book/1"), []byte("{")) })
	if err := k.Rebuild(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if list := keys(t, s); !slices.Contains(list, "book-word/b/1") {
		t.Errorf("%q", list)
	}
	err := s.View(t.Context(), func(r core.Reader) error {
		_, err := k.Get(r, "1")
		return err
	})
	if !Corrupt(err) || !strings.Contains(err.Error(), "record book/1: it can't be decoded") {
		t.Errorf("%v", err)
	}
	if derived := strings.Join(k.Derived(), " "); derived != "book-word/ book-shelf/" {
		t.Error(derived)
	}
	if derived := strings.Join(books(true).Derived(), " "); derived != "book/ book-word/ book-shelf/" {
		t.Error(derived)
	}
}

// A record that isn't byte for byte as it would be written, or that doesn't agree with what proves
// it, is found; a rebuild deletes it, with its entries, if it passes.
func TestKind_ExactAndAgreeing(t *testing.T) {
	put := func(value string) func(core.Tx) error {
		return func(tx core.Tx) error { return tx.Put([]byte("book/2"), []byte(value)) }
	}
	for name, c := range map[string]struct {
		tamper func(core.Tx) error
		want   string
	}{
		"another order":         {put(`{"words":["a"],"title":"two"}`), "the form"},
		"space":                 {put(`{"title":"two", "words":["a"]}`), "the form"},
		"an unknown field":      {put(`{"title":"two","words":["a"],"x":1}`), "the form"},
		"a field twice":         {put(`{"title":"x","title":"two","words":["a"]}`), "the form"},
		"another case":          {put(`{"Title":"two","words":["a"]}`), "the form"},
		"an empty list":         {put(`{"title":"two","words":["a"],"shelf":""}`), "the form"},
		"a library without it":  {func(tx core.Tx) error { return tx.Delete([]byte("library/two")) }, "it isn't in the library"},
		"a title of no library": {put(`{"title":"2","words":["a"]}`), "it isn't in the library"},
	} {
		for _, passing := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				k := books(passing)
				k.Exact = true
				k.Agrees = func(r core.Reader, _ string, b *book) (string, error) {
					if _, found, err := r.Get([]byte("library/" + b.Title)); err != nil || found {
						return "", err
					}
					return "it isn't in the library", nil
				}
				s := two(t, k)
				update(t, s, func(tx core.Tx) error {
					return core.JoinErrors(tx.Put([]byte("library/one"), nil), tx.Put([]byte("library/two"), nil))
				})
				if found := problems(t, s, k); len(found) > 0 {
					t.Fatalf("before: %q", found)
				}
				update(t, s, c.tamper)
				if found := problems(t, s, k); len(found) == 0 || !strings.HasPrefix(found[0], "books book/2: ") || !strings.Contains(found[0], c.want) || strings.HasSuffix(found[0], "(rebuildable)") != passing {
					t.Errorf("found %q", found)
				}
				if err := k.Rebuild(t.Context(), s); err != nil {
					t.Fatal(err)
				}
				if after := problems(t, s, k); (len(after) > 0) == passing {
					t.Errorf("after the rebuild: %q", after)
				}
				if list := keys(t, s); slices.Contains(list, "book/2") == passing || slices.Contains(list, "book-word/a/2") == passing {
					t.Errorf("%q", list)
				}
			})
		}
	}
}

func TestByNumber_OrdersAndFinds(t *testing.T) {
	k := &Kind[book]{Prefix: "b/", Indices: []Index[book]{ByNumber("by/", "number(8) `/` id | index: empty", func(b *book) uint64 { return uint64(len(b.Title)) })}}
	s := mem.Open()
	update(t, s, func(tx core.Tx) error {
		return core.JoinErrors(k.Add(tx, "x", &book{Title: "longer"}), k.Add(tx, "y", &book{Title: "short"}))
	})
	want := []string{"b/x", "b/y", "by/\x00\x00\x00\x00\x00\x00\x00\x05/y", "by/\x00\x00\x00\x00\x00\x00\x00\x06/x"}
	if diff := cmp.Diff(want, keys(t, s)); diff != "" {
		t.Error(diff)
	}
	if p := (Part{k, books(false)}); strings.Join(p.Derived(), " ") != "by/ book-word/ book-shelf/" || len(problems(t, s, k)) > 0 {
		t.Error(p.Derived())
	}
}
