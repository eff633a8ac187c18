package pluginlock_test

import (
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/pluginlock"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

func TestPut_CountsEpochs(t *testing.T) {
	s := mem.Open()
	one, none := put(t, s, map[string]string{"a/b": "sha256:1"})
	two, before := put(t, s, map[string]string{"a/b": "sha256:2"})
	same, also := put(t, s, map[string]string{"a/b": "sha256:2"})
	if none.Epoch != 0 || one.Epoch != 1 || before.Digest != one.Digest || two.Epoch != 2 || two.Digest == one.Digest || same.Epoch != 2 || also.Epoch != 2 {
		t.Errorf("%v %v, %v %v, %v %v", one, none, two, before, same, also)
	}
	if n := problems(t, s); n != 0 {
		t.Errorf("a sound store has %d problems", n)
	}
}

func TestCheck_FindsForgeries(t *testing.T) {
	for name, forge := range map[string]func(core.Tx) error{
		"none":  func(tx core.Tx) error { return tx.Delete([]byte("plugin-lock/active")) },
		"text":  func(tx core.Tx) error { return tx.Put([]byte("plugin-lock/active"), []byte("x")) },
		"other": func(tx core.Tx) error { return change(tx, "sha256:2", "sha256:3") },
		"epoch": func(tx core.Tx) error { return change(tx, `"epoch":1`, `"epoch":2`) },
	} {
		t.Run(name, func(t *testing.T) {
			s := mem.Open()
			put(t, s, map[string]string{"a/b": "sha256:2"})
			if err := s.Update(t.Context(), forge); err != nil {
				t.Fatal(err)
			}
			if problems(t, s) == 0 {
				t.Error("nothing is found")
			}
		})
	}
}

func TestRead_RefusesWhatWasntPushed(t *testing.T) {
	s := mem.Open()
	put(t, s, map[string]string{"a/b": "sha256:2"})
	err := s.Update(t.Context(), func(tx core.Tx) error {
		if err := change(tx, "sha256:2", "sha256:3"); err != nil {
			return err
		}
		if _, err := pluginlock.Read(tx); sdk.ReasonOf(err) != "plugin_lock_damaged" {
			t.Errorf("another package: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, s core.Store, plugins map[string]string) (now, before pluginlock.Active) {
	t.Helper()
	w := &journal.Writer{Store: s, Clock: &coretest.Clock{}}
	err := w.Update(t.Context(), func(tx *journal.Tx) (err error) {
		now, before, err = pluginlock.Put(tx, plugins)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return now, before
}

func problems(t *testing.T, s core.Store) (n int) {
	t.Helper()
	err := s.View(t.Context(), func(r core.Reader) error {
		return pluginlock.Checker{}.Check(t.Context(), r, func(core.Problem) { n++ })
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// change replaces a text in the stored value.
func change(tx core.Tx, from, to string) error {
	value, _, err := tx.Get([]byte("plugin-lock/active"))
	if err != nil {
		return err
	}
	return tx.Put([]byte("plugin-lock/active"), []byte(strings.Replace(string(value), from, to, 1)))
}
