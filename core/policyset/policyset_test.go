package policyset_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/policyset"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

func put(t *testing.T, s core.Store, digest, text string) (now, before policyset.Active) {
	t.Helper()
	w := &journal.Writer{Store: s, Clock: &coretest.Clock{}}
	err := w.Update(t.Context(), func(tx *journal.Tx) (err error) {
		now, before, err = policyset.Put(tx, policyset.Set{Digest: digest, Files: map[string]string{"gate/all.yaml": text}, Policies: 1})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return now, before
}

func problems(t *testing.T, s core.Store) (found []string) {
	t.Helper()
	err := s.View(t.Context(), func(r core.Reader) error {
		return policyset.Checker{}.Check(t.Context(), r, func(p core.Problem) { found = append(found, p.Key+": "+p.Message) })
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A push of another set gets the next epoch, and a push of the same set changes nothing.
func TestPut_CountsEpochs(t *testing.T) {
	s := mem.Open()
	first, none := put(t, s, "sha256:a", "a")
	second, before := put(t, s, "sha256:b", "b")
	same, also := put(t, s, "sha256:b", "b")
	third, _ := put(t, s, "sha256:a", "a")
	if none != (policyset.Active{}) || first.Epoch != 1 || before != first || second.Epoch != 2 || same != second || also != second || third != (policyset.Active{Epoch: 3, Digest: "sha256:a"}) {
		t.Errorf("%v %v, %v %v, %v %v, %v", first, none, second, before, same, also, third)
	}
	err := s.View(t.Context(), func(r core.Reader) error {
		files, err := policyset.ReadFiles(r, "sha256:b")
		if files["gate/all.yaml"] != "b" {
			t.Errorf("the files are %v", files)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if found := problems(t, s); len(found) > 0 {
		t.Errorf("a sound store: %q", found)
	}
}

func TestCheck_FindsForgeries(t *testing.T) {
	for _, c := range []struct {
		name, says string
		forge      func(tx core.Tx) error
	}{
		{"an earlier set decides", "policy/active: it isn't", func(tx core.Tx) error {
			return tx.Put([]byte("policy/active"), []byte(`{"epoch":2,"digest":"sha256:a"}`))
		}},
		{"another epoch", "policy/active: it isn't", func(tx core.Tx) error {
			return tx.Put([]byte("policy/active"), []byte(`{"epoch":3,"digest":"sha256:b"}`))
		}},
		{"no set decides", "policy/active: it isn't", func(tx core.Tx) error { return tx.Delete([]byte("policy/active")) }},
		{"no JSON", "policy/active: it isn't", func(tx core.Tx) error { return tx.Put([]byte("policy/active"), []byte("b")) }},
		{"another text", "policy-set/sha256:b: the set was changed", func(tx core.Tx) error {
			return tx.Put([]byte("policy-set/sha256:b"), []byte(`{"files":{"gate/all.yaml":"c"}}`))
		}},
		{"a lost set", "policy-set/sha256:a: the set is gone", func(tx core.Tx) error { return tx.Delete([]byte("policy-set/sha256:a")) }},
		{"a set of nobody", "policy-set/sha256:c: no event", func(tx core.Tx) error { return tx.Put([]byte("policy-set/sha256:c"), []byte(`{}`)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := mem.Open()
			put(t, s, "sha256:a", "a")
			put(t, s, "sha256:b", "b")
			if err := s.Update(t.Context(), c.forge); err != nil {
				t.Fatal(err)
			}
			if found := problems(t, s); !slices.ContainsFunc(found, func(p string) bool { return strings.HasPrefix(p, c.says) }) {
				t.Errorf("found %q, want %q", found, c.says)
			}
		})
	}
}

func TestRead_RefusesWhatWasntPushed(t *testing.T) {
	s := mem.Open()
	err := s.Update(t.Context(), func(tx core.Tx) error {
		for _, value := range []string{"", "{}", `{"epoch":1}`, `{"epoch":1,"digest":"d","more":1}`, `{"epoch":-1,"digest":"d"}`} {
			if err := tx.Put([]byte("policy/active"), []byte(value)); err != nil {
				return err
			}
			if a, err := policyset.ReadActive(tx); sdk.ReasonOf(err) != "policy_set_damaged" {
				t.Errorf("%q: %v, %v", value, a, err)
			}
		}
		if _, err := policyset.ReadFiles(tx, "d"); sdk.ReasonOf(err) != "policy_set_damaged" {
			t.Errorf("no set: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A damaged set is replaced by pushing it again, with the next epoch.
func TestPut_ReplacesWhatIsDamaged(t *testing.T) {
	for name, damage := range map[string]func(core.Tx) error{
		"the set":           func(tx core.Tx) error { return tx.Put([]byte("policy-set/sha256:b"), []byte("x")) },
		"the set is gone":   func(tx core.Tx) error { return tx.Delete([]byte("policy-set/sha256:b")) },
		"which set decides": func(tx core.Tx) error { return tx.Put([]byte("policy/active"), []byte("x")) },
		"nothing is as it was": func(tx core.Tx) error {
			return core.JoinErrors(tx.Put([]byte("policy/active"), nil), tx.Delete([]byte("policy-set/sha256:b")))
		},
	} {
		s := mem.Open()
		put(t, s, "sha256:a", "a")
		second, _ := put(t, s, "sha256:b", "b")
		if err := s.Update(t.Context(), damage); err != nil {
			t.Fatal(err)
		}
		now, before := put(t, s, "sha256:b", "b")
		if before != second || now != (policyset.Active{Epoch: 3, Digest: "sha256:b"}) {
			t.Errorf("%s: %+v after %+v", name, now, before)
		}
		if found := problems(t, s); len(found) > 0 {
			t.Errorf("%s: %q", name, found)
		}
	}
}
