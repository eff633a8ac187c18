package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/store/pebble"
)

// tampered changes the events of namespace n behind the program's back: each gets
// the entries by their number.
func tampered(t *testing.T, change func(tx core.Tx, key func(seq byte) []byte) error) {
	t.Helper()
	db, err := pebble.Open(t.Context(), pebble.Options{Dir: filepath.Join("data", "store")})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(t.Context(), func(tx core.Tx) error {
		return change(tx, func(seq byte) []byte { return append([]byte("event/namespace/n\x00\x00\x00\x00\x00\x00\x00\x00"), seq) })
	})
	if err := core.JoinErrors(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestATamperedJournalIsFoundAndNamed(t *testing.T) {
	coretest.Long(t)
	cases := []struct {
		name   string
		change func(tx core.Tx, key func(seq byte) []byte) error
		seq    int
		says   string
	}{
		{"edited", func(tx core.Tx, key func(byte) []byte) error {
			value, _, err := tx.Get(key(3))
			if err != nil {
				return err
			}
			return tx.Put(key(3), bytes.Replace(value, []byte("fact-0002"), []byte("fact-0009"), 1))
		}, 3, "was edited"},
		{"dropped", func(tx core.Tx, key func(byte) []byte) error { return tx.Delete(key(2)) }, 2, "is gone"},
		{"the last dropped", func(tx core.Tx, key func(byte) []byte) error { return tx.Delete(key(8)) }, 8, "is gone"},
		{"reordered", func(tx core.Tx, key func(byte) []byte) error {
			two, _, err := tx.Get(key(2))
			if err != nil {
				return err
			}
			three, _, err := tx.Get(key(3))
			if err != nil {
				return err
			}
			if err := tx.Put(key(2), three); err != nil {
				return err
			}
			return tx.Put(key(3), two)
		}, 2, "is gone: 3 follows 1"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newPlainWorld(t)
			for _, id := range []string{"fact-0001", "fact-0002", "fact-0003", "fact-0004"} {
				w.line(exitPassed, "", "memory observe --namespace n --content x --id "+id)
			}
			tampered(t, c.change)
			out, _ := w.line(exitNotValid, "", "audit verify --json")
			var done struct {
				Valid   bool
				Problem struct {
					Code, Message, Hint string
					Details             struct {
						Stream string
						Seq    int
					}
				}
			}
			if err := json.Unmarshal([]byte(out), &done); err != nil {
				t.Fatal(err)
			}
			p := done.Problem
			if done.Valid || p.Code != "journal_broken" || p.Details.Stream != "namespace/n" || p.Details.Seq != c.seq || p.Hint == "" {
				t.Errorf("found %s", out)
			}
			wantIn(t, p.Message, c.says)
			out, _ = w.line(exitNotValid, "", "audit verify")
			wantIn(t, out, p.Message)
			out, _ = w.line(exitNotValid, "", "store check --json")
			wantIn(t, out, p.Message)
		})
	}
}

// TestACheckFindsWhatAnIndexMissesAndMendsIt removes a key of each derived kind.
func TestACheckFindsWhatAnIndexMissesAndMendsIt(t *testing.T) {
	w := newPlainWorld(t)
	w.line(exitPassed, "", "memory observe --namespace n --content x --id fact-0001 --tag t")
	w.line(exitPassed, "", "memory reflect --source fact-0001 --title t --content c")
	w.line(exitPassed, "", "store export before.jsonl")
	for _, prefix := range []string{"time", "state", "kind", "agent", "tag", "title", "count"} {
		start := []byte("memory-" + prefix + "/n")
		tampered(t, func(tx core.Tx, _ func(byte) []byte) error {
			var keys [][]byte
			err := tx.Scan(start, append(bytes.Clone(start), 0xff), func(key, _ []byte) (bool, error) {
				keys = append(keys, bytes.Clone(key))
				return true, nil
			})
			if err == nil && len(keys) == 0 {
				t.Errorf("there is nothing below %s", start)
			}
			for _, key := range keys {
				err = core.JoinErrors(err, tx.Delete(key))
			}
			return err
		})
		out, errs := w.line(exitNotValid, "", "store check")
		wantIn(t, out, "memories: memory-"+prefix+"/n")
		wantIn(t, errs, "can be repaired with: reflectory store check --repair")
		w.line(exitPassed, "", "store check --repair")
		w.line(exitPassed, "", "store check")
	}
	w.line(exitPassed, "", "store export after.jsonl")
	before, err := os.ReadFile("before.jsonl")
	after, errAfter := os.ReadFile("after.jsonl")
	if err != nil || errAfter != nil || !bytes.Equal(before, after) {
		t.Errorf("what isn't derived changed: %v, %v", err, errAfter)
	}
}
