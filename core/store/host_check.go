package store

import (
	"context"

	"github.com/reflectory/reflectory/core"
)

// HostChecker checks the records of hosts and leases. They show which hosts work now, so an
// export leaves them out. A repair drops unreadable records: each is written again with its
// host's next beat.
type HostChecker struct{}

var _ core.Rebuilder = HostChecker{}

// Check implements [core.Checker].
func (HostChecker) Check(_ context.Context, r core.Reader, report func(core.Problem)) error {
	return eachUnread(r, func(key string, err error) {
		report(core.Problem{Part: "hosts", Key: key, Message: err.Error(), Rebuildable: true})
	})
}

// eachUnread calls fn for each record that can't be read.
func eachUnread(r core.Reader, fn func(key string, err error)) error {
	for _, prefix := range (HostChecker{}).Derived() {
		err := core.ScanPrefix(r, []byte(prefix), func(key, value []byte) (bool, error) {
			var err error
			if prefix == leasePrefix {
				err = decodeRecord(key, value, &LeaseRecord{})
			} else {
				_, err = decodeHost(key, value)
			}
			if err != nil {
				fn(string(key), err)
			}
			return true, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Derived implements [core.Rebuilder].
func (HostChecker) Derived() []string { return []string{hostPrefix, leasePrefix} }

// Rebuild implements [core.Rebuilder].
func (HostChecker) Rebuild(ctx context.Context, s core.Store) error {
	return s.Update(ctx, func(tx core.Tx) error {
		var unread [][]byte
		if err := eachUnread(tx, func(key string, _ error) { unread = append(unread, []byte(key)) }); err != nil {
			return err
		}
		for _, key := range unread {
			if err := tx.Delete(key); err != nil {
				return err
			}
		}
		return nil
	})
}
