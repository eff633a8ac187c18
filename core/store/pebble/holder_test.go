package pebble

import (
	"context"
	"errors"
	iofs "io/fs"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/reflectory/reflectory/sdk"
)

// TestAHeldStoreIsWaitedFor holds the lock for a time, and looks at when another
// gets it, or gives up.
func TestAHeldStoreIsWaitedFor(t *testing.T) {
	cases := []struct {
		name        string
		held, wait  time.Duration
		cancelled   time.Duration
		reason      string
		least, most time.Duration
	}{
		{"a moment", 300 * time.Millisecond, 2 * time.Second, 0, "", 300 * time.Millisecond, 320 * time.Millisecond},
		{"too long", 5 * time.Second, 2 * time.Second, 0, "store_locked", 2 * time.Second, 2 * time.Second},
		{"nobody waits", 300 * time.Millisecond, 0, 0, "store_locked", 0, 0},
		{"the caller gives up", 5 * time.Second, 2 * time.Second, time.Second, "cancelled", time.Second, time.Second},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fs := vfs.NewMem()
				o := Options{Dir: "store", Program: "first"}.withDefaults()
				first, err := lockDir(t.Context(), &o, fs)
				if err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(c.held, func() { _ = first.Close() })
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.cancelled > 0 {
					time.AfterFunc(c.cancelled, cancel)
				}
				began := time.Now()
				o.LockWait = c.wait
				second, err := lockDir(ctx, &o, fs)
				if took := time.Since(began); sdk.ReasonOf(err) != c.reason || took < c.least || took > c.most {
					t.Errorf("after %s: %v", took, err)
				}
				if c.reason == "store_locked" && !strings.Contains(err.Error(), "in use by first (pid ") {
					t.Errorf("it doesn't name the holder: %v", err)
				}
				if err == nil {
					_ = second.Close()
				}
			})
		})
	}
}

// TestAFolderThatMayNotBeWrittenIsNamed refuses every change of the disk, one call
// after another, as a read-only disk and missing permissions do.
func TestAFolderThatMayNotBeWrittenIsNamed(t *testing.T) {
	for _, cause := range []error{syscall.EROFS, syscall.EACCES, syscall.EPERM} {
		for _, kind := range []errorfs.OpKind{errorfs.OpMkdirAll, errorfs.OpLock, errorfs.OpCreate} {
			t.Run(cause.Error(), func(t *testing.T) {
				fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
					if op.Kind == kind {
						return &iofs.PathError{Op: "open", Path: op.Path, Err: cause}
					}
					return nil
				}))
				_, err := open(t.Context(), Options{Dir: "data/store", LockWait: time.Hour}, fs)
				e := sdk.AsError(err)
				if e == nil || e.Reason != "store_unwritable" || !strings.Contains(e.Error(), "data/store") || !strings.Contains(e.Error(), cause.Error()) {
					t.Fatalf("error %v", err)
				}
				if !strings.Contains(e.Hint, "data folder") || !errors.Is(err, cause) {
					t.Errorf("hint %q", e.Hint)
				}
			})
		}
	}
}
