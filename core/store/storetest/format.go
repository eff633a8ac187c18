package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store"
)

// The made-up next format has what the present one has under "old/" under "new/", with a mark
// at the end of each value.
const (
	oldPrefix = "old/"
	newPrefix = "new/"
	mark      = " converted"
)

// NextFormat are the formats that a program of the next version would know, whose step
// converts the keys of [FillOldFormat].
func NextFormat() *store.Formats {
	f := store.Known()
	f.Newest++
	f.Steps = append(f.Steps, store.Step{Part: convertPart})
	return f
}

func convertPart(tx core.Tx, from string) (next string, err error) {
	type pair struct{ key, value string }
	var found []pair
	err = tx.Scan([]byte(oldPrefix+from), core.PrefixEnd([]byte(oldPrefix)), func(key, value []byte) (bool, error) {
		found = append(found, pair{string(key[len(oldPrefix):]), string(value)})
		return len(found) < store.PartKeys, nil
	})
	for _, p := range found {
		err = errors.Join(err, tx.Delete([]byte(oldPrefix+p.key)), tx.Put([]byte(newPrefix+p.key), []byte(p.value+mark)))
	}
	if len(found) == store.PartKeys {
		next = found[len(found)-1].key + "\x00"
	}
	return next, err
}

// FillOldFormat writes a number of keys of the present format.
func FillOldFormat(t testing.TB, s core.Store, keys int) {
	t.Helper()
	for from := 0; from < keys; from += store.PartKeys {
		err := s.Update(context.Background(), func(tx core.Tx) (err error) {
			for i := from; i < min(keys, from+store.PartKeys); i++ {
				err = errors.Join(err, tx.Put(fmt.Appendf(nil, "%s%06d", oldPrefix, i), fmt.Appendf(nil, "value %d", i)))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// CheckNextFormat checks that each of the keys was converted, once.
func CheckNextFormat(t testing.TB, s core.Store, keys int) {
	t.Helper()
	err := s.View(context.Background(), func(r core.Reader) error {
		n := 0
		err := core.ScanPrefix(r, []byte(newPrefix), func(key, value []byte) (bool, error) {
			if want := fmt.Sprintf("value %d", n) + mark; string(value) != want || string(key) != fmt.Sprintf("%s%06d", newPrefix, n) {
				t.Errorf("%s has %q, want %q", key, value, want)
			}
			n++
			return true, nil
		})
		if n != keys {
			t.Errorf("%d of %d keys were converted", n, keys)
		}
		return errors.Join(err, core.ScanPrefix(r, []byte(oldPrefix), func(key, _ []byte) (bool, error) {
			t.Errorf("%s wasn't converted", key)
			return false, nil
		}))
	})
	if err != nil {
		t.Error(err)
	}
}
