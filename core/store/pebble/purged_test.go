package pebble

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/sdk"
)

// beforeWrite is a file system that calls do before each of its writes, with their
// number from 1, once it is armed; an error of do is the write's.
type beforeWrite struct {
	armed  atomic.Bool
	writes atomic.Int64
	do     func(n int64) error
}

func (b *beforeWrite) wrap(fs vfs.FS) vfs.FS {
	return errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || !b.armed.Load() {
			return nil
		}
		return b.do(b.writes.Add(1))
	}))
}

// purgeSecret is a purge from its transaction to the end of its scrub.
func purgeSecret(ctx context.Context, s *Store) error {
	err := s.Update(ctx, func(tx core.Tx) error { return forgetIn(s, tx) })
	if err != nil {
		return err
	}
	_, err = s.Scrub(ctx)
	return err
}

// hasSecret reports whether the secret is stored, as before its purge.
func hasSecret(t *testing.T, s core.Store) (there bool) {
	t.Helper()
	err := s.View(t.Context(), func(r core.Reader) (err error) {
		_, there, err = r.Get([]byte("keep/value"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return there
}

// checkOpened opens what a purge left that was cut short: once its transaction is on disk
// no file has the secret after the next open, except the list of tables, which
// hasn't after the open that follows. It reports whether the purge happened.
func checkOpened(t *testing.T, fs vfs.FS) (purged bool) {
	t.Helper()
	for _, lists := range []bool{false, true} {
		s, err := open(t.Context(), smallTables(), fs)
		if err != nil {
			t.Fatal(err)
		}
		if purged = !hasSecret(t, s); purged {
			checkFiles(t, fs, lists)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return purged
}

// TestPurge_IsFinishedByTheNextOpen crashes before each write of a purge and its scrub,
// with some of what wasn't synced on disk all the same.
func TestPurge_IsFinishedByTheNextOpen(t *testing.T) {
	coretest.Long(t)
	if coretest.Plain(t) {
		return
	}
	for between, step := range map[int]int64{0: 1, 120: coretest.Heavy(int64(5), 1)} {
		purged := 0
		for at := int64(1); ; at += step {
			crashable := newMemDisk()
			var clone *vfs.MemFS
			hook := &beforeWrite{do: func(n int64) error {
				if n == at {
					rng := rand.New(rand.NewPCG(uint64(at), 1))
					clone = crashable.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
				}
				return nil
			}}
			s := openTest(t, smallTables(), hook.wrap(crashable))
			keep(t, s, secret)
			fillWith(t, s, "a", between)
			hook.armed.Store(true)
			if err := purgeSecret(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			hook.armed.Store(false)
			if clone == nil {
				break
			}
			if checkOpened(t, clone) {
				purged++
			}
		}
		if purged < 8 {
			t.Errorf("with %d entries only %d crashes came after the purge", between, purged)
		}
	}
}

// TestPurge_ThatTheDiskFailsIsFinishedLater fails each write of a scrub once: its error
// says so, and the next open does it.
func TestPurge_ThatTheDiskFailsIsFinishedLater(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	failed := 0
	for at, more := int64(1), true; more; at++ {
		fs := vfs.NewMem()
		synctest.Test(t, func(t *testing.T) { // where a table can't be removed, the scrub waits for it
			hook := &beforeWrite{do: func(n int64) error {
				if n == at {
					return errors.New("the disk failed")
				}
				return nil
			}}
			s, err := open(t.Context(), smallTables(), hook.wrap(fs))
			if err != nil {
				t.Fatal(err)
			}
			keep(t, s, secret)
			forget(t, s)
			hook.armed.Store(true)
			_, err = s.Scrub(t.Context())
			hook.armed.Store(false)
			_ = s.Close() // the disk fails no more, and what failed before was reported
			if err != nil {
				failed++
				if code := sdk.CodeOf(err); code != sdk.Unavailable {
					t.Errorf("write %d fails as %s: %v", at, code, err)
				}
			}
			more = hook.writes.Load() >= at
		})
		if !checkOpened(t, fs) {
			t.Errorf("write %d undoes the purge", at)
		}
	}
	if failed < 5 {
		t.Errorf("only %d failures were reported", failed)
	}
}
