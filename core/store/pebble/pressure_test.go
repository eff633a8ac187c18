package pebble

import (
	"context"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// TestBacklogHoldsWritersBack stops the disk from taking tables, so that a writer
// has to wait before memory fills up, and then lets it go in each way there is.
func TestBacklogHoldsWritersBack(t *testing.T) {
	cases := []struct {
		name string
		// letGo ends the wait.
		letGo  func(s *Store, openTables, cancel func())
		reason string
	}{
		{"until the disk catches up", func(_ *Store, openTables, _ func()) { openTables() }, ""},
		{"until the disk fails", func(s *Store, _, _ func()) { s.fuse.blow(syscall.ENOSPC) }, "store_io"},
		{"until the caller gives up", func(_ *Store, _, cancel func()) { cancel() }, "cancelled"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, d *disk, s *Store) {
				openTables := d.tables.hold()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				written := 0
				done := make(chan error)
				go func() { done <- fillMemory(ctx, s, &written) }()
				synctest.Wait()
				if most := 2 * checkBytes; written == 0 || written > most {
					t.Errorf("%d bytes were written before the writer waited, want at most %d", written, most)
				}
				opened := false
				c.letGo(s, func() { openTables(); opened = true }, cancel)
				if err := <-done; sdk.ReasonOf(err) != c.reason {
					t.Errorf("the writer ends with %v (%s), want %q", err, sdk.ReasonOf(err), c.reason)
				}
				if !opened {
					openTables()
				}
			})
		})
	}
}

// fillMemory writes far more than the backlog may hold.
func fillMemory(ctx context.Context, s *Store, written *int) error {
	value := make([]byte, 16<<10)
	for range 4 * checkBytes / len(value) {
		err := s.Update(ctx, func(tx core.Tx) error { return tx.Put([]byte("a"), value) })
		if err != nil {
			return err
		}
		*written += len(value)
	}
	return nil
}

// TestADamagedFileHoldsNoWriterForEver: files that can't be read can't be merged, and
// once too many wait for that, writers get an error that says why.
func TestADamagedFileHoldsNoWriterForEver(t *testing.T) {
	mem, _ := filled(t)
	damage(t, mem, ".sst", false)
	s := openTest(t, smallTables(), mem)
	var err error
	last := 0 // that was written
	for i := 0; err == nil; i++ {
		if i > 20000 {
			t.Fatal("writers go on")
		}
		if err = appendEntry(t, s, 0, i); err == nil {
			last = i
		}
	}
	for range 2 { // the next one gets it, too
		if sdk.ReasonOf(err) != "store_corrupt" {
			t.Errorf("error %v (%s)", err, sdk.ReasonOf(err))
		}
		err = appendEntry(t, s, 0, last+1)
	}
	err = s.View(t.Context(), func(r core.Reader) error {
		_, found, err := r.Get(crowdKey(0, last))
		if !found {
			t.Error("what was acknowledged isn't there")
		}
		return err
	})
	if err != nil {
		t.Errorf("a read of what isn't damaged: %v", err)
	}
}

// TestACompactionThatFailsOnceIsNotStuck: only several failures in a row are.
func TestACompactionThatFailsOnceIsNotStuck(t *testing.T) {
	c := &compactions{}
	for _, failures := range []int{1, maxFailures - 1, maxFailures} {
		c.ended(nil)
		for range failures {
			c.ended(syscall.EIO)
		}
		if stuck := c.stuck() != nil; stuck != (failures == maxFailures) {
			t.Errorf("stuck after %d failures: %t", failures, stuck)
		}
	}
}

// TestBacklogOfMemoryIsWaitedFor: until it is written down, it doesn't matter whether files can
// be merged.
func TestBacklogOfMemoryIsWaitedFor(t *testing.T) {
	inBubble(t, func(t *testing.T, d *disk, s *Store) {
		openTables := d.tables.hold()
		for range maxFailures {
			s.compactions.ended(syscall.EIO)
		}
		written := 0
		done := make(chan error)
		go func() { done <- fillMemory(t.Context(), s, &written) }()
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("the writer doesn't wait: %v", err)
		default:
		}
		s.compactions.ended(nil) // the files that follow can be merged
		openTables()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
