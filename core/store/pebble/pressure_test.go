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
