package core_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store/mem"
)

func TestPrefixEnd(t *testing.T) {
	cases := []struct{ prefix, want string }{{"a", "b"}, {"a\xff", "b"}, {"a\xffb", "a\xffc"}, {"\xff\xff", ""}, {"", ""}}
	for _, c := range cases {
		if got := core.PrefixEnd([]byte(c.prefix)); !bytes.Equal(got, []byte(c.want)) {
			t.Errorf("PrefixEnd(%q) = %q, want %q", c.prefix, got, c.want)
		}
	}
}

func TestSuffixesAreTheFirstOfThePrefix(t *testing.T) {
	s := mem.Open()
	err := s.Update(t.Context(), func(tx core.Tx) error {
		return errors.Join(tx.Put([]byte("k"), nil), tx.Put([]byte("k/b"), nil), tx.Put([]byte("k/a"), nil), tx.Put([]byte("k/c\x00"), nil), tx.Put([]byte("l"), nil))
	})
	if err != nil {
		t.Fatal(err)
	}
	for most, want := range map[int][]string{1: {"a"}, 2: {"a", "b"}, 9: {"a", "b", "c\x00"}} {
		err := s.View(t.Context(), func(r core.Reader) error {
			got, err := core.Suffixes(r, []byte("k/"), most)
			if !slices.Equal(got, want) {
				t.Errorf("%d: %q, want %q", most, got, want)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// More keys than a transaction looks at, of which fn deletes the odd ones.
func TestUpdateEachVisitsEveryKeyOfThePrefix(t *testing.T) {
	const count = 1201
	s := mem.Open()
	err := s.Update(t.Context(), func(tx core.Tx) error {
		errs := []error{tx.Put([]byte("a"), nil), tx.Put([]byte("l"), nil)}
		for i := range count {
			errs = append(errs, tx.Put(fmt.Appendf(nil, "k/%04d", i), nil))
		}
		return errors.Join(errs...)
	})
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	err = core.UpdateEach(t.Context(), s, "k/", func(tx core.Tx, key string) error {
		seen = append(seen, key)
		if len(seen)%2 == 0 {
			return tx.Delete([]byte(key))
		}
		return nil
	})
	if err != nil || len(seen) != count || seen[0] != "k/0000" || seen[count-1] != "k/1200" {
		t.Errorf("%d keys, %v", len(seen), err)
	}
	left := 0
	err = s.View(t.Context(), func(r core.Reader) error {
		return core.ScanPrefix(r, []byte("k/"), func(_, _ []byte) (bool, error) { left++; return true, nil })
	})
	if err != nil || left != count/2+1 {
		t.Errorf("%d keys are left, %v", left, err)
	}
}

func TestUpdateEachEndsWithTheFirstError(t *testing.T) {
	s, failure := mem.Open(), errors.New("no")
	if err := s.Update(t.Context(), func(tx core.Tx) error { return tx.Put([]byte("k/1"), nil) }); err != nil {
		t.Fatal(err)
	}
	err := core.UpdateEach(t.Context(), s, "k/", func(core.Tx, string) error { return failure })
	if !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
}
