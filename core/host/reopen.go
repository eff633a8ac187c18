package host

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// A store whose disk refused a write writes nothing more, so that what was acknowledged stays as it is.
// Often the disk was full, and has space later: then the store is opened again, as after a restart.

const (
	// reopenEvery is how often a host looks whether the disk of a store that failed takes writes again.
	reopenEvery = 5 * time.Second
	// leastSpace is how much of the disk must be free, in bytes: what a few commits need.
	leastSpace = 1 << 20
)

// reopenWhenFailed opens the store again after its disk refused a write, once the disk takes writes,
// until stop is called.
func (s *Storage) reopenWhenFailed(local *store.OnDemand) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() {
		select {
		case <-local.Opened():
		case <-ctx.Done():
			return
		}
		for ctx.Err() == nil {
			db, is := s.openNow().(*LocalStore)
			if !is {
				return
			}
			select {
			case <-db.Failed():
				s.reopen(ctx, local)
			case <-ctx.Done():
			}
		}
	})
	return func() error {
		cancel()
		work.Wait()
		return nil
	}
}

// reopen tries to open a store that failed until it can.
func (s *Storage) reopen(ctx context.Context, local *store.OnDemand) {
	look := time.NewTicker(reopenEvery)
	defer look.Stop()
	for {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
		if takesWrites(s.config.Settings.DataDir.Value) != nil {
			continue
		}
		err := local.Reopen(ctx)
		if err == nil {
			return
		}
		s.config.warn(sdk.Wrap("open the store again", err))
	}
}

// takesWrites reports why a folder takes no file of leastSpace; nil means that it does.
func takesWrites(dir string) (err error) {
	f, err := os.CreateTemp(dir, ".space-*")
	if err != nil {
		return err
	}
	defer func() {
		_ = f.Close()
		_ = os.Remove(f.Name())
	}()
	if _, err = f.Write(make([]byte, leastSpace)); err != nil {
		return err
	}
	return f.Sync()
}

// Failed is the reason why the store in the data folder can't write; nil if it can, as far as is
// known without writing.
func (s *Storage) Failed() error {
	db, is := s.openNow().(*LocalStore)
	if !is {
		return nil
	}
	if err := db.Err(); err != nil {
		return err
	}
	if free, _, err := s.DiskSpace(); err == nil && free < leastSpace {
		return sdk.Errorf(sdk.Unavailable, "disk_full", "the disk of the data folder has %d bytes left", free).WithHint("free space on it")
	}
	return nil
}
